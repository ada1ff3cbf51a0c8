/** Migrations of the issuer chart's records. Pure. */
import type { Migration } from '../chart.ts';

/** The present parents of version 1's states. */
const parents: Readonly<Record<string, string>> = {
  ready: 'serving',
  trying: 'serving',
  rateLimited: 'suspended',
  down: 'suspended',
  probing: 'suspended',
};

/**
 * Version 1 had no nested states, the state's name in the context, one limit for everybody, and no
 * namespaces.
 */
const fromVersion1: Migration = ({ value, context }) => {
  const parent = typeof value === 'string' ? parents[value] : undefined;
  const { phase, granted, deferred, queue, ...kept } = context as Record<string, unknown>;
  const waiting = Array.isArray(queue) ? queue : [];
  return {
    value: parent === undefined ? value : { [parent]: value },
    context: {
      ...kept,
      queue: waiting.map((one: object) => ({ namespace: '', due: false, ...one })),
      limits: {},
      // After a limit a single domain tries; after an outage `probes` says so.
      limitTimes: value === 'rateLimited' || value === 'trying' ? 1 : 0,
    },
  };
};

export const issuerMigrations: Readonly<Record<number, Migration>> = { 1: fromVersion1 };
