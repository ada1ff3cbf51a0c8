/**
 * The five streams of a cluster, as data: what each stores, for how long, and what happens when it is full.
 *
 * `ensure-streams.ts` creates them on a NATS server; `memory/hub.ts` follows the same definitions in one
 * process.
 *
 * At their bounds, `mail` refuses the sender (a message to an actor must never vanish unnoticed), `event` and
 * `dead` drop the oldest (they are history for people), and `state` and `world` hold one message for each
 * subject, so the numbers of actors and objects bound them. The bounds are counts rather than bytes, because
 * the server would reserve bytes on its disk at once.
 */
import { limits, shardCount } from '../base/limits.ts';
import type { StreamName } from './bus.ts';
import { writeToken } from './subject-token.ts';
import { subjects } from './subjects.ts';

export interface StreamDefinition {
  /** The stream's name on the server: `ORRERY_<cluster>_MAIL`. */
  readonly name: string;
  readonly description: string;
  /** The subjects that the stream takes. */
  readonly subjects: readonly string[];
  /** Stores each message under another subject that contains its shard (`partition(n,1,2,3)`). */
  readonly transform?: { readonly source: string; readonly destination: string };
  /** 0: unlimited. */
  readonly messagesPerSubjectMax: number;
  /** 0: unlimited. */
  readonly messagesMax: number;
  readonly messageBytesMax: number;
  /** 0: unlimited. */
  readonly maxAgeMs: number;
  /** What happens to a message that would exceed `messagesMax`: it is refused, or the oldest is dropped. */
  readonly whenFull: 'refuse' | 'dropOldest';
  readonly duplicateWindowMs: number;
  /** Several messages can be stored as one batch, all or none. */
  readonly batches: boolean;
  /** Messages may have a time to live (tombstones). */
  readonly messageTtl: boolean;
  /**
   * It holds fences, which must never repeat: one that is created counts from a number above all that an
   * earlier one of its name had.
   */
  readonly fences: boolean;
  readonly shards: number;
}

export type StreamDefinitions = Readonly<Record<StreamName, StreamDefinition>>;

const hourMs = 3_600_000;
/**
 * Covers a sender's retries and a replica that re-runs an outbox after a crash. The server keeps about 100
 * bytes in memory for each message with an id, so some 12 MB at 1,000 messages/s.
 */
const duplicateWindowMs = 120_000;
/** Space for headers beside the largest payload. */
const headerBytes = 4096;

const common = {
  messagesPerSubjectMax: 0,
  messagesMax: 0,
  messageBytesMax: limits.messageBytes + headerBytes,
  maxAgeMs: 0,
  whenFull: 'dropOldest',
  duplicateWindowMs,
  messageTtl: false,
  batches: false,
  fences: false,
} as const;

const lastPerSubject = {
  ...common,
  messagesPerSubjectMax: 1,
  messageBytesMax: limits.recordBytes + headerBytes,
  messageTtl: true,
  fences: true,
} as const;

const mail = {
  ...common,
  description: 'Messages to actors; purged by their owners as they are taken.',
  // An actor without an owner for a day has bigger problems than lost mail.
  maxAgeMs: 24 * hourMs,
  // About 1 GB of messages of usual size.
  messagesMax: 1_000_000,
  whenFull: 'refuse',
} as const;

const world = { ...lastPerSubject, description: 'Digests of Kubernetes objects; the last of each.' };

const state = {
  ...lastPerSubject,
  description: 'Records of actors and the fences of their shards; the last of each.',
  batches: true,
};

const event = {
  ...common,
  description: 'Every saved step, for a day.',
  maxAgeMs: 24 * hourMs,
  // About 1 GB at 500 bytes each; 23 steps a second for a whole day.
  messagesMax: 2_000_000,
  messageBytesMax: limits.recordBytes + headerBytes,
} as const;

const dead = {
  ...common,
  description: 'Messages that nobody could take, for a week.',
  maxAgeMs: 7 * 24 * hourMs,
  messagesMax: 100_000,
  // A letter may be as large as the mail allows, and gets two more headers.
  messageBytesMax: limits.messageBytes + 2 * headerBytes,
} as const;

/**
 * @param shards number of shards into which the mail is divided; fixed when the streams are first created
 */
export function streamDefinitions(cluster: string, shards: number = shardCount): StreamDefinitions {
  const s = subjects(cluster);
  const named = (name: StreamName) => ({
    name: `ORRERY_${writeToken(cluster)}_${name.toUpperCase()}`,
    shards,
  });
  const transform = { source: s.sendAll, destination: mailDestination(s.prefix, shards) };
  return {
    mail: { ...mail, ...named('mail'), subjects: [s.sendAll, s.tellAll], transform },
    world: { ...world, ...named('world'), subjects: [s.worldAll] },
    state: {
      ...state,
      ...named('state'),
      subjects: [s.stateAll, s.fenceAll, s.nodeAll, s.nodesEpoch, s.releaseStatusAll],
    },
    event: { ...event, ...named('event'), subjects: [s.eventAll] },
    dead: { ...dead, ...named('dead'), subjects: [s.dead] },
  };
}

function mailDestination(prefix: string, shards: number): string {
  return `${prefix}.mail.{{partition(${shards},1,2,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}`;
}
