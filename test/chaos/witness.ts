/**
 * Everything that is stored, as sightings for the checkers: the five streams of a real NATS, read to the last
 * message.
 *
 * Promises: each message of a stream once and in order; a transition after the record that holds it; each
 * late enough (`holdMs`) that what Kubernetes reported before is known. The state stream keeps more than the
 * last message of each subject (`keepHistory`), so that no record is overwritten before it is read. What has
 * been read of an ended actor is thinned, or its past would reappear when its last record is forgotten. What
 * the state stream held when it was deleted is reported before the loss is, and what its successor holds
 * after it.
 */
import { createLedger, type See, type Sighting } from '../../packages/testing/simulation/sightings.ts';
import { systemClock as clock, type Timer } from '../../src/base/clock.ts';
import type { Transition } from '../../src/base/views.ts';
import type { Bus, Following, StoredMessage, StreamName } from '../../src/bus/bus.ts';
import { streamDefinitions } from '../../src/bus/streams.ts';
import type { Subjects } from '../../src/bus/subjects.ts';

export interface WitnessParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly cluster: string;
  readonly see: See;
  /** Called at once with what the checkers see later. */
  readonly onMessage: (stream: StreamName, message: StoredMessage) => void;
}

export interface Witness {
  /** Reports everything from the first message on. */
  begin(): void;
  /** Messages that should have been reported by now. */
  readonly overdue: number;
  /** The stream was deleted: what it had not reported is lost, but for the state's. */
  lose(stream: StreamName): void;
  /** The last message of the stream that was read. */
  place(stream: StreamName): number;
  /** Reports nothing for now: what Kubernetes reported before is not known yet. */
  hold(isHeld: boolean): void;
  /** Keeps more than the last message of each subject. @throws Error with the server's words */
  keepHistory(): Promise<void>;
  /** Sees it this much later, and again that much later while it is null, until the last time. */
  later(sighting: (isLast: boolean) => Sighting | null, ms: number): void;
  stop(): Promise<void>;
}

interface Held {
  /** null: here the stream was lost, which had this many. */
  readonly message: StoredMessage | null;
  readonly lostAfter?: number;
  readonly at: number;
}

/** A watch hardly ever lags behind NATS by more than this. */
export const holdMs = 1_500;
/** A transition that waits longer for its record is reported without it. */
const patienceMs = 60_000;
/** Whatever is held back for longer waits in vain. */
const lateMs = 5_000;
const releaseEveryMs = 50;
/** After the loss of its record an actor takes all mail again that is still there, in a moment. */
const recordsKept = 1_000;
/** The order in which messages of one moment are seen. */
const streams: readonly StreamName[] = ['mail', 'dead', 'world', 'state', 'event'];

export async function startWitness(parts: WitnessParts): Promise<Witness> {
  const { bus, subjects, cluster, see } = parts;
  await keepHistory(bus, cluster);
  const queued = createQueues(parts);
  const followings: Following[] = [];
  for (const name of streams) {
    const following = await bus.follow(name, {
      subjects: streamDefinitions(cluster)[name].subjects.map((one) => storedAs(subjects, name, one)),
      from: { kind: 'sequence', sequence: 1 },
      onMessage(message) {
        queued.take(name, message);
        parts.onMessage(name, message);
      },
      onAnother: () => {},
    });
    followings.push(following);
  }
  return Object.assign(queued.witness, {
    keepHistory: () => keepHistory(bus, cluster),
    later: (sighting: Parameters<Witness['later']>[0], ms: number) =>
      later(see, sighting, ms, clock.monotonic() + patienceMs),
    async stop() {
      queued.stop();
      await Promise.all(followings.map((following) => following.stop().catch(() => {})));
    },
  });
}

/** Notes which record was saved last, and tells it. */
const noting = (parts: WitnessParts, saved: Map<string, number>) => (sighting: Sighting) => {
  if (sighting.kind === 'saved') {
    const { id, shard, record, sequence } = sighting;
    saved.set(id, record.rev);
    if (record.gone) thin(parts, parts.subjects.state(shard as number, id), sequence);
  }
  parts.see(sighting);
};

