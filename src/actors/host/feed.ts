/**
 * The feed: publishes each saved transition on the event stream, once and in the order of the actor's
 * revisions.
 *
 * A transition stays in the actor's record until the stream has acknowledged it, so a crash loses none;
 * `Nats-Msg-Id` (id, fence and rev) makes a repetition harmless. After a claim, `unpublished` tells which of
 * the loaded transitions are already on the stream.
 */

import { backOffMs } from '../../base/back-off.ts';
import { sleep } from '../../base/clock.ts';
import { asError, attempt, hasCode } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { jittered } from '../../base/random.ts';
import type { Transition } from '../../base/views.ts';
import { encodeJson } from '../../bus/codec.ts';
import { isLater, type StepPlace } from '../step-order.ts';
import type { HostParts } from './host-parts.ts';

type FeedParts = Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'random' | 'log'>;

/** Attempts at a stream that refuses, a quarter of a minute together: it may be full for a while. */
const refusalsMax = 12;
/** Well within the stream's duplicate window: what is younger cannot be stored twice, ms. */
const freshMs = 60_000;
const jsonHeaders = { 'Content-Type': 'application/json' } as const;

/**
 * Resolves when the stream has the transition, or a later one of the actor; retries forever while NATS is
 * away. Beyond the duplicate window (a process that was stopped for minutes goes on in the middle of this)
 * the stream is read first, and takes the transition only behind what was read.
 *
 * @throws the signal's reason on abort
 */
export async function publishTransition(
  parts: FeedParts,
  transition: Transition,
  signal: AbortSignal,
): Promise<void> {
  const { bus, subjects, clock, random } = parts;
  // An actor whose record was lost counts its revisions anew, under another fence.
  const msgId = `${transition.id}/${transition.fence}/${transition.rev}`;
  const subject = subjects.event(transition.id);
  const data = encodeJson(transition);
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      const isFresh = attempt === 0 && Math.abs(clock.now() - transition.at) < freshMs;
      const last = isFresh ? null : await lastOf(bus, subject);
      if (last !== null && !isLater(transition, last.published)) return;
      const once = { msgId, headers: jsonHeaders };
      const guard = last === null ? undefined : { subject, sequence: last.sequence };
      await bus.append(subject, data, guard === undefined ? once : { ...once, guard });
      return;
    } catch (error) {
      if (!hasCode(error, 'BUS_UNREACHABLE', 'BUS_UNKNOWN_OUTCOME', 'BUS_CONFLICT')) {
        // The feed is history for people: a transition that the stream refuses is left out, and the actor
        // continues.
        if (attempt >= refusalsMax) {
          const facts = { actor: transition.id, rev: transition.rev, error: asError(error).message };
          parts.log.error(facts, 'a transition is missing on the event stream');
          return;
        }
      }
    }
    await sleep(clock, jittered(backOffMs(attempt, 50, 2_000), 0.3, random), signal);
  }
}

/** An actor's last entry on the event stream. */
export type Published = StepPlace;

export const nothingYet: Published = { fence: 0, rev: 0, at: 0 };

async function lastOf(bus: FeedParts['bus'], subject: string) {
  const message = await bus.last('event', subject);
  const published = message === undefined ? null : readPublished(message.data);
  return { sequence: message?.sequence ?? 0, published: published ?? nothingYet };
}

/**
 * The last transition of each actor on the event stream. The stream outlives its duplicate window, so it has
 * to be read.
 */
export async function lastPublished(
  parts: FeedParts,
  ids: readonly ActorId[],
): Promise<ReadonlyMap<ActorId, Published>> {
  const { bus, subjects } = parts;
  const published = new Map<ActorId, Published>();
  if (ids.length === 0) return published;
  const found = await bus.lastOfMany('event', ids.map(subjects.event));
  for (const id of ids) {
    const message = found.get(subjects.event(id));
    const last = message ? readPublished(message.data) : null;
    if (last !== null) published.set(id, last);
  }
  return published;
}

/** null: the entry is foreign. The actor's own transitions are then published again, to be safe. */
function readPublished(data: Uint8Array): Published | null {
  return attempt(() => {
    const { fence, rev, at } = JSON.parse(new TextDecoder().decode(data)) as Partial<Published>;
    const isWhole = typeof fence === 'number' && typeof rev === 'number' && typeof at === 'number';
    return isWhole ? { fence, rev, at } : null;
  }, null);
}
