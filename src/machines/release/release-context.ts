/** What a release remembers, and the pure calculations over it. */
import { backOffMs } from '../../base/back-off.ts';
import { limits } from '../../base/limits.ts';
import { hasPassed, type Stamp } from '../stamp.ts';
import type { Reporting } from '../unwritten.ts';
import type { ReleaseRound, ReleaseStatusWrite } from './release-effects.ts';
import type { ReleaseEvent, ReleaseRoster, RoundChanges, RoundSummary } from './release-events.ts';
import {
  type BundleFacts,
  hinderingNodes,
  type NodeFacts,
  rowOf,
  type SeenStatus,
  unionOfKinds,
} from './release-table.ts';

export interface ReleaseContext extends Reporting {
  readonly name: string;
  /** The fence of the leadership under which all this is known; 0: nobody has led yet. */
  readonly fence: number;
  readonly leader: string;
  /** Of the leader. */
  readonly bundle: BundleFacts;
  readonly seen: SeenStatus;
  readonly nodes: readonly NodeFacts[];
  readonly epoch: number;
  /** The epoch of the last attempt to write the status. */
  readonly triedEpoch: number;
  /** What the leader waits for, in words. */
  readonly waitingFor: readonly string[];
  /** Number of the last round; outcomes of others are ignored. */
  readonly round: number;
  /** Consecutive failed rounds. */
  readonly failures: number;
  /** When the first round of this leadership began. */
  readonly begunAt: number | null;
  readonly reportedAt: number | null;
  readonly roundEndedAt: number | null;
  /** When a round last succeeded. */
  readonly lastApplied: number | null;
  readonly lastRound: RoundSummary | null;
  readonly lastError: string | null;
  readonly retryInMs: number;
  /** Objects that were seen to differ from the bundle since the last round began. */
  readonly drift: readonly string[];
  /** Objects that drifted again after each of the last rounds, and how often in a row; absent: none. */
  readonly contested?: Readonly<Record<string, number>>;
  /** Objects that the round under way has still to apply; null or absent: it has told nothing yet. */
  readonly toGo?: number | null;
  /** The last rounds that changed something, under any leader; the latest last. */
  readonly changes: readonly ChangingRound[];
}

export interface ChangingRound extends RoundChanges {
  /** When it ended, milliseconds since the epoch. */
  readonly at: number;
  /** Of the bundle. */
  readonly release: string;
  readonly leader: string;
}

export type ReleaseInput = ReleaseEvent & Stamp;
export interface Args {
  readonly context: ReleaseContext;
  readonly event: ReleaseInput;
}

/** Names of drifted objects to keep, for people. */
const driftMax = 5;
/** The first round's errors are reported after this time (docs/features/releases.md §4.1) … */
const quietMs = 2_000;
/** … and then at most this often. */
const reportEveryMs = 10_000;

export function emptyContext(name: string): ReleaseContext {
  return {
    name,
    fence: 0,
    leader: '',
    bundle: { name, release: '0.0.0', minServing: '0.0.0', minReconciler: '0.0.0', kinds: [], objects: 0 },
    seen: { sequence: 0, status: null, unreadable: null },
    nodes: [],
    epoch: 0,
    triedEpoch: 0,
    waitingFor: [],
    round: 0,
    failures: 0,
    begunAt: null,
    reportedAt: null,
    roundEndedAt: null,
    lastApplied: null,
    lastRound: null,
    lastError: null,
    retryInMs: 0,
    drift: [],
    changes: [],
  };
}

/** The kept result of a finished round. */
export function withRound(
  { changes, bundle, leader }: ReleaseContext,
  event: ReleaseInput,
): Partial<Pick<ReleaseContext, 'lastRound' | 'changes'>> {
  if (event.type !== 'round.finished') return {};
  const { changes: latest, ...lastRound } = event.summary;
  if (latest === undefined) return { lastRound };
  const round = { at: event.at, release: bundle.release, leader, ...latest };
  return { lastRound, changes: [...changes, round].slice(-limits.releaseChangesKept) };
}

