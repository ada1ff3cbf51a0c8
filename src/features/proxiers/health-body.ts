/**
 * The answers of kube-proxy's health server, byte for byte: status, headers and body, computed from what is
 * known of a proxier. Pure.
 *
 * The body is Go's JSON encoding of the reference's `ProxyHealth` (kubernetes/kubernetes,
 * pkg/proxy/healthcheck): the order of the fields, `nodeEligible` in /healthz only, no `status` before a
 * family was first updated, and times in RFC 3339 without trailing zeros in the nanoseconds.
 */
import type { IpFamily } from '../../base/address.ts';
import { kubeNanoTime } from '../../base/kube-time.ts';
import { type FamilyHealth, isLate } from '../../machines/proxier/health-family.ts';

export type HealthEndpoint = 'healthz' | 'livez';

/** The content of an answer; times in milliseconds since the epoch. */
export interface HealthReport {
  /**
   * By family (`IPv4`, `IPv6`; a replica's own: `shard/7`, `watch/pods`); written in the order of the names,
   * as in Go.
   */
  readonly families: Readonly<Record<string, FamilyHealth>>;
  readonly nodeEligible: boolean;
  readonly timeoutMs: number;
}

export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly headers: typeof healthHeaders;
  readonly body: string;
}

export const healthHeaders = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
} as const;

/**
 * The report of a proxier, from its owner or a local chart.
 *
 * @param proxier its state as text (`IPv4.synced,IPv6.starting,node.eligible`) and its context
 */
export function proxierReport(
  { state, context }: { readonly state: string; readonly context: unknown },
  timeoutMs: number,
): HealthReport {
  const { families = {} } = (context ?? {}) as { families?: Readonly<Record<IpFamily, FamilyHealth>> };
  return { families, nodeEligible: !state.split(',').some((part) => part.startsWith(ineligible)), timeoutMs };
}

const ineligible = 'node.ineligible';

/** Families that were updated at least once and have a change waiting for the timeout or longer. */
export function lateFamilies({ families, timeoutMs }: HealthReport, now: number): string[] {
  return Object.keys(families).filter((name) => isLate(families[name] as FamilyHealth, now, timeoutMs));
}

export function healthAnswer(endpoint: HealthEndpoint, report: HealthReport, now: number): HealthAnswer {
  const late = new Set(lateFamilies(report, now));
  const healthy = late.size === 0;
  const isGood = healthy && (endpoint === 'livez' || report.nodeEligible);
  const updated = Object.entries(report.families)
    .flatMap(([name, { lastUpdated }]) => (lastUpdated === null ? [] : [{ name, lastUpdated }]))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const latest = updated.reduce<number | null>(
    (most, { lastUpdated }) => (most === null || lastUpdated > most ? lastUpdated : most),
    null,
  );
  const status = updated.map(({ name, lastUpdated }) => [
    name,
    { lastUpdated: goTime(lastUpdated), healthy: !late.has(name) },
  ]);
  const body = {
    // A recent time while all is well: older load balancers look only at this.
    lastUpdated: goTime(isGood ? now : latest),
    currentTime: goTime(now),
    ...(endpoint === 'healthz' ? { nodeEligible: report.nodeEligible } : {}),
    healthy,
    ...(status.length === 0 ? {} : { status: Object.fromEntries(status) }),
  };
  return { status: isGood ? 200 : 503, headers: healthHeaders, body: JSON.stringify(body) };
}

/** A time in Go's format (RFC3339Nano, UTC); null is Go's zero time. */
export function goTime(ms: number | null): string {
  if (ms === null) return '0001-01-01T00:00:00Z';
  return kubeNanoTime(ms);
}

/** In the form of an HTTP server's answer. */
export function replyOf({ status, headers, body }: HealthAnswer) {
  return { status, contentType: headers['Content-Type'], headers, body };
}
