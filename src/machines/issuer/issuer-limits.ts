/**
 * The limits of an authority, by their scope: docs/features/certificates.md §7.3, §7.4. Pure.
 *
 * A limit of unknown scope applies to its host. Only when a second host hits such a limit while the first
 * still applies, it applies to everybody. A limit that is hit again doubles, up to a day; a certificate
 * clears it.
 */

import type { PermitReturned } from '../domain/domain-events.ts';
import type { IssuerFacts } from '../domain/domain-facts.ts';
import { bounded } from '../domain/domain-schedule.ts';
import {
  fullBuckets,
  hostOf,
  type IssuerContext,
  type IssuerInput,
  type Limit,
  type Waiting,
} from './issuer-context.ts';

const hostKey = ({ domain }: Pick<Waiting, 'domain'>) => `h/${hostOf(domain)}`;
const domainKey = ({ registered }: Pick<Waiting, 'registered'>) => `d/${registered}`;

/** How long a limit is remembered after its end, ms: hit again within this time, it has grown. */
const rememberedMs = 24 * 3_600_000;
/** Number of limits remembered; those that end first are dropped. */
const limitsMax = 1_000;

/** Whether the limit that a domain hit applies to everybody. */
export function isForEverybody({ limits }: IssuerContext, event: PermitReturned, at: number): boolean {
  if (event.scope === 'account') return true;
  if (event.scope === 'host' || event.scope === 'domain') return false;
  const own = hostKey(event);
  return Object.entries(limits).some(([key, { until, isVague }]) => isVague && key !== own && until > at);
}

/** The limit that a domain hit, if it does not apply to everybody. */
export function limitMet(context: IssuerContext, event: PermitReturned, at: number): Partial<IssuerContext> {
  const key = event.scope === 'domain' ? domainKey(event) : hostKey(event);
  const times = (context.limits[key]?.times ?? 0) + 1;
  const isVague = event.scope !== 'domain' && event.scope !== 'host';
  const limit = { until: at + grownMs(event.waitMs, times), times, isVague };
  return { limits: pruned({ ...context.limits, [key]: limit }, at) };
}

/** @param times counted from 1 */
export function grownMs(waitMs: number, times: number): number {
  return bounded(waitMs * 2 ** Math.min(Math.max(0, times - 1), 20));
}

/**
 * A certificate shows that its host, its domain and its account are not limited, and that what failed for
 * others is no outage.
 */
export function limitsAfter(
  context: IssuerContext,
  event: PermitReturned,
  at: number,
): IssuerContext['limits'] {
  const { limits } = context;
  if (event.outcome === 'down')
    return pruned({ ...limits, [hostKey(event)]: failedFor(context, event, at) }, at);
  if (event.outcome === 'unusable')
    return pruned({ ...limits, [hostKey(event)]: unusableFor(context, event, at) }, at);
  if (event.outcome !== 'issued' || Object.keys(limits).length === 0) return limits;
  const { [hostKey(event)]: _host, [domainKey(event)]: _domain, ...others } = limits;
  return Object.fromEntries(Object.entries(others).map(([key, one]) => [key, blamed(one)]));
}

const blamed = (one: Limit): Limit => ({
  ...one,
  ...(one.outage === undefined ? {} : { outage: { ...one.outage, is: 'own' } }),
  ...(one.refused === undefined ? {} : { refused: 'own' }),
});

/** The authority failed for this host: alone, it waits a minute, doubling to an hour. */
function failedFor({ limits }: IssuerContext, event: PermitReturned, at: number): Limit {
  const before = limits[hostKey(event)];
  const is = before?.outage?.is ?? 'shared';
  const times = is === 'own' ? (before?.times ?? 0) + 1 : 0;
  const until = is === 'own' ? at + alonePauseMs(times) : at;
  const message = (event.message ?? 'the authority did not answer').slice(0, 200);
  return { until: Math.max(until, before?.until ?? 0), times, isVague: false, outage: { is, message } };
}

/** A host that alone has trouble waits a minute, doubling to an hour. @param times counted from 1 */
const alonePauseMs = (times: number) => Math.min(grownMs(60_000, times), 3_600_000);

/**
 * Once it may be the Issuer, which is checked; again, and passed by the check, it is where the host is. An
 * order that the authority refuses is asked for less and less often, down to once a day.
 */
function unusableFor({ limits }: IssuerContext, event: PermitReturned, at: number): Limit {
  const before = limits[hostKey(event)];
  const times = before?.unusable === undefined ? 0 : before.times + 1;
  const isRefused = event.refusedSpec !== undefined;
  const pauseMs = isRefused ? grownMs(60_000, times) : alonePauseMs(times);
  const until = Math.max(times === 0 ? at : at + pauseMs, before?.until ?? 0);
  const unusable = (event.message ?? 'it cannot be used').slice(0, 300);
  const refused = isRefused ? { refused: before?.refused ?? ('shared' as const) } : {};
  return { until, times, isVague: false, unusable, ...refused };
}

