/**
 * How far a shard has come: its checkpoint as it stands beside the records.
 *
 * Promise: what cannot be read, or has not the form, is null; the shard then begins at the oldest message,
 * and records tell what they took.
 */
import { attempt } from '../../base/errors.ts';
import { decode, encode } from '../../bus/codec.ts';

/** Saved about once a second and at each hand-over. */
export interface Checkpoint {
  /** Every mail message up to this sequence was taken. */
  readonly mail: number;
  /** The mail stream of which that is a sequence. Absent: a release before wrote it. */
  readonly mailOf?: string;
  /** The mail stream to which the places of records belong that name none. */
  readonly unnamedMailOf?: string | null;
  /** Every transition of a record up to this sequence is on the event stream. */
  readonly feed: number;
  /**
   * Mail over `send` that was stored until then may speak for actors, ms since the epoch; null: it was
   * written by a release whose actors all spoke over `send`.
   */
  readonly sendIsOpenUntil: number | null;
}

export const packCheckpoint = (checkpoint: Checkpoint): Uint8Array => encode(checkpoint);

export function readCheckpoint(bytes: Uint8Array): Checkpoint | null {
  return attempt(() => {
    const stored = (decode(bytes) ?? {}) as Partial<Checkpoint>;
    const { mail, feed, sendIsOpenUntil = null, mailOf, unnamedMailOf } = stored;
    const isTime = sendIsOpenUntil === null || Number.isFinite(sendIsOpenUntil);
    if (!isPosition(mail) || !isPosition(feed) || !isTime) return null;
    if (!isStream(mailOf) || !(unnamedMailOf === null || isStream(unnamedMailOf))) return null;
    return {
      ...{ mail, feed, sendIsOpenUntil },
      ...(mailOf === undefined ? {} : { mailOf }),
      ...(unnamedMailOf === undefined ? {} : { unnamedMailOf }),
    };
  }, null);
}

const isStream = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';
const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
