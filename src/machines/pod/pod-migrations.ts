/** What earlier versions of the pod chart kept, brought to the next version. */
import type { StoredState } from '../chart.ts';
import type { PodFacts } from './pod-facts.ts';

type Before = { readonly facts: PodFacts | null; readonly lostRoute: string | null };

/**
 * Version 2 tells people why a Pod is held back, and keeps what was not verified apart from what was. Whether
 * a proof of version 1 was a verdict is not known any more; it stands as it was told then.
 */
export function withOwnWords({ value, context }: StoredState): StoredState {
  const before = context as Before;
  return {
    value: typeof value === 'string' ? (parents[value] ?? value) : value,
    context: {
      ...before,
      facts: before.facts && {
        ...before.facts,
        gate: { ...before.facts.gate, whenUnverifiable: 'pass' },
        unaskable: {},
      },
      unverified: {},
      answers: {},
      askedAt: 0,
      waitsSince: 0,
      told: null,
      awaitsFalse: before.lostRoute !== null && before.facts?.condition === 'True',
    },
  };
}

/** States that had no children. What they wait for is told when they are entered next. */
const parents: Readonly<Record<string, object>> = {
  waitingForAddress: { waitingForAddress: 'told' },
  invalid: { invalid: 'told' },
};
