/**
 * A shard while this replica owns it: the fence, the cells, and the signal that ends everything done under
 * that fence.
 */

import type { ShardName } from '../../base/ids.ts';
import { ledShard } from '../../base/limits.ts';
import type { Progress, ShardRun } from '../host/owned.ts';

/** The holding of the shard of led actors. */
export const ledHolding = 'led';

export function holdingName(shard: ShardName): string {
  if (typeof shard === 'string') return `part/${shard}`;
  return shard === ledShard ? ledHolding : `shard/${shard}`;
}

export function createShardRun(shard: ShardName, fence: number): ShardRun {
  return {
    shard,
    fence,
    cells: new Map(),
    abort: new AbortController(),
    phase: 'loading',
    saving: new Set(),
    world: 0,
    sendIsOpenUntil: 0,
    savedOpenUntil: null,
    mailOf: '',
    unnamedMailOf: null,
    mail: { outstanding: new Set(), begun: 0, saved: 0 },
    feed: { outstanding: new Set(), begun: 0, saved: 0 },
    unpublished: new Map(),
    owesEffects: false,
    purged: 0,
    queuedMail: new Set(),
    waitingMail: new Map(),
    burying: new Map(),
    parkedMail: 0,
    reading: 0,
    ended: [],
    following: null,
  };
}

/** Everything up to and including this sequence is done. */
export function position({ outstanding, begun }: Progress): number {
  let lowest = begun + 1;
  for (const sequence of outstanding) if (sequence < lowest) lowest = sequence;
  return lowest - 1;
}

/** Up to this sequence of the state stream every transition is on the event stream. */
export function feedPosition({ feed, saving }: ShardRun): number {
  let lowest = position(feed);
  for (const { after } of saving) lowest = Math.min(lowest, after);
  return lowest;
}

export function begin(progress: Progress, sequence: number): void {
  progress.outstanding.add(sequence);
  progress.begun = Math.max(progress.begun, sequence);
}

/** Mail is removed in portions of so many messages: removing costs the stream a search. */
const purgePortion = 1_000;

/** Mail below this sequence was taken for good and may be removed; null while that is not worth it. */
export function mailToPurge({ mail, purged }: ShardRun): number | null {
  return mail.saved - purged >= purgePortion ? mail.saved + 1 : null;
}
