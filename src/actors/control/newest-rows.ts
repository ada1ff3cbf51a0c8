/** One row for each actor: a former owner that does not know it yet lists its actors as well. */
import type { ActorId } from '../../base/ids.ts';

/** @returns the row of the highest revision for each id, in the order in which the ids came first */
export function newestRows<R extends { readonly id: ActorId; readonly rev: number }>(
  rows: readonly R[],
): R[] {
  const newest = new Map<ActorId, R>();
  for (const row of rows) if (row.rev >= (newest.get(row.id)?.rev ?? 0)) newest.set(row.id, row);
  return [...newest.values()];
}
