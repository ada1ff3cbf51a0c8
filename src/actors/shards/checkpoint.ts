/**
 * A shard's checkpoint: how far its mail and feed have been processed. Stored beside the records.
 *
 * Promise: an unreadable or malformed checkpoint is null; the shard then starts at the oldest message, and
 * the records show which messages were taken.
 */
import { attempt } from '../../base/errors.ts';
import { decode, encode } from '../../bus/codec.ts';

/** Saved about once a second and at each hand-over. */
export interface Checkpoint {
  /** Every mail message up to this sequence was taken. */
  readonly mail: number;
  /** The mail stream to which that sequence belongs. Absent: an earlier release wrote it. */
  readonly mailOf?: string;
  /** The mail stream for the positions of records that name none. */
  readonly unnamedMailOf?: string | null;
  /** Every transition of a record up to this sequence is on the event stream. */
  readonly feed: number;
  /**
   * Messages over `send` stored before this time may come from actors, ms since the epoch; null: written by a
   * release whose actors always used `send`.
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
