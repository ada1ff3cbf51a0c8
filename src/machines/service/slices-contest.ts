/**
 * Edits of our EndpointSlices by others: how often in a row, how long each waits to be reverted, and what
 * people are told. Pure.
 *
 * One edit is reverted at once. Whoever goes on is reverted a little later each time: another controller that
 * answers each of our writes with its own must not keep the API server busy, and wrong endpoints must not
 * stay for long.
 */
import type { KubeEventWrite } from '../effects.ts';
import { hasPassed, leftOf } from '../stamp.ts';

export interface Contest {
  /** Edits in a row that were reverted. */
  readonly edits: number;
  /** When the first of them was noticed, and the last, ms since the epoch. */
  readonly since: number;
  readonly at: number;
  /** Who made the last one, as in `managedFields`; '': not known. */
  readonly by: string;
  /** When an Event last told of it, ms since the epoch; 0: not yet. */
  readonly toldAt: number;
}

/** Edits further apart are not in a row, ms. */
const lullMs = 60_000;
/** So many in a row are no accident. */
const contestedMin = 5;
const [pauseStepMs, pauseMaxMs] = [100, 5_000];
/** An Event at most this often, ms. */
const tellEveryMs = 600_000;

/** Another edit was noticed at this time. */
export function afterEdit(contest: Contest | null, at: number): Contest {
  const goesOn = contest !== null && !hasPassed(lullMs, contest.at, at);
  const before = goesOn ? contest : { edits: 0, since: at, by: '', toldAt: 0 };
  return { ...before, edits: before.edits + 1, at };
}

/** How long an edit noticed at this time waits to be reverted, ms. */
export function contestPause(contest: Contest | null, at: number): number {
  if (contest === null || contest.edits < contestedMin || hasPassed(lullMs, contest.at, at)) return 0;
  return leftOf(Math.min(contest.edits * pauseStepMs, pauseMaxMs), contest.at, at);
}

export const isToBeTold = (contest: Contest | null): boolean =>
  contest !== null &&
  contest.edits >= contestedMin &&
  (contest.toldAt === 0 || hasPassed(tellEveryMs, contest.toldAt, contest.at));

const byText = ({ by }: Contest) => (by === '' ? 'something else' : by);

export const contestText = (contest: Contest): string =>
  `${byText(contest)} keeps changing the EndpointSlices; ${contest.edits} edits in a row were reverted`;

export const contestNote = (contest: Contest): Pick<KubeEventWrite, 'eventType' | 'reason' | 'note'> => ({
  eventType: 'Warning',
  reason: 'EndpointSlicesContested',
  note: `${contestText(contest)}, the next ones more slowly, up to ${pauseMaxMs / 1_000} s each: look who that is (metadata.managedFields of the slices) and stop it. Endpoints of your own belong in slices without the label endpointslice.kubernetes.io/managed-by: orrery-endpoints.`,
});
