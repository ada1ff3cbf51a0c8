/**
 * The record of an actor: everything that must outlive the replica that owns it.
 *
 * Owns the record's shape and its bytes (MessagePack without record extensions, so that any replica and any
 * tool can read it). A record is written as a whole, once for each step, under the fence of its shard.
 */

import { OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Transition } from '../../base/views.ts';
import { decode, encode } from '../../bus/codec.ts';
import { goneRecordSeconds } from '../step-order.ts';
import type { EffectData, PersistedSnapshot } from './step.ts';

export interface TimerRecord {
  /** xstate's id of the delayed event. */
  readonly id: string;
  readonly event: { readonly type: string };
  /** The deadline, milliseconds since the epoch; it does not restart when the actor moves. */
  readonly at: number;
  /**
   * The delay when it was set, ms; no replica waits longer than this. Absent in records of earlier releases.
   */
  readonly delayMs?: number;
}

export interface OutboxEntry {
  /** `<actor id>/<rev>/<index>` */
  readonly key: string;
  readonly effect: EffectData;
  /**
   * Part of the ids of its messages (message-ids.ts); absent: it sends none, or an earlier release wrote it.
   */
  readonly word?: string;
  /**
   * A former actor of this name requested it: it is run, and nobody receives its outcome. Absent: it is this
   * actor's.
   */
  readonly former?: true;
}

export interface ActorRecord {
  /** Version of this layout, not of the chart. */
  readonly format: 1;
  readonly machine: string;
  readonly version: number;
  /** Increases by one with each reported step (I2). */
  readonly rev: number;
  /** Saved steps since then that were not reported (`Chart.quiet`); absent: none. */
  readonly quiet?: number | undefined;
  /** The fence under which the record was written (I2). */
  readonly fence: number;
  /** Time of the last step, ms since the epoch. */
  readonly at: number;
  /** When the present state was entered, ms since the epoch. */
  readonly since: number;
  /**
   * When the trouble began: since then no state was `ok`; ms since the epoch. Absent: all is well, or an
   * earlier release wrote the record.
   */
  readonly trouble?: number | undefined;
  readonly snapshot: PersistedSnapshot;
  readonly timers: readonly TimerRecord[];
  /** Requested effects that are not known to be over. */
  readonly outbox: readonly OutboxEntry[];
  /** Transitions that are not known to be on the event stream, oldest first. */
  readonly feed: readonly Transition[];
  /** The sequence of the world in the actor's last observation; it is never told of an older one (I10). */
  readonly world: number;
  /** Sequence of the last mail message that was taken; older messages were taken already (I5). */
  readonly mail: number;
  /**
   * The mail stream to which that sequence belongs (shard-store.ts). Absent in records of releases before
   * 0.1.0.
   */
  readonly mailOf?: string;
  /**
   * Ids of the last messages, to detect repetitions under a new sequence (I5): one entry for each step, ids
   * separated by blanks.
   */
  readonly recentIds: readonly string[];
  /** Empty or null: there was none. */
  readonly lastError: string | null;
  /** The actor has ended; the record only keeps its revision for a while. */
  readonly gone: boolean;
}

/** The chart's last error; null: none. A chart may write "none" as an empty text. */
export const lastErrorIn = (record: ActorRecord | null): string | null => record?.lastError || null;

/** @throws OrreryError MESSAGE_TOO_LARGE if the record would be larger than the limit */
export function packRecord(record: ActorRecord): Uint8Array {
  const bytes = encode(record);
  if (bytes.byteLength > limits.recordBytes) {
    throw new OrreryError(
      'MESSAGE_TOO_LARGE',
      `a record of ${bytes.byteLength} bytes is over the limit of ${limits.recordBytes}`,
    );
  }
  return bytes;
}

/** @throws OrreryError MESSAGE_UNREADABLE */
export function unpackRecord(bytes: Uint8Array, id: ActorId): ActorRecord {
  const record = decode(bytes) as ActorRecord | null;
  if (!isRecord(record)) {
    throw new OrreryError('MESSAGE_UNREADABLE', `the record of ${id} has an unknown layout`);
  }
  return record;
}

/** Checks only that everything the host iterates over exists. */
function isRecord(record: Partial<ActorRecord> | null): record is ActorRecord {
  if (record === null || typeof record !== 'object' || record.format !== 1) return false;
  const { rev, fence, at, mail, version, world = 0, snapshot } = record;
  const hasState = isObject(snapshot) && isState(snapshot.value);
  const numbers = [rev, fence, at, mail, version, world];
  return hasState && typeof record.machine === 'string' && numbers.every(Number.isFinite) && hasLists(record);
}

function hasLists({ timers, outbox, feed, recentIds }: Partial<ActorRecord>): boolean {
  return (
    isListOf(timers, isTimer) &&
    isListOf(outbox, ({ key, effect }) => isText(key) && isObject(effect) && isText(effect.type)) &&
    isListOf(feed, ({ fence, rev }) => Number.isFinite(fence) && Number.isFinite(rev)) &&
    Array.isArray(recentIds) &&
    recentIds.every(isText)
  );
}

const isTimer = ({ id, event, at, delayMs = 0 }: Readonly<Record<string, unknown>>) =>
  isText(id) && isObject(event) && Number.isFinite(at) && Number.isFinite(delayMs);

const isText = (value: unknown): value is string => typeof value === 'string';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isListOf(value: unknown, isItem: (item: Readonly<Record<string, unknown>>) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && isItem(item));
}

/** Whether this is a state in xstate's form: a name, or names with states in them. */
function isState(value: unknown): boolean {
  return isText(value) || (isObject(value) && Object.values(value).every(isState));
}

/** How long the stream keeps the record, seconds; undefined: for good. */
export const ttlSecondsOf = ({ gone }: Pick<ActorRecord, 'gone'>) => (gone ? goneRecordSeconds : undefined);

/** Whether the actor ended so long ago that nothing is known of it. */
export function isForgotten({ gone, at }: Pick<ActorRecord, 'gone' | 'at'>, now: number): boolean {
  return gone && at + goneRecordSeconds * 1000 < now;
}
