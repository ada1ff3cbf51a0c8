/**
 * One family of a health chart: something that receives changes and has to process them (a service proxy's
 * IPv4 rules, a shard, a watch). As in kube-proxy's health server, a change that waits for the timeout makes
 * the family late.
 *
 * Owns what is remembered of a family and when it is late, as pure functions, and the chart region made of
 * them. Promises: only the oldest waiting change is timed; an "updated" event settles all that waited; a
 * family that was never updated is never late (it is starting).
 */
import { hasPassed } from '../stamp.ts';

/** What is known of one family; times in milliseconds since the epoch. */
export interface FamilyHealth {
  /** When the oldest waiting change came; null: none waits. */
  readonly pendingSince: number | null;
  /** When the family had last processed everything; null: never. */
  readonly lastUpdated: number | null;
  /** The last report, as sent; absent: it uses `queued` and `updated`. */
  readonly report?: FamilyLevel & {
    /** When it was received; absent in records of earlier releases. */
    readonly at?: number;
  };
}

/** The state of a family, as its sender reports it. */
export interface FamilyLevel {
  readonly queuedAt: number | null;
  readonly updatedAt: number | null;
  /** Increases from report to report. */
  readonly seq: number;
}

export const startingFamily: FamilyHealth = { pendingSince: null, lastUpdated: null };

/** A change arrived; further ones change nothing (the same object is returned). */
export function queued(family: FamilyHealth, at: number): FamilyHealth {
  return family.pendingSince === null ? { ...family, pendingSince: at } : family;
}

/** Everything that waited is processed. */
export function updated(at: number, before: FamilyHealth = startingFamily): FamilyHealth {
  return { ...before, pendingSince: null, lastUpdated: at };
}

/** How far messages of one sender can overtake each other, ms. */
const overtakeMs = 300_000;

/**
 * A report that is not newer than the last one is ignored – unless the last one was long ago: then the
 * sender's clock had been ahead, and it counts again.
 */
export function isStale({ report }: FamilyHealth, { seq }: FamilyLevel, at: number): boolean {
  return report !== undefined && seq <= report.seq && !hasPassed(overtakeMs, report.at ?? 0, at);
}

/**
 * Applies a report. An untrusted sender's times only distinguish changes: a new change counts from when the
 * report was received.
 */
export function reported(
  before: FamilyHealth,
  { queuedAt, updatedAt, seq }: FamilyLevel,
  { at, isTimed }: { readonly at: number; readonly isTimed: boolean },
): FamilyHealth {
  const report = { queuedAt, updatedAt, seq, at };
  const { report: last } = before;
  const when = (told: number | null, lastTold: number | null | undefined, known: number | null) => {
    if (told === null) return null;
    // By a clock that is ahead; repeated, it is no later than before.
    if (isTimed) return Math.min(told, at, told === lastTold ? (known ?? at) : at);
    return told === lastTold || lastTold === undefined ? (known ?? at) : at;
  };
  return {
    pendingSince: when(queuedAt, last?.queuedAt, before.pendingSince),
    lastUpdated: when(updatedAt, last?.updatedAt, last === undefined ? null : before.lastUpdated),
    report,
  };
}

/** Late: waiting for the timeout or longer (kube-proxy: healthy while `now - queued < timeout`). */
export function isLate({ pendingSince, lastUpdated }: FamilyHealth, now: number, timeoutMs: number): boolean {
  return pendingSince !== null && lastUpdated !== null && now - pendingSince >= timeoutMs;
}

/**
 * The region of one family. The enclosing chart provides the guards `isOfFamily` and `isFirstOfFamily` and
 * those about a report's content, the actions `noteQueued`, `noteUpdated` and `noteReported`, and the delay
 * named here.
 */
export function familyRegion<Family extends string, Delay extends string>(family: Family, lateness: Delay) {
  const guard = { type: 'isOfFamily', params: { family } } as const;
  const noteQueued = { type: 'noteQueued', params: { family } } as const;
  const noteUpdated = { type: 'noteUpdated', params: { family } } as const;
  const noteReported = { type: 'noteReported', params: { family } } as const;
  const toPending = { target: '.pending', actions: noteReported } as const;
  const toSynced = { guard, target: 'synced', actions: noteUpdated } as const;
  return {
    description: `Does ${family} keep up with its changes?`,
    initial: 'starting',
    on: {
      'proxier.forgotten': '.forgotten',
      'proxier.reported': [
        { guard: { type: 'isNoNews', params: { family } } },
        { guard: { type: 'saysStarting', params: { family } }, target: '.starting', actions: noteReported },
        { guard: { type: 'saysLate', params: { family } }, target: '.late', actions: noteReported },
        { guard: { type: 'saysPending', params: { family } }, ...toPending },
        { target: '.synced', actions: noteReported },
      ],
    },
    states: {
      starting: {
        description: 'Nothing has been applied yet; it does not count as late, however long a change waits.',
        tags: 'settled',
        on: {
          'proxier.queued': { guard: { ...guard, type: 'isFirstOfFamily' }, actions: noteQueued },
          'proxier.updated': toSynced,
        },
      },
      synced: {
        description: 'Every change has been applied.',
        tags: 'settled',
        on: {
          'proxier.queued': { guard, target: 'pending', actions: noteQueued },
          'proxier.updated': { guard, actions: noteUpdated },
        },
      },
      pending: {
        description: 'A change is waiting, but not for too long yet.',
        on: {
          'proxier.updated': toSynced,
          'proxier.observed': { guard: 'isOtherTimeout', target: 'pending', reenter: true },
        },
        after: { [lateness]: 'late' } as { readonly [Name in Delay]: 'late' },
      },
      late: {
        description: 'A change has been waiting for the timeout or longer; the proxy does not keep up.',
        tags: ['settled', 'wrong'],
        on: {
          'proxier.updated': toSynced,
          'proxier.observed': { guard: 'isOtherTimeout', target: 'pending' },
        },
      },
      forgotten: {
        description: 'The node is gone, and nothing has been heard from it for a long time.',
        type: 'final',
      },
    },
  } as const;
}
