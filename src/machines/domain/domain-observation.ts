/** Interprets a domain's observation: which namespace owns the host, and what has changed. Pure. */

import { equal } from '../../base/equal.ts';
import { type Asker, type DomainContext, type DomainInput, keyOf } from './domain-context.ts';
import {
  type DomainFacts,
  type DomainIssuer,
  type DomainSource,
  type RivalFacts,
  refusedMax,
} from './domain-facts.ts';

/** What an observation changes, most important first. */
export type News = 'gone' | 'owner' | 'issuer' | 'wish' | 'asked' | 'tampered' | 'others' | 'other' | 'none';

/** Several guards ask the same about one event, so the last answer is cached. */
let last: { readonly told: Told; readonly news: News } | null = null;

export function newsIn({ context, event }: Told): News {
  if (last?.told.context !== context || last.told.event !== event)
    last = { told: { context, event }, news: sorted({ context, event }) };
  return last.news;
}

function sorted(told: Told): News {
  const facts = factsIn(told);
  const { context } = told;
  if (facts === undefined) return 'none';
  if (facts === null) return 'gone';
  if (isOwnerNews(context, facts)) return 'owner';
  if (isIssuerNews(context.facts, facts)) return 'issuer';
  if (isWish(context.facts, facts)) return 'wish';
  if (isAskedAnew(context.facts, facts)) return 'asked';
  if (isTampered(context, facts)) return 'tampered';
  if (isOthersNews(context.facts, facts)) return 'others';
  return equal(facts, context.facts) ? 'none' : 'other';
}

interface Told {
  readonly context: DomainContext;
  readonly event: DomainInput;
}

/**
 * The facts that apply. A namespace that has the host keeps it while it asks for it
 * (docs/features/certificates.md §2.1): an older object that asks later takes nothing away. null: no object
 * asks for it; undefined: the event is no observation.
 */
export function factsIn({ context, event }: Told): DomainFacts | null | undefined {
  if (event.type !== 'domain.observed') return undefined;
  const { facts, rivals = [] } = event;
  const owner = context.facts?.owner;
  if (facts === null || facts.owner === owner) return facts;
  const own = rivals.find((one) => one.owner === owner);
  return own === undefined ? facts : { ...own, refused: refusedBy(own, facts) };
}

/** Everybody who is told with the facts of the oldest object, but for those to whom the owner gives a key. */
function refusedBy({ sources }: RivalFacts, first: DomainFacts): readonly DomainSource[] {
  const admitted = new Set(sources.map(({ namespace }) => namespace));
  const all = [...first.sources, ...first.refused];
  return all.filter(({ namespace }) => !admitted.has(namespace)).slice(0, refusedMax);
}

const isOwnerNews = ({ facts: known }: DomainContext, next: DomainFacts) =>
  known !== null && known.owner !== '' && known.owner !== next.owner;

const isIssuerNews = (known: DomainFacts | null, next: DomainFacts) =>
  known?.issuer?.name !== next.issuer?.name || known?.issuer?.version !== next.issuer?.version;

/** The owner asks in another way, or elsewhere. Changes by others bring no attempt nearer. */
function isAskedAnew(known: DomainFacts | null, next: DomainFacts): boolean {
  const text = (facts: DomainFacts | null) =>
    JSON.stringify(
      [facts?.targets, facts?.taken, facts?.sources].map((all) =>
        all?.filter(({ namespace }) => namespace === facts?.owner),
      ),
    );
  return text(known) !== text(next);
}

/** A source names a Secret that none named before. */
export function hasNewTarget({ context, event }: Told): boolean {
  const known = new Set(context.facts?.targets.map(keyOf));
  return factsIn({ context, event })?.targets.some((target) => !known.has(keyOf(target))) ?? false;
}

/**
 * Only objects of other namespaces changed, and nothing stored: they are told, and nothing else follows
 * (docs/features/certificates.md §2.2), however often they change.
 */
function isOthersNews(known: DomainFacts | null, next: DomainFacts): boolean {
  const text = (facts: DomainFacts | null) => JSON.stringify([facts?.sources, facts?.refused]);
  return text(known) !== text(next);
}

/** Whether an observation holds a wish, whatever else it holds. */
export function hasWish(told: Told): boolean {
  const facts = factsIn(told);
  return facts != null && isWish(told.context.facts, facts);
}

/** An existing Domain of the owner has another value in the annotation `orrery.dev/renew`. */
function isWish(known: DomainFacts | null, next: DomainFacts): boolean {
  const before = new Map(known?.sources.map((source) => [source.uid, source]));
  const isNew = ({ uid, renew, namespace }: DomainSource) =>
    namespace === next.owner && renew !== undefined && before.has(uid) && before.get(uid)?.renew !== renew;
  return next.sources.some(isNew);
}

/**
 * A Secret no longer contains the good certificate, and that is new; or one that was somebody else's shows a
 * certificate, and so bears our label now.
 */
function isTampered({ facts: known, certificate, foreign }: DomainContext, next: DomainFacts) {
  const before = new Map((known?.targets ?? []).map((target, n) => [keyOf(target), known?.stored[n]]));
  const others = new Set(foreign.map(keyOf));
  return next.targets.some((target, n) => {
    const shown = next.stored[n] ?? null;
    if (shown === before.get(keyOf(target))) return false;
    if (others.has(keyOf(target))) return shown !== null;
    return shown === null || !certificate?.fingerprint.startsWith(shown);
  });
}

/** Whether an Issuer is the one of that version, edited: not another, and not one that was made anew. */
export const isEdited = (before: Asker, { name, version }: DomainIssuer) =>
  before.issuer === name && before.version !== version && uidIn(before.version) === uidIn(version);
const uidIn = (version: string) => version.slice(0, version.lastIndexOf('/'));
