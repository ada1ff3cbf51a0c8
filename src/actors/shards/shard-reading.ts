/**
 * Reads what is stored of a shard: its records and its checkpoint, up to the fence that its new owner wrote.
 *
 * Shards that are claimed at about the same time are read by one consumer. One for each of 64 shards would be
 * as many agreements between the servers of JetStream to make it, and as many to remove it a moment later.
 */
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { ShardName } from '../../base/ids.ts';
import { unlessAborted } from '../../base/promises/unless-aborted.ts';
import type { Bus, StoredMessage } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';

export interface StoredShard {
  /** The last record of each of its actors. */
  readonly records: readonly StoredMessage[];
  readonly checkpoint: StoredMessage | null;
  /** When the fence was stored, by the clock of the server, as all that was found. */
  readonly claimedAt: number;
}

/** A claim of a shard: its fence's sequence. */
interface Claim {
  readonly shard: ShardName;
  readonly fence: number;
}

/**
 * Resolves once everything before the fence was read. @throws the signal's reason on abort, or what
 * `Bus.follow` throws
 */
export type ReadShard = (claim: Claim, signal: AbortSignal) => Promise<StoredShard>;

interface ReaderParts {
  readonly bus: Pick<Bus, 'follow'>;
  readonly subjects: Subjects;
  readonly clock: Clock;
}

export function createShardReader(parts: ReaderParts): ReadShard {
  let gathered: Map<ShardName, Reading> | null = null;
  const gather = () => {
    const readings = new Map<ShardName, Reading>();
    parts.clock.after(0, () => {
      if (gathered === readings) gathered = null;
      readTogether(parts, [...readings.values()]);
    });
    return readings;
  };
  return (claim, signal) => {
    if (gathered === null || gathered.has(claim.shard)) gathered = gather();
    const reading = createReading(parts.subjects, claim, signal);
    gathered.set(claim.shard, reading);
    return reading.read;
  };
}

type Reading = ReturnType<typeof createReading>;

function createReading(subjects: Subjects, { shard, fence }: Claim, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<StoredShard>();
  const fenceSubject = subjects.fence(shard);
  const checkpointSubject = subjects.checkpoint(shard);
  const records: StoredMessage[] = [];
  let checkpoint: StoredMessage | null = null;
  return {
    read: unlessAborted(promise, signal),
    fenceSubject,
    recordSubjects: subjects.stateOfShard(shard),
    take(message: StoredMessage): void {
      const { subject, sequence, storedAt } = message;
      if (subject === checkpointSubject) checkpoint = message;
      else if (subject !== fenceSubject) records.push(message);
      else if (sequence >= fence) resolve({ records, checkpoint, claimedAt: storedAt });
    },
    fail: reject,
  };
}

/** Ends when all of them have been read or given up. */
function readTogether({ bus }: ReaderParts, readings: readonly Reading[]): void {
  const byPlace = new Map<string, Reading>();
  const over = new AbortController();
  for (const reading of readings) {
    const places = [reading.fenceSubject, placeOf(reading.recordSubjects)];
    for (const place of places) byPlace.set(place, reading);
    const end = () => {
      for (const place of places) byPlace.delete(place);
      if (byPlace.size === 0) over.abort();
    };
    reading.read.then(end, end);
  }
  const following = bus.follow('state', {
    subjects: readings.flatMap(({ recordSubjects, fenceSubject }) => [recordSubjects, fenceSubject]),
    from: { kind: 'lastPerSubject' },
    onMessage: (message) => {
      const { subject } = message;
      (byPlace.get(placeOf(subject)) ?? byPlace.get(subject))?.take(message);
    },
    signal: over.signal,
  });
  following.catch((error: unknown) => {
    for (const { fail } of readings) fail(asError(error));
  });
}

/** Of the subject of a record, up to its shard: without kind, namespace and name. */
function placeOf(subject: string): string {
  let end = subject.length;
  for (let token = 0; token < 3; token++) end = subject.lastIndexOf('.', end - 1);
  return subject.slice(0, end);
}
