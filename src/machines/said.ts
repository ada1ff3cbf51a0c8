/**
 * Statuses that somebody else wrote: the world tells the actor of an object what its status says, in short,
 * and the actor compares that with what it wrote. A former owner's request may be served late, and anybody
 * may write. Pure.
 */
import { hasPassed } from './stamp.ts';

/** What a status says that is missing: it was removed, restored without it, or not written yet. */
export const saidNothing = '';

/** What the status of an object says at present; null: there is no object, or an earlier release read it. */
export type StatusSaid = {
  readonly uid: string;
  readonly said: string;
  /** When the object was created, ms since the epoch; only of a status that says nothing. */
  readonly createdAt?: number;
} | null;

/** A new object's first status is on its way for so long, ms. */
const newMs = 60_000;

/**
 * Whether the actor's own object says something else than each of these. What was just replaced may be seen
 * once more, and is then taken for somebody else's.
 *
 * @param known what was written, or is being written; null: nothing was
 * @param at when it was seen, ms since the epoch
 */
export function isSaidByOther(
  seen: StatusSaid,
  uid: string | null | undefined,
  known: ReadonlyArray<string | null>,
  at: number,
): boolean {
  if (seen === null || seen.uid !== uid || known.includes(seen.said)) return false;
  return seen.said !== saidNothing || hasPassed(newMs, seen.createdAt ?? 0, at);
}
