/** Migrations of the election chart's records. Pure. */
import type { Chart } from '../chart.ts';
import type { ElectionContext } from './election-context.ts';

export const electionMigrations: NonNullable<Chart['migrations']> = {
  // The condition's time was not kept, and no candidate had a subject of its own.
  1: ({ value, context }) => ({
    value,
    context: { ...(context as ElectionContext), bound: [], validSince: null, follows: 0 },
  }),
  // A replica of that release would not know that the saved context may be older than what a leader was told.
  2: (stored) => stored,
  // The number of terms per day was not kept.
  3: ({ value, context }) => ({ value, context: { ...(context as ElectionContext), today: null } }),
  // How long a former leader may act was not kept: the Lease was given back at once.
  4: ({ value, context }) => {
    const { former } = context as ElectionContext;
    return {
      value,
      context: { ...(context as ElectionContext), former: former && { ...former, toldUntil: null } },
    };
  },
};
