/**
 * Which step of an actor is meant, and which of two is the later one. Pure.
 *
 * A revision alone does not say it. An actor that ended, was forgotten and comes back counts from one again,
 * perhaps under the same fence; so does one whose record was lost, under another fence. At least an hour lies
 * between two lives that count the same way (`goneRecordSeconds`), so a revision and a time always do.
 */
import type { ActorId } from '../base/ids.ts';
import type { Transition } from '../base/views.ts';

/** How long the record of an ended actor is kept, so that its revisions continue if it returns; seconds. */
export const goneRecordSeconds = 3600;

/** The place of a step among the steps of its actor. */
export type StepPlace = Pick<Transition, 'fence' | 'rev' | 'at'>;

/**
 * Fences never go back. Revisions do, once an actor that ended is forgotten: then so much time lies between.
 */
export const isLater = (one: StepPlace, other: StepPlace) =>
  one.fence > other.fence ||
  (one.fence === other.fence && (one.rev > other.rev || one.at - other.at >= goneRecordSeconds * 1_000));

/** A text that no other step of the actor has. */
export const stepKey = ({ fence, rev, at }: StepPlace) => `${fence}/${rev}/${at}`;

/** The replicas' clocks differ: a step may seem earlier than the step that caused it. */
export const clocksDifferMs = 10_000;

/** What people and addresses call a step. */
export interface StepName {
  readonly id: ActorId;
  readonly rev: number;
  /**
   * When it was taken, or any time between then and the actor's next life, ms since the epoch; null: the last
   * step of that revision.
   */
  readonly by: number | null;
}

/**
 * The step taken at exactly that time, else the last one of its revision that was taken by then.
 *
 * @param steps oldest first
 * @returns its index; -1: it is not among them
 */
export function indexOfStep(
  steps: ReadonlyArray<Pick<Transition, 'id' | 'rev' | 'at'>>,
  { id, rev, by }: StepName,
): number {
  const isOne = (step: (typeof steps)[number]) => step.id === id && step.rev === rev;
  const exact = steps.findIndex((step) => isOne(step) && step.at === by);
  if (exact >= 0) return exact;
  const latest = by === null ? Number.POSITIVE_INFINITY : by + clocksDifferMs;
  return steps.findLastIndex((step) => isOne(step) && step.at <= latest);
}
