/** What an election tells others: its status, the answers to its candidates, and Events for people. Pure. */

import { equal } from '../../base/equal.ts';
import { checksum } from '../checksum.ts';
import type { KubeEventWrite } from '../effects.ts';
import { isSaidByOther } from '../said.ts';
import { hasPassed, isToRestate } from '../stamp.ts';
import { deadlineOf, holderEnd, living } from './election-candidates.ts';
import { type ElectionContext, type ElectionInput, placeOf, timingOf } from './election-context.ts';
import type { ElectionStatus } from './election-effects.ts';
import { foreignEnd, isAnotherPreferred, isSpent } from './election-lease.ts';
import { transitionsMax } from './lease-record.ts';

/** Answer to `campaign`. */
export interface CampaignAnswer {
  readonly leading: boolean;
  /** null: nobody leads. */
  readonly holder: string | null;
  readonly term: number;
  /** How long the holder leads without further renewals; 0: nobody leads. */
  readonly expiresInMs: number;
}

/** Answer to `renew`. */
export type RenewAnswer =
  | { readonly leading: true; readonly term: number; readonly expiresInMs: number }
  | { readonly leading: false; readonly reason: string };

/** The leader at this time, as far as known; null: nobody. */
export function holderAt(context: ElectionContext, at: number): string | null {
  if (context.reign !== null) return at < reignEnd(context) ? context.reign.holder : null;
  const holder = context.seen?.record?.holder ?? '';
  const isOver = holder === '' || at >= foreignEnd(context) || isFormer(context);
  return isOver ? null : holder;
}

/** What a leader may rely on: its own time, and that of the Lease behind it. */
function reignEnd(context: ElectionContext): number {
  return Math.min(holderEnd(context) ?? Number.POSITIVE_INFINITY, deadlineOf(context));
}

function isFormer({ former, seen }: ElectionContext): boolean {
  const record = seen?.record;
  return former !== null && record?.holder === former.holder && record.transitions === former.transitions;
}

export function campaignAnswer(context: ElectionContext, candidate: string, at: number): CampaignAnswer {
  const holder = holderAt(context, at);
  const leading = context.reign !== null && holder === candidate;
  const end = context.reign === null ? foreignEnd(context) : reignEnd(context);
  const term = context.reign?.term ?? context.term;
  return { leading, holder, term, expiresInMs: holder === null ? 0 : Math.max(0, Math.floor(end - at)) };
}

export function renewAnswer(
  context: ElectionContext,
  { candidate, term }: { readonly candidate: string; readonly term: number },
  at: number,
): RenewAnswer {
  const answer = campaignAnswer(context, candidate, at);
  if (answer.leading && answer.term === term) return { leading: true, term, expiresInMs: answer.expiresInMs };
  return { leading: false, reason: whyNot(context, candidate, term, answer.holder) };
}

function whyNot(context: ElectionContext, candidate: string, term: number, holder: string | null): string {
  const { former, reign } = context;
  if (holder !== null && holder !== candidate) return `${holder} leads under term ${context.term}`;
  if (reign !== null && holder === candidate) return `the term is ${reign.term}, not ${term}`;
  if (former?.holder === candidate && former.term === term) return `term ${term} is over: ${former.reason}`;
  return `${candidate} does not lead under term ${term}`;
}

export function statusOf(context: ElectionContext, at: number): ElectionStatus {
  const { facts, seen, term } = context;
  const record = seen?.record ?? null;
  const told = stillTold(context, at);
  const holder = told ?? holderAt(context, at);
  return {
    holder,
    term,
    acquireTime: holder === null ? null : record?.acquireTime || null,
    renewTime: record?.renewTime || null,
    transitions: record?.transitions ?? 0,
    candidates: Object.keys(living(context, at)).sort(),
    observedGeneration: facts?.generation ?? 0,
    invalid: invalidText(whyNobody(context), told),
    ...reasonOf(context),
  };
}

/** Why nobody can lead, or nobody else; null: somebody can. */
export const whyNobody = (context: ElectionContext): string | null =>
  context.facts?.invalid ?? (isSpent(context) ? spentText(context) : null);

function reasonOf(context: ElectionContext): Pick<ElectionStatus, 'reason'> {
  const { reason, invalid } = context.facts ?? {};
  if (reason !== undefined) return { reason };
  return invalid === null && isSpent(context) ? { reason: 'TermsUsedUp' } : {};
}

