/**
 * The form of a domain's context in its record: without initial values and without values that follow from
 * others. This makes up most of a hundred thousand hosts at rest (docs/features/certificates.md §10.3). Pure.
 */
import { equal } from '../../base/equal.ts';
import type { ContextForm } from '../chart.ts';
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
