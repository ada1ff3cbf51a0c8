/**
 * The feed: puts each saved transition on the event stream, once and in order of the actor's revisions.
 *
 * A transition stays in the actor's record until the stream has acknowledged it, so a crash loses none; `Nats-Msg-Id` (id and
 * rev) makes a repetition harmless. After a claim `unpublished` tells which of the loaded transitions are on the stream already.
 */
import type { Bus } from '../bus/bus.ts';
import { encodeJson } from '../bus/codec.ts';
import type { Subjects } from '../bus/subjects.ts';
import { type Clock, sleep } from '../clock.ts';
import { hasCode } from '../errors.ts';
import type { ActorId } from '../ids.ts';
import { jittered, type Random } from '../random.ts';
import type { Transition } from '../views.ts';

interface FeedPorts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly random: Random;
}

const jsonHeaders = { 'Content-Type': 'application/json' } as const;

/** Resolves when the stream has the transition; tries for ever while NATS is away. @throws the signal's reason on abort */
export async function publishTransition(
  ports: FeedPorts,
  transition: Transition,
  signal: AbortSignal,
): Promise<void> {
  const { bus, subjects, clock, random } = ports;
  const msgId = `${transition.id}/${transition.rev}`;
  const data = encodeJson(transition);
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      await bus.append(subjects.event(transition.id), data, { msgId, headers: jsonHeaders });
      return;
    } catch (error) {
      if (!hasCode(error, 'BUS_UNREACHABLE', 'BUS_UNKNOWN_OUTCOME')) throw error;
    }
    await sleep(clock, jittered(Math.min(50 * 2 ** attempt, 2_000), 0.3, random), signal);
  }
}

/** The last revision on the event stream of each of the actors; the stream outlives its duplicate window, so it is asked. */
export async function publishedRevisions(
  ports: FeedPorts,
  ids: readonly ActorId[],
): Promise<ReadonlyMap<ActorId, number>> {
  const { bus, subjects } = ports;
  const revisions = new Map<ActorId, number>();
  if (ids.length === 0) return revisions;
  const found = await bus.lastOfMany('event', ids.map(subjects.event));
  for (const id of ids) {
    const message = found.get(subjects.event(id));
    if (!message) continue;
    const { rev } = JSON.parse(new TextDecoder().decode(message.data)) as { rev: number };
    revisions.set(id, rev);
  }
  return revisions;
}
