/**
 * A domain's record: the form of its context there, and what becomes of the records of earlier versions. The
 * form has no initial values and none that follow from others: it makes up most of a hundred thousand hosts
 * at rest (docs/features/certificates.md §10.3). Pure.
 */
import { equal } from '../../base/equal.ts';
import type { ContextForm, Migration } from '../chart.ts';
import { type DomainContext, keyOf, newborn } from './domain-context.ts';
import {
  type DomainFacts,
  type DomainSource,
  secretNameOf,
  shownFingerprint,
  type Target,
} from './domain-facts.ts';

type Fields = Readonly<Record<string, unknown>>;

const beginning = newborn({ id: 'domain/_/_', namespace: '_', name: '' });

export const domainForm: ContextForm = {
  slim(context) {
    const { facts, ...rest } = context as DomainContext;
    const news = without(rest, beginning);
    return facts === null ? news : { ...news, facts: slimFacts(facts, rest) };
  },
  whole(slim) {
    const { facts, ...rest } = slim as Partial<DomainContext>;
    const context = { ...beginning, ...rest };
    return { ...context, facts: facts ? wholeFacts(facts, context) : null };
  },
};

type Beside = Pick<DomainContext, 'host' | 'certificate'>;

function slimFacts(facts: DomainFacts, beside: Beside): Fields {
  const known = { ...defaultsOf(facts.sources, beside), stored: storedAsKnown(facts.targets, beside) };
  return without(facts, known);
}

function wholeFacts(slim: Partial<DomainFacts>, beside: Beside): unknown {
  const facts = { ...defaultsOf(slim.sources ?? [], beside), ...slim };
  return { ...facts, stored: slim.stored ?? storedAsKnown(facts.targets, beside) };
}

/** The usual facts, by the objects that ask for the host. */
function defaultsOf(sources: readonly DomainSource[], { host }: Beside) {
  return {
    owner: sources[0]?.namespace ?? '',
    refused: [],
    targets: targetsOf(host, sources),
    taken: [],
    issuer: null,
    issuerMissing: '',
    registered: host.split('.').slice(-2).join('.'),
  };
}

/** Every Secret in the world contains the stored certificate. */
const storedAsKnown = (targets: readonly Target[], { certificate }: Beside) =>
  targets.map(() => (certificate ? shownFingerprint(certificate.fingerprint) : null));

function targetsOf(host: string, sources: readonly DomainSource[]): readonly Target[] {
  const all = sources.map(({ namespace, secretName = secretNameOf(host) }) => ({ namespace, secretName }));
  return [...new Map(all.map((target) => [keyOf(target), target])).values()];
}

/** The fields that differ from those of `known`. */
function without(fields: object, known: object): Fields {
  const before = known as Fields;
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !equal(value, before[name]) || !(name in before)),
  );
}

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
