/** Records of earlier versions of the issuer chart. Pure. */
import type { Migration } from '../chart.ts';

/** Where the states of version 1 stand now. */
const parents: Readonly<Record<string, string>> = {
  ready: 'serving',
  trying: 'serving',
  rateLimited: 'suspended',
  down: 'suspended',
  probing: 'suspended',
};

/**
 * Version 1 had the states side by side, their name in the context, one limit for everybody, and knew no
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
      // After a limit one domain tries; after an outage `probes` says so.
      limitTimes: value === 'rateLimited' || value === 'trying' ? 1 : 0,
    },
  };
};

export const issuerMigrations: Readonly<Record<number, Migration>> = { 1: fromVersion1 };