/** The way on from there: docs/features/elections.md §4.5. */
export function spentText(context: ElectionContext): string {
  const { namespace, name } = placeOf(context);
  const lease = `Lease ${namespace}/${name}`;
  return `the ${lease} has counted ${transitionsMax} changes of leader, as many as the API takes: delete the ${lease} and the Election, and create it again; its terms then begin at 1`;
}

/** The preferred one may be gone, or not started: docs/features/elections.md §2.7. */
export function overdueText(context: ElectionContext): string {
  const { namespace, name } = placeOf(context);
  const preferred = context.seen?.record?.preferredHolder ?? '';
  return `it prefers ${preferred}, which has not taken it: start ${preferred}, or remove spec.preferredHolder from the Lease ${namespace}/${name}`;
}

/** Why the leader's Lease was not renewed by its deadline. */
export function unrenewedText(context: ElectionContext): string {
  const { lastError, reign, seen } = context;
  if (isAnotherPreferred(context, reign?.holder)) return `the Lease prefers ${seen?.record?.preferredHolder}`;
  return `the Lease could not be renewed in time${lastError === null ? '' : `: ${lastError}`}`;
}

/** A former leader that may still act because it was told that it leads (§5.3); null: none. */
const stillTold = ({ reign, former }: ElectionContext, at: number): string | null =>
  reign === null && former !== null && (former.toldUntil ?? 0) > at ? former.holder : null;

const invalidText = (invalid: string | null, told: string | null): string | null =>
  invalid === null || told === null
    ? invalid
    : `${invalid}; ${told} was told that it leads, and keeps leading until that time is over`;

export const leadsText = (holder: string, term: number): string => `${holder} leads under term ${term}`;

/** The Event about a new leader. */
export function leaderNote(
  { namespace, name, facts, reign, seen, term }: ElectionContext,
  event: ElectionInput,
): Omit<KubeEventWrite, 'type'> {
  const holder = reign?.holder ?? seen?.record?.holder ?? '';
  return {
    regarding: {
      apiVersion: 'orrery.dev/v1alpha1',
      kind: 'Election',
      namespace,
      name,
      uid: facts?.uid ?? '',
    },
    eventType: 'Normal',
    reason: 'LeaderChanged',
    note: leadsText(holder, reign?.term ?? term),
    at: event.at,
  };
}

/** What a status says, in short; without times, which change with each renewal. */
export type SaidStatus = Pick<
  ElectionStatus,
  'holder' | 'term' | 'transitions' | 'candidates' | 'observedGeneration'
> & { readonly isValid: boolean };

export const saidIn = ({ holder, term, transitions, candidates, observedGeneration, isValid }: SaidStatus) =>
  checksum(JSON.stringify([holder, term, transitions, candidates, observedGeneration, isValid]));

const saidOf = (status: ElectionStatus | null): string | null =>
  status === null ? null : saidIn({ ...status, isValid: status.invalid === null });

/** Whether the resource says what we did not write. */
export function isMistold({ facts, told, telling }: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'election.status.observed' || told === null) return false;
  return isSaidByOther(event.facts, facts?.uid, [saidOf(told), saidOf(telling)], event.at);
}

/** After a failed write, ms. */
export const refusedPauseMs = 5_000;

/**
 * Whether the resource's status is out of date. Renewals alone are written once in a lease, because each
 * write costs the API server.
 */
export function isStatusNews(context: ElectionContext, at: number): boolean {
  const { facts, told, toldAt, telling, unwritten } = context;
  if (facts === null || facts.uid === null || context.ending || telling !== null) return false;
  // Tried again by a deadline, not with each renewal.
  if (unwritten != null && !hasPassed(refusedPauseMs, unwritten.at, at)) return false;
  const status = statusOf(context, at);
  if (told === null || isToRestate(toldAt, at)) return true;
  if (!equal({ ...status, renewTime: '' }, { ...told, renewTime: '' })) return true;
  const renewed = Date.parse(status.renewTime ?? '') - Date.parse(told.renewTime ?? '');
  return status.renewTime !== told.renewTime && !(Math.abs(renewed) < timingOf(context).leaseMs);
}
