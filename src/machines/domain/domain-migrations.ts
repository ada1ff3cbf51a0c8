/** Migrations of the domain chart's records: docs/features/certificates.md, States. Pure. */
import type { Migration } from '../chart.ts';

/** The present parents of version 1's states. */
const parents: Readonly<Record<string, string>> = {
  waitingForPermit: 'queued',
  rateLimited: 'queued',
  issuerDown: 'queued',
  ordering: 'acquiring',
  authorizing: 'acquiring',
  finalizing: 'acquiring',
  storing: 'acquiring',
  backingOff: 'resting',
  failed: 'resting',
};

/** Version 1 had no nested states, the state's name in the context, and one namespace for all sources. */
const fromVersion1: Migration = ({ value, context }) => {
  const parent = typeof value === 'string' ? parents[value] : undefined;
  const { phase, isIssued, facts, deferral, ...kept } = context as Record<string, unknown>;
  const isHeld = value === 'backingOff' || value === 'failed';
  return {
    value: parent === undefined ? value : { [parent]: value },
    context: {
      ...kept,
      facts: withOwner(facts),
      // The next inspection finds out which certificate is ready.
      issued: null,
      copyAt: 0,
      hold: isHeld ? value : null,
      deferral: deferral ? { message: null, ...deferral } : null,
    },
  };
};

function withOwner(facts: unknown): unknown {
  if (typeof facts !== 'object' || facts === null) return null;
  const { sources } = facts as { readonly sources?: ReadonlyArray<{ readonly namespace: string }> };
  return { owner: sources?.[0]?.namespace ?? '', refused: [], taken: [], ...facts };
}

/** Version 2 did not note what was created for challenges. */
const fromVersion2: Migration = ({ value, context }) => ({
  value,
  context: { ...(context as Record<string, unknown>), showing: null, leftovers: [], sweeps: 0 },
});

/** Version 3 did not know whose Secret lacks the certificate. */
const fromVersion3: Migration = ({ value, context }) => ({
  value,
  context: { ...(context as Record<string, unknown>), lackingSince: 0 },
});

/**
 * Version 4 had no state for an Issuer that cannot be used; a domain that waits for one learns it when it
 * asks again.
 */
const fromVersion4: Migration = (record) => record;

/** Version 5 had no state for a certificate that expires in the queue: the same. */
const fromVersion5: Migration = (record) => record;

export const domainMigrations: Readonly<Record<number, Migration>> = {
  1: fromVersion1,
  2: fromVersion2,
  3: fromVersion3,
  4: fromVersion4,
  5: fromVersion5,
};