/** What was read and is not told yet. */
function createQueues(parts: WitnessParts) {
  const { subjects, see } = parts;
  const places = new Map<StreamName, number>();
  /** Steps under fences up to this one were stored in a stream that was lost. */
  let lostFence = 0;
  const queues = new Map<StreamName, Held[]>(streams.map((name) => [name, []]));
  const saved = new Map<string, number>();
  const told = noting(parts, saved);
  let ledger = createLedger(subjects, told);
  const loseRecords = (lostAfter: number) => {
    lostFence = lostAfter;
    ledger = createLedger(subjects, told);
    saved.clear();
    see({ kind: 'lost', stream: 'state' });
  };
  let isHeld = false;
  const release = () => {
    if (isHeld) return;
    const now = clock.monotonic();
    for (const name of streams) {
      const queue = queues.get(name) ?? [];
      let count = 0;
      while (count < queue.length && mayBeTold(name, queue[count], now, { saved, lostFence })) count++;
      for (const { message, lostAfter = 0 } of queue.splice(0, count)) {
        if (message === null) loseRecords(lostAfter);
        else ledger(name, message);
      }
    }
  };
  const take = (name: StreamName, message: StoredMessage) => {
    places.set(name, message.sequence);
    queues.get(name)?.push({ message, at: clock.monotonic() });
  };
  let timer: Timer | undefined;
  const tick = () => {
    release();
    timer = clock.after(releaseEveryMs, tick);
  };
  const witness: Pick<Witness, 'begin' | 'overdue' | 'place' | 'hold' | 'lose'> = {
    begin: tick,
    get overdue() {
      const due = clock.monotonic() - holdMs - lateMs;
      return [...queues.values()].flat().filter(({ at }) => at < due).length;
    },
    place: (stream) => places.get(stream) ?? 0,
    hold(wanted) {
      isHeld = wanted;
    },
    lose(stream) {
      const lostAfter = places.get(stream) ?? 0;
      if (stream === 'state')
        return void queues.get(stream)?.push({ message: null, at: clock.monotonic(), lostAfter });
      queues.get(stream)?.splice(0);
      see({ kind: 'lost', stream });
    },
  };
  return { witness, take, stop: () => timer?.cancel() };
}

function later(see: See, sighting: Parameters<Witness['later']>[0], ms: number, until: number): void {
  clock.after(ms, () => {
    const told = sighting(clock.monotonic() > until);
    if (told === null) later(see, sighting, ms, until);
    else see(told);
  });
}

function mayBeTold(
  name: StreamName,
  held: Held | undefined,
  now: number,
  { saved, lostFence }: { readonly saved: ReadonlyMap<string, number>; readonly lostFence: number },
): boolean {
  if (held === undefined || held.at + holdMs > now) return false;
  if (name !== 'event' || held.message === null || held.at + patienceMs < now) return true;
  const { id, rev, fence } = JSON.parse(new TextDecoder().decode(held.message.data)) as Transition;
  return fence <= lostFence || (saved.get(id) ?? 0) >= rev;
}

/** Mail is stored under another subject than it was sent to. */
const storedAs = (subjects: Subjects, name: StreamName, sent: string) =>
  name === 'mail' && sent === subjects.sendAll ? subjects.mailAll : sent;

export async function keepHistory(bus: Bus, cluster: string): Promise<void> {
  const { name } = streamDefinitions(cluster).state;
  const { config } = await jetStream<{ config: object }>(bus, `STREAM.INFO.${name}`);
  await jetStream(bus, `STREAM.UPDATE.${name}`, { ...config, max_msgs_per_subject: recordsKept });
}

/** Removes what was there before; what has come since may not have been read yet. */
function thin({ bus, cluster }: WitnessParts, filter: string, seq: number): void {
  const { name } = streamDefinitions(cluster).state;
  jetStream(bus, `STREAM.PURGE.${name}`, { filter, seq }).catch(() => {});
}

/** @throws Error with the server's words */
export async function jetStream<T>(bus: Bus, verb: string, body: object = {}): Promise<T> {
  const data = new TextEncoder().encode(JSON.stringify(body));
  const answer = await bus.request(`$JS.API.${verb}`, data, { timeoutMs: 5_000 });
  const read = JSON.parse(new TextDecoder().decode(answer.data)) as T & { error?: { description: string } };
  if (read.error) throw new Error(`${verb}: ${read.error.description}`);
  return read;
}
