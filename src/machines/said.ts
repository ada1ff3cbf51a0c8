/**
 * Statuses that somebody else wrote: the world tells the actor of an object what its status says, in short,
 * and the actor compares that with what it wrote. A former owner's request may be served late, and anybody
 * may write. Pure.
 */

/** What the status of an object says at present; null: it says nothing. */
export type StatusSaid = { readonly uid: string; readonly said: string } | null;

/**
 * Whether the actor's own object says something else than each of these. What was just replaced may be seen
 * once more, and is then taken for somebody else's.
 *
 * @param known what was written, or is being written; null: nothing was
 */
export const isSaidByOther = (
  seen: StatusSaid,
  uid: string | null | undefined,
  known: ReadonlyArray<string | null>,
): boolean => seen !== null && seen.uid === uid && !known.includes(seen.said);