/**
 * Whether the authority refuses this specification, to everybody as far as is known: no check would find that
 * (docs/features/certificates.md §7.6). What it refused was perhaps a former one.
 */
export const isSpecRefused = ({ facts, limits }: IssuerContext, event: PermitReturned): boolean =>
  event.outcome === 'unusable' &&
  event.refusedSpec === `${facts?.uid}/${facts?.generation}` &&
  limits[hostKey(event)]?.refused !== 'own';

/** Whether the authority refuses it to this host, and not to others. */
export const isRefusedAlone = ({ limits }: IssuerContext, event: PermitReturned): boolean =>
  event.refusedSpec !== undefined && limits[hostKey(event)]?.refused === 'own';

/** A check this young is not repeated because a host says once more that the Issuer is unusable, ms. */
const freshMs = 300_000;

/** Whether a host finds the Issuer unusable that a check has just passed. */
export const isUnusableForItAlone = (
  { limits, checkedAt }: IssuerContext,
  one: Pick<Waiting, 'domain'>,
  at: number,
) => limits[hostKey(one)]?.unusable !== undefined && checkedAt !== undefined && at - checkedAt < freshMs;

/** Once the check itself failed, or a person asks for one, hosts begin anew. */
export const withoutUnusable = ({ limits }: IssuerContext): Pick<IssuerContext, 'limits'> => ({
  limits: Object.fromEntries(Object.entries(limits).filter(([, { unusable }]) => unusable === undefined)),
});

/** Hosts that wait because they found it unusable, with the reason. */
export const unusableOnes = ({ limits }: IssuerContext, at: number) =>
  Object.entries(limits).flatMap(([key, { until, unusable }]) =>
    unusable === undefined || until <= at ? [] : [{ host: key.slice('h/'.length), why: unusable }],
  );

/** The authority fails for this host and not for others: docs/features/certificates.md §7.4. */
export const isItsOwnTrouble = ({ limits }: IssuerContext, one: Pick<Waiting, 'domain'>) =>
  limits[hostKey(one)]?.outage?.is === 'own';

/** Whoever had no answer, or could not use the Issuer, does not try first for everybody. */
export const isDoubtful = ({ limits }: IssuerContext, one: Pick<Waiting, 'domain'>) => {
  const { outage, unusable } = limits[hostKey(one)] ?? {};
  return outage !== undefined || unusable !== undefined;
};

/**
 * An edited Issuer is tried again immediately (§7.5), as it is after a limit on everybody. Another authority
 * knows nothing of the orders at the last one, so budgets start again there (§5.6).
 */
export function limitsAfterEdit({ facts }: IssuerContext, event: IssuerInput): Partial<IssuerContext> {
  if (event.type !== 'issuer.observed') return {};
  const isAnother = facts?.server !== undefined && facts.server !== factsAfter(facts, event.facts)?.server;
  return { limits: {}, ...(isAnother ? { buckets: fullBuckets } : {}) };
}

/**
 * What is remembered of the facts: a specification that cannot be understood names no authority, so what was
 * spent stays spent at the last one.
 */
export function factsAfter(before: IssuerFacts | null, facts: IssuerFacts | null): IssuerFacts | null {
  if (facts === null || facts.invalid === null || before?.server === undefined) return facts;
  return { ...facts, server: before.server };
}

/** Until when a domain is limited, ms since the epoch; 0: not at all. */
export function limitedUntil({ limits }: IssuerContext, one: Pick<Waiting, 'domain' | 'registered'>): number {
  return Math.max(limits[hostKey(one)]?.until ?? 0, limits[domainKey(one)]?.until ?? 0);
}

/** What a limited domain waits for. @param message the authority's words, if they were for this domain */
export function limitOn(
  { limits }: IssuerContext,
  one: Pick<Waiting, 'domain' | 'registered'>,
  message: string | null,
): { readonly reason: 'rateLimited' | 'down' | 'notReady'; readonly message: string } {
  const ofHost = limits[hostKey(one)];
  const isOfHost = (ofHost?.until ?? 0) >= (limits[domainKey(one)]?.until ?? 0);
  if (isOfHost && ofHost?.outage) return { reason: 'down', message: ofHost.outage.message };
  if (isOfHost && ofHost?.unusable !== undefined)
    return { reason: 'notReady', message: ofHost.refused ? ofHost.unusable : aloneText(ofHost.unusable) };
  const scope = isOfHost ? hostOf(one.domain) : `${one.registered} and all hosts under it`;
  return { reason: 'rateLimited', message: message ?? `its limit for ${scope} has been reached` };
}

/** A clock is the most frequent difference between replicas; then a network, or a mount. */
const aloneText = (why: string) =>
  `${why.replace(/\.+$/, '')}, but its own check found it usable: compare the replicas, first their clocks`;

function pruned(limits: Readonly<Record<string, Limit>>, at: number): IssuerContext['limits'] {
  const kept = Object.entries(limits).filter(([, { until }]) => until + rememberedMs > at);
  return Object.fromEntries(kept.sort(([, a], [, b]) => b.until - a.until).slice(0, limitsMax));
}
