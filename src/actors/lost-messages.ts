/**
 * Notices that the stream of the world, or of the records, has lost what this replica has read in it:
 * somebody purged it, its settings removed a part, or a server lost one.
 *
 * Followers cannot see that, because nothing new arrives. A replica that starts later would miss what is
 * gone, and would take it for removed as soon as a mirror goes on from memory (I10). So each replica looks,
 * every `lookMs` and before it starts a mirror: a stream must hold each fence that is known, and the world's
 * as many messages as there are objects. Promise: a stream that lost messages is followed as if it had been
 * recreated. The loss of single objects or records may go unnoticed. Absent: what followers do then.
 */
import { sleep } from '../base/clock.ts';
import type { StreamState } from '../bus/bus.ts';
import type { HostParts } from './host/host-parts.ts';
import type { Ownership } from './shards/ownership.ts';
import type { World } from './world/world.ts';

type KeptStream = 'world' | 'state';

export interface LossParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'log'> {
  readonly world: Pick<World, 'size'>;
  readonly ownership: Pick<Ownership, 'fencesBySubject'>;
}

export interface Losses {
  /** Looks now; returns whether the stream has lost messages. One that does not answer has not. */
  look(stream: KeptStream): Promise<boolean>;
  stop(): void;
}

const lookMs = 10_000;
/** A number of objects that is too small is looked at once more: this replica may hear late of a removal. */
const confirmMs = 3_000;
/** A process that was stopped for longer may know what was removed meanwhile, with its mark. */
const lateMs = 60_000;

const lostMessages =
  'a stream has lost messages that this replica had read: was it purged, or did a NATS server lose a part of it? It is read again as a new one: Kubernetes is listed again for the world, and actors without a record start again (docs/disaster-recovery.md)';

export function watchLosses(parts: LossParts): Losses {
  const { bus, clock, log } = parts;
  const looking = new Map<KeptStream, Promise<boolean>>();
  const lookOnce = async (stream: KeptStream): Promise<boolean> => {
    const isLost = await hasLost(parts, stream).catch(() => false);
    if (!isLost || isStopped) return false;
    log.error({ stream }, lostMessages);
    bus.startOver(stream);
    return true;
  };
  const look = (stream: KeptStream): Promise<boolean> => {
    const begun = looking.get(stream) ?? lookOnce(stream).finally(() => void looking.delete(stream));
    looking.set(stream, begun);
    return begun;
  };
  let isStopped = false;
  let lookedAt = clock.now();
  const lookLater = () =>
    clock.after(lookMs, async () => {
      const isLate = Math.abs(clock.now() - lookedAt) > lateMs;
      lookedAt = clock.now();
      if (!isLate) await Promise.all([look('world'), look('state')]);
      if (!isStopped) timer = lookLater();
    });
  let timer = lookLater();
  return {
    look,
    stop() {
      isStopped = true;
      timer.cancel();
    },
  };
}

async function hasLost(parts: LossParts, stream: KeptStream): Promise<boolean> {
  const { state, hasTooFew } = await lookAt(parts, stream);
  if (await hasLostFence(parts, stream, state)) return true;
  if (!hasTooFew) return false;
  await sleep(parts.clock, confirmMs);
  return (await lookAt(parts, stream)).hasTooFew;
}

/** What is stored after the objects were counted only adds, and a removal leaves a mark. */
async function lookAt({ bus, world }: LossParts, stream: KeptStream) {
  const least = stream === 'world' ? world.size : 0;
  const state = await bus.streamState(stream);
  return { state, hasTooFew: state.messages < least };
}

/**
 * A fence is replaced by another message on its subject, and never removed while anybody may claim it. One
 * that was retired expires.
 */
async function hasLostFence(
  { bus, ownership, subjects }: LossParts,
  stream: KeptStream,
  { firstSequence }: StreamState,
): Promise<boolean> {
  const passed = [...ownership.fencesBySubject()].flatMap(([subject, { sequence, value }]) => {
    const isHere = (subjects.parseFence(subject) === undefined) === (stream === 'world');
    return isHere && sequence < firstSequence && !value.isRetired ? [subject] : [];
  });
  return passed.length > 0 && (await bus.lastOfMany(stream, passed)).size < passed.length;
}
