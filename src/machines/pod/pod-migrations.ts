/** Migrations of the pod chart's records. */
import type { Migration, StoredState } from '../chart.ts';
import type { PodFacts } from './pod-facts.ts';

type Before = { readonly facts: PodFacts | null; readonly lostRoute: string | null };

/**
 * Version 2 tells people why a Pod is held back, and separates what was verified from what could not be.
 * Version 1 did not record whether a proof was a verdict; its proofs stand as they are.
 */
function withOwnWords({ value, context }: StoredState): StoredState {
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

/** States that had no children. Their reason is written when they are next entered. */
const parents: Readonly<Record<string, object>> = {
  waitingForAddress: { waitingForAddress: 'told' },
  invalid: { invalid: 'told' },
};

const ofGatedPods: readonly string[] = [
  'notApplicable',
  'groupMissing',
  'waitingForAddress',
  'invalid',
  'proving',
  'marking',
  'ready',
  'lost',
];
const retries: readonly unknown[] = ['backingOff', 'waitingForNews'];

/**
 * Version 3 puts one parent state around all that a gated Pod does, and one around the two states in which
 * its patch is repeated. Deadlines kept their names.
 */
const underParents: Migration = ({ value, context }) => {
  const [[name, child] = []] = typeof value === 'string' ? [[value]] : Object.entries(value ?? {});
  if (name === undefined || !ofGatedPods.includes(name)) return { value, context };
  const isRetry = name === 'marking' && retries.includes(child);
  return { value: { gated: isRetry ? { marking: { retrying: child } } : value }, context };
};

export const podMigrations: Readonly<Record<number, Migration>> = { 1: withOwnWords, 2: underParents };