/** A roster never goes back: our own writes may be known before it shows them. */
export function withRoster(
  { seen, epoch, nodes }: ReleaseContext,
  roster: ReleaseRoster,
): Pick<ReleaseContext, 'seen' | 'nodes' | 'epoch'> {
  return {
    seen: roster.seen.sequence >= seen.sequence ? roster.seen : seen,
    ...(roster.epoch >= epoch ? { nodes: roster.nodes, epoch: roster.epoch } : { nodes, epoch }),
  };
}

export const isOfThisReign = ({ context, event }: Args): boolean =>
  'fence' in event && event.fence === context.fence;

export const isOfThisRound = (args: Args): boolean =>
  isOfThisReign(args) && 'round' in args.event && args.event.round === args.context.round;

export function isReportDue({ context, event }: Args): boolean {
  const { begunAt, reportedAt } = context;
  if (begunAt === null || !hasPassed(quietMs, begunAt, event.at)) return false;
  return reportedAt === null || hasPassed(reportEveryMs, reportedAt, event.at);
}

/** 100 ms × 1.5 for each failure, ± 50 %, at most 60 s: docs/features/releases.md §4.1. */
export function retryDelay(failures: number, random: number): number {
  const middle = Math.min(100 * 1.5 ** Math.min(failures, 40), 60_000);
  return Math.round(Math.min(middle * (0.5 + random), 60_000));
}

/** Whether the status still has to be written after a successful round. */
export function mustMarkDone({ seen, bundle }: ReleaseContext): boolean {
  const { status } = seen;
  if (status === null || rowOf(status, bundle) !== 'done') return true;
  return unionOfKinds(status.kinds, bundle.kinds).length !== bundle.kinds.length;
}

export function errorOf(event: ReleaseInput): string {
  switch (event.type) {
    case 'round.finished': {
      const { failed, errors } = event.summary;
      const more = failed > errors.length ? ` and ${failed - errors.length} more` : '';
      return `${failed} ${failed === 1 ? 'object' : 'objects'} failed: ${errors.join('; ')}${more}`;
    }
    case 'round.failed':
    case 'status.unknown':
      return event.message;
    default:
      return 'timed out';
  }
}

export const withDrift = (drift: readonly string[], object: string): readonly string[] =>
  drift.includes(object) || drift.length >= driftMax ? drift : [...drift, object];

/** From so many rounds in a row on, something else keeps writing an object, and rounds for it get rarer. */
export const contestedMin = 10;
/** Between two rounds because of drift, ms; objects are compared at the longest one regardless of drift. */
const [driftPauseMinMs, driftPauseMaxMs] = [1_000, 30_000];

/** How often in a row the one of these objects drifted that did so most. */
export const timesContested = ({ contested = {} }: ReleaseContext, objects: readonly string[]): number =>
  Math.max(0, ...objects.map((object) => contested[object] ?? 0));

/** How long after a round the next one for these objects begins. */
export const driftPauseMs = (context: ReleaseContext, objects: readonly string[]): number =>
  backOffMs(timesContested(context, objects) - contestedMin, driftPauseMinMs, driftPauseMaxMs);

/** When a round begins. */
export const contestedNow = ({ drift, contested = {} }: ReleaseContext) => ({
  contested: Object.fromEntries(drift.map((object) => [object, (contested[object] ?? 0) + 1])),
});

export function round({
  name,
  bundle,
  fence,
  round: number,
  seen,
}: ReleaseContext): Omit<ReleaseRound, 'type'> {
  return { bundle: name, release: bundle.release, fence, round: number, kinds: seen.status?.kinds ?? [] };
}

export function writing(
  { name, fence }: ReleaseContext,
  status: ReleaseStatusWrite['status'],
  epoch: number | null,
): Omit<ReleaseStatusWrite, 'type'> {
  return { bundle: name, fence, epoch, status };
}

export const hindrances = ({ nodes, bundle }: ReleaseContext): readonly string[] =>
  hinderingNodes(nodes, bundle);
