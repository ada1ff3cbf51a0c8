/**
 * The limits of an authority, by their scope: docs/features/certificates.md §7.3, §7.4. Pure.
 *
 * A limit of unknown scope applies to its host. Only when a second host hits such a limit while the first
 * still applies, it applies to everybody. A limit that is hit again doubles, up to a day; a certificate
 * clears it.
 */

import type { PermitReturned } from '../domain/domain-events.ts';
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

/** A certificate shows that its host, its domain and its account are not limited. */
export function limitsAfter({ limits }: IssuerContext, event: PermitReturned): IssuerContext['limits'] {
  if (event.outcome !== 'issued') return limits;
  const { [hostKey(event)]: ofHost, [domainKey(event)]: ofDomain, ...others } = limits;
  return ofHost === undefined && ofDomain === undefined ? limits : others;
}

/**
 * An edited Issuer is tried again immediately (§7.5), as it is after a limit on everybody. Another authority
 * knows nothing of the orders at the last one, so budgets start again there (§5.6).
 */
export function limitsAfterEdit({ facts }: IssuerContext, event: IssuerInput): Partial<IssuerContext> {
  if (event.type !== 'issuer.observed') return {};
  const isAnother = facts?.server !== undefined && facts.server !== event.facts?.server;
  return { limits: {}, ...(isAnother ? { buckets: fullBuckets } : {}) };
}

/** Until when a domain is limited, ms since the epoch; 0: not at all. */
export function limitedUntil({ limits }: IssuerContext, one: Pick<Waiting, 'domain' | 'registered'>): number {
  return Math.max(limits[hostKey(one)]?.until ?? 0, limits[domainKey(one)]?.until ?? 0);
}

/** What a domain waits for, where the authority's own words went to another or are forgotten. */
export function limitWords({ limits }: IssuerContext, { domain, registered }: Waiting): string {
  const ofHost = limits[hostKey({ domain })]?.until ?? 0;
  const ofDomain = limits[domainKey({ registered })]?.until ?? 0;
  return `its limit for ${ofHost >= ofDomain ? hostOf(domain) : `${registered} and all hosts under it`} has been reached`;
}

function pruned(limits: Readonly<Record<string, Limit>>, at: number): IssuerContext['limits'] {
  const kept = Object.entries(limits).filter(([, { until }]) => until + rememberedMs > at);
  return Object.fromEntries(kept.sort(([, a], [, b]) => b.until - a.until).slice(0, limitsMax));
}
