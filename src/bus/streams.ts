/**
 * The five streams of a cluster, as data: what is stored where, for how long, and what happens when it is
 * full.
 *
 * `ensure-streams.ts` makes them on a NATS server, `memory/hub.ts` keeps to them in one process.
 *
 * What happens at a bound: `mail` refuses the sender (a message to an actor must never vanish unseen);
 * `event` and `dead` drop the oldest (they are history for people); `state` and `world` hold one message for
 * each subject, so their size is the number of actors and objects. Counts, not bytes: a bound in bytes would
 * be reserved on the server's disk at once.
 */
import { limits, shardCount } from '../base/limits.ts';
import type { StreamName } from './bus.ts';
import { writeToken } from './subject-token.ts';
import { subjects } from './subjects.ts';

export interface StreamDefinition {
  /** The stream's name on the server: `ORRERY_<cluster>_MAIL`. */
  readonly name: string;
  readonly description: string;
  /** What is sent to the stream. */
  readonly subjects: readonly string[];
  /** Stores a message under another subject, with its shard (`partition(n,1,2,3)`). */
  readonly transform?: { readonly source: string; readonly destination: string };
  /** 0: any number. */
  readonly messagesPerSubjectMax: number;
  /** 0: any number. */
  readonly messagesMax: number;
  readonly messageBytesMax: number;
  /** 0: for ever. */
  readonly maxAgeMs: number;
  /** What becomes of a message that would exceed `messagesMax`: it is refused, or the oldest makes room. */
  readonly whenFull: 'refuse' | 'dropOldest';
  readonly duplicateWindowMs: number;
  /** Several messages can be stored at once or not at all. */
  readonly batches: boolean;
  /** Messages may carry a time after which they remove themselves (tombstones). */
  readonly messageTtl: boolean;
  readonly shards: number;
}

export type StreamDefinitions = Readonly<Record<StreamName, StreamDefinition>>;

const hourMs = 3_600_000;
/**
 * Long enough for a sender's retries and for a replica that re-runs an outbox after a crash; the server keeps
 * one entry of about 100 bytes for each message with an id in memory, so at 1,000 messages/s some 12 MB.
 */
const duplicateWindowMs = 120_000;
/** Room for headers beside the largest payload. */
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
} as const;

const lastPerSubject = {
  ...common,
  messagesPerSubjectMax: 1,
  messageBytesMax: limits.recordBytes + headerBytes,
  messageTtl: true,
} as const;

const mail = {
  ...common,
  description: 'Messages to actors; purged by their owners as they are taken.',
  // An actor that nobody has stepped for a day has lost more than its mail.
  maxAgeMs: 24 * hourMs,
  // About 1 GB of messages of the ordinary size.
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
  // About 1 GB at 500 bytes; 23 steps a second for a whole day.
  messagesMax: 2_000_000,
  messageBytesMax: limits.recordBytes + headerBytes,
} as const;

const dead = {
  ...common,
  description: 'Messages that nobody could take, for a week.',
  maxAgeMs: 7 * 24 * hourMs,
  messagesMax: 100_000,
  // A letter may be as large as the mail allows, and gets two headers more.
  messageBytesMax: limits.messageBytes + 2 * headerBytes,
} as const;

/** @param shards how many shards the mail is dealt to; fixed when the streams are first made */
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
