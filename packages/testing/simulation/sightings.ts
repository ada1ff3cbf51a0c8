/**
 * What can be seen of a simulated cluster from outside: its checkers judge it and its traces show it.
 *
 * `createLedger` makes sightings from the streams' messages, as they are stored and before anybody reads
 * them.
 */
import { type ActorRecord, unpackRecord } from '../../../src/actors/host/records.ts';
import type { EffectData } from '../../../src/actors/host/step.ts';
import { withoutWord } from '../../../src/actors/shards/message-ids.ts';
import type { AnyDigest } from '../../../src/base/digests.ts';
import type { ActorId, ShardName } from '../../../src/base/ids.ts';
import type { Transition } from '../../../src/base/views.ts';
import type { StoredMessage, StreamName } from '../../../src/bus/bus.ts';
import { decode } from '../../../src/bus/codec.ts';
import { headerOf } from '../../../src/bus/envelope.ts';
import type { Subjects } from '../../../src/bus/subjects.ts';

type EngineSighting =
  /** A record was stored; a record may be stored again at its revision. */
  | {
      readonly kind: 'saved';
      readonly id: ActorId;
      readonly shard: ShardName;
      readonly sequence: number;
      readonly record: ActorRecord;
      readonly bytes: number;
      /** The record that was there before. */
      readonly before: ActorRecord | null;
    }
  /** A shard changed hands; null: it was given back. */
  | {
      readonly kind: 'fence';
      readonly shard: ShardName;
      readonly replica: string | null;
      readonly sequence: number;
    }
  /** A transition was put on the event stream. */
  | { readonly kind: 'told'; readonly transition: Transition }
  /** A message was put into the mail. */
  | {
      readonly kind: 'mail';
      readonly id: ActorId;
      readonly sequence: number;
      readonly type: string;
      readonly messageId: string | null;
    }
  | { readonly kind: 'buried'; readonly error: string; readonly messageId: string | null }
  | {
      readonly kind: 'world';
      readonly resource: string;
      readonly namespace: string;
      readonly name: string;
      readonly digest: AnyDigest | null;
    }
  /** A replica begins to run an effect. */
  | {
      readonly kind: 'effect';
      readonly replica: string;
      readonly key: string;
      readonly actor: ActorId;
      readonly effect: EffectData;
      /** Since when it can save nothing, as the simulation knows; null: it can. */
      readonly mutedAt: number | null;
    }
  /** A replica reports that something is wrong with it: a parked actor, a handler that threw. */
  | { readonly kind: 'complaint'; readonly replica: string; readonly text: string; readonly actor: string }
  /** A stream was lost with all its content. */
  | { readonly kind: 'lost'; readonly stream: StreamName }
  /** A second has passed. */
  | { readonly kind: 'second' }
  /** From now on nothing fails. */
  | { readonly kind: 'calm' }
  | { readonly kind: 'end' };

/** What else a world can be seen to do, by name; each simulation declares its own. */
export interface WorldSightings {
  /** Something was done to the cluster or to the world; for the trace. */
  done: { readonly kind: 'done'; readonly text: string };
}

export type Sighting = EngineSighting | WorldSightings[keyof WorldSightings];

export type See = (sighting: Sighting) => void;

export function createLedger(subjects: Subjects, see: See) {
  const records = new Map<string, ActorRecord>();
  return (stream: StreamName, message: StoredMessage): void => {
    const sighting = read(subjects, stream, message, records);
    if (sighting) see(sighting);
  };
}

function read(
  subjects: Subjects,
  stream: StreamName,
  message: StoredMessage,
  records: Map<string, ActorRecord>,
): Sighting | undefined {
  const { subject, data, sequence } = message;
  if (stream === 'state') {
    const shard = subjects.parseFence(subject);
    if (shard === undefined) return saved(subjects, message, records);
    const { replica } = decode(data) as { replica?: unknown };
    return { kind: 'fence', shard, replica: typeof replica === 'string' ? replica : null, sequence };
  }
  if (stream === 'event') {
    return { kind: 'told', transition: JSON.parse(text.decode(data)) as Transition };
  }
  if (stream === 'mail') return mail(subjects, message);
  if (stream === 'dead') {
    const error = headerOf(message.headers, 'Orrery-Error') ?? '';
    return { kind: 'buried', error, messageId: wordOf(data, 'id') };
  }
  const parsed = subjects.parseWorld(subject);
  const digest = data.byteLength === 0 ? null : (decode(data) as AnyDigest | null);
  return parsed && { kind: 'world', ...parsed, digest };
}

const text = new TextDecoder();

function saved(
  subjects: Subjects,
  { subject, data, sequence }: StoredMessage,
  records: Map<string, ActorRecord>,
): Sighting | undefined {
  const parsed = subjects.parseState(subject);
  if (!parsed) return undefined;
  const before = records.get(parsed.id) ?? null;
  let record: ActorRecord;
  try {
    record = unpackRecord(data, parsed.id);
  } catch {
    // A vandal's message.
    return undefined;
  }
  records.set(parsed.id, record);
  return { kind: 'saved', ...parsed, sequence, record, before, bytes: data.byteLength };
}

function mail(subjects: Subjects, { subject, data, sequence, headers }: StoredMessage): Sighting | undefined {
  const told = subjects.parseTell(subject);
  const parsed = told ?? subjects.parseMail(subject);
  if (!parsed) return undefined;
  const id = headerOf(headers, 'Nats-Msg-Id') ?? wordOf(data, 'id');
  // As effects are known: without the word that is drawn for each.
  const messageId = told && id !== null ? withoutWord(id) : id;
  return { kind: 'mail', id: parsed.id, sequence, type: wordOf(data, 'type') ?? '', messageId };
}

/** A word of a message; null if the message has none or cannot be read. */
function wordOf(data: Uint8Array, name: string): string | null {
  try {
    const value = (decode(data) as Record<string, unknown> | null)?.[name];
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
