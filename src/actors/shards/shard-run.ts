/**
 * A shard while this replica owns it: the fence, the cells, and the signal that ends everything done under that fence.
 */

import type { ActorId } from '../../base/ids.ts';
import { releaseShard } from '../../base/limits.ts';
import type { Following } from '../../bus/bus.ts';
import { shardOf } from '../../bus/shard.ts';
import type { Cell } from '../host/cell.ts';
import type { Letter } from './mail.ts';

/** The shard in which an actor lives: releases have one of their own, whose owner must be a replica that may lead. */
export function homeOf(id: ActorId): number {
  return id.startsWith('release/') ? releaseShard : shardOf(id);
}

/** The holding of the shard of releases. */
export const releaseHolding = 'release';

export const holdingName = (shard: number) => (shard === releaseShard ? releaseHolding : `shard/${shard}`);

export interface ShardRun {
  readonly shard: number;
  /** Sequence of the fence message that made this replica the owner; every save is conditional on it. */
  readonly fence: number;
  readonly cells: Map<ActorId, Cell>;
  /** Aborted when the shard is given up or lost: effects end, nothing more is saved. */
  readonly abort: AbortController;
  /** loading: takes events but does not work; active; draining: finishes what it began. */
  phase: 'loading' | 'active' | 'draining' | 'closed';
  /** Saves in flight; each holds the last sequence that was known when it began: its own will be higher. */
  readonly saving: Set<{ readonly after: number }>;
  /** The world must be known so far before actors are told of it: an earlier owner told them of that. */
  world: number;
  readonly mail: Progress;
  /** Sequences of saved records whose transition is not on the event stream yet. */
  readonly feed: Progress;
  /** Loaded records whose transitions may not be on the event stream: actor → sequence of its record. */
  readonly unpublished: Map<ActorId, number>;
  /** Some loaded record asks for effects that may not have run: they will run again. */
  owesEffects: boolean;
  /** Mail below this sequence was removed from the stream. */
  purged: number;
  /** Mail that waits in some mailbox. */
  readonly queuedMail: Set<number>;
  /** Mail to actors that are not there yet, in order. */
  readonly waitingMail: Map<ActorId, Letter[]>;
  /** Actors of which so many dead letters are not stored yet. */
  readonly burying: Map<ActorId, number>;
  /** Letters that wait for a release that knows the record of their parked actor. */
  parkedMail: number;
  /** Number of the reading of the mail that counts. */
  reading: number;
  /** Actors that ended, in order: their records are forgotten one after the other. */
  readonly ended: Array<{ readonly id: ActorId; readonly until: number }>;
  /** The reading of the mail; null while it does not run. */
  following: Following | null;
}

/** How far a sequence of messages was worked off, when their order of ending is not that of their beginning. */
export interface Progress {
  /** Sequences that began and are not done. */
  readonly outstanding: Set<number>;
  /** The last sequence that began. */
  begun: number;
  /** The position that the stored checkpoint names. */
  saved: number;
}

export function createShardRun(shard: number, fence: number): ShardRun {
  return {
    shard,
    fence,
    cells: new Map(),
    abort: new AbortController(),
    phase: 'loading',
    saving: new Set(),
    world: 0,
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
