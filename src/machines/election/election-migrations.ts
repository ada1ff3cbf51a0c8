/** From what earlier versions of the chart saved of an election to what this one reads. */
import type { Chart } from '../chart.ts';
import type { ElectionContext } from './election-context.ts';

export const electionMigrations: NonNullable<Chart['migrations']> = {
  // Since when the condition stands was not kept, and no candidate had a subject of its own.
  1: ({ value, context }) => ({
    value,
    context: { ...(context as ElectionContext), bound: [], validSince: null, follows: 0 },
  }),
  // A replica of then would not know that what is saved may be older than what a leader was told.
  2: (stored) => stored,
  // How many terms began on a day was not kept.
  3: ({ value, context }) => ({ value, context: { ...(context as ElectionContext), today: null } }),
  // Until when a leader that has ended was told to lead was not kept: the Lease was given back at once.
  4: ({ value, context }) => {
    const { former } = context as ElectionContext;
    return {
      value,
      context: { ...(context as ElectionContext), former: former && { ...former, toldUntil: null } },
    };
  },
};
