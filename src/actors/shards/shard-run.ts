/**
 * Operations on a shard that this replica owns: its creation, and the positions of its mail and feed.
 */

import type { ShardName } from '../../base/ids.ts';
import { ledShard } from '../../base/limits.ts';
import type { Progress, ShardRun } from '../host/owned.ts';

/** The holding of the shard with led actors. */
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
    living: null,
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
    ended: new Map(),
    following: null,
  };
}

/** Everything up to and including this sequence is done. */
export function position({ outstanding, begun }: Progress): number {
  if (outstanding.size === 0) return begun;
  let lowest = begun + 1;
  for (const sequence of outstanding) if (sequence < lowest) lowest = sequence;
  return lowest - 1;
}

/** All transitions up to this sequence of the state stream are on the event stream. */
export function feedPosition({ feed, saving }: ShardRun): number {
  let lowest = position(feed);
  for (const { after } of saving) lowest = Math.min(lowest, after);
  return lowest;
}

export function begin(progress: Progress, sequence: number): void {
  progress.outstanding.add(sequence);
  progress.begun = Math.max(progress.begun, sequence);
}

/** Mail is removed in portions of this many messages, because each removal costs the stream a search. */
const purgePortion = 1_000;

/** The sequence before which all mail was taken and may be removed; null while removal is not worthwhile. */
export function mailToPurge({ mail, purged }: ShardRun): number | null {
  return mail.saved - purged >= purgePortion ? mail.saved + 1 : null;
}
