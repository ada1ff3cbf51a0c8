/**
 * The health of one node's service proxy as an object, without NATS and without Kubernetes: the chart of
 * machines/proxier/proxier.ts, driven by calls, with answers in the form of kube-proxy's health server.
 *
 * For programs that are the proxy, or run beside it: call `queued` when a change arrives and `updated` when
 * all are applied, and pass `handle` to an HTTP server. Promises: an answer never waits; the caller's times
 * count (it is trusted); setting the machine's clock makes no change late and keeps none from it; what cannot
 * be meant is an exception. Absent: the listening socket, and the source of Node objects.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LocalActor, startLocal } from '../../actors/host/local.ts';
import { machineClock } from '../../actors/time/machine-clock.ts';
import type { IpFamily } from '../../base/address.ts';
import type { Clock } from '../../base/clock.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { proxierChart } from '../../machines/proxier/proxier.ts';
import { defaultTimeoutMs, type ProxierContext } from '../../machines/proxier/proxier-context.ts';
import type { ProxierEvent, ProxierFacts, ProxierReport } from '../../machines/proxier/proxier-events.ts';
import { createExcuses } from './excuses.ts';
import {
  type HealthAnswer,
  type HealthEndpoint,
  healthAnswer,
  healthHeaders,
  lateFamilies,
  proxierReport,
} from './health-body.ts';
import { createReporter, type SendReport } from './proxier-reporter.ts';
import { createRealTimes, type RealTimes } from './real-times.ts';

export type { HealthAnswer, HealthEndpoint, IpFamily, ProxierReport, SendReport };

export interface ProxierHealthParts {
  /** How long a change may wait, milliseconds; default 60,000 (kube-proxy's). */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  /**
   * Reports the families' state elsewhere, such as to Orrery: called with each change, again until it
   * resolves, and anew each quarter of an hour.
   */
  readonly report?: SendReport;
}

/** The relevant part of a Kubernetes Node object. */
export interface NodeObject {
  readonly metadata?: { readonly deletionTimestamp?: unknown };
  readonly spec?: { readonly taints?: ReadonlyArray<{ readonly key: string }> | undefined };
}

export interface HealthResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ProxierHealth {
  /**
   * A change arrived that is not applied yet. @param at milliseconds since the epoch; default: now
   *
   * @throws TypeError for another family, or a time that is no number; so do `updated` and `reported`
   */
  queued(family: IpFamily, at?: number): void;
  /** Every change is applied. @param at milliseconds since the epoch; default: now */
  updated(family: IpFamily, at?: number): void;
  /**
   * The state of a family as another source reports it; a sequence that is not greater than the last changes
   * nothing.
   */
  reported(
    report: Omit<ProxierReport, 'type'>,
    received?: { readonly at?: number; readonly isTimed?: boolean },
  ): void;
  /**
   * From now on nothing can be heard: a change that waits, and is not late yet, does not become late for that
   * reason alone. Ended by `back`.
   */
  away(): void;
  /** Everything sent meanwhile is known; what still waits is timed from now on. */
  back(): void;
  /** The present Node; null: it was deleted. Before the first call the node counts as eligible. */
  syncNode(node: NodeObject | null): void;
  /** The same for a caller that has evaluated the Node already. */
  nodeIs(node: Exclude<ProxierFacts['node'], 'unknown'>): void;
  /** Whether the node may get traffic, by its Node; true while nothing is known of it. */
  nodeEligible(): boolean;
  /** Whether no family is late, regardless of the Node. */
  isHealthy(): boolean;
  /** The families' state, for comparison with another source. */
  families(): ProxierContext['families'];
  answer(endpoint: HealthEndpoint): HealthAnswer;
  /** The answer to a request. @param path without its query */
  respond(method: string, path: string): HealthResponse;
  /**
   * Listener of a node:http server: `/healthz` and `/livez` for GET and HEAD, 405 for other methods, 404
   * elsewhere.
   */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The numbers of answers so far, by endpoint and code. */
  counts(): ReadonlyArray<{
    readonly endpoint: HealthEndpoint;
    readonly code: number;
    readonly count: number;
  }>;
  /** Stops its deadline timers, which would keep the process alive. */
  stop(): void;
}

/** The cluster autoscaler's mark on a Node that it is about to delete. */
const deletionTaint = 'ToBeDeletedByClusterAutoscaler';

export function createProxierHealth(parts: ProxierHealthParts = {}): ProxierHealth {
  const { timeoutMs = defaultTimeoutMs, clock = machineClock, random = systemRandom } = parts;
  checkTimeout(timeoutMs);
  const times = createRealTimes(clock);
  const counts = createCounts();
  const begin = (): LocalActor =>
    startLocal({
      chart: proxierChart,
      input: { id: 'proxier/_/local', namespace: '_', name: 'local', timeoutMs },
      runEffect: () => Promise.reject(new Error('the chart asks for no effects')),
      clock,
      random,
    });
  const chart = createLasting(begin, timeoutMs);
  const { families } = chart;
  const tell = (event: ProxierEvent) => {
    chart.tell(event);
    reporter?.tell(times.shown(families()));
  };
  const excuses = createExcuses(times.clock, timeoutMs);
  const report = () => {
    const report = proxierReport(chart.standing(), timeoutMs);
    const nodeEligible = report.nodeEligible && !chart.isDeletedNode();
    return { ...report, nodeEligible, families: times.shown(excuses.applied(report.families)) };
  };
  const reporter = parts.report && createReporter({ send: parts.report, clock, random });
  const answer = (endpoint: HealthEndpoint) => {
    const given = healthAnswer(endpoint, report(), clock.now());
    counts.add(endpoint, given.status);
    return given;
  };
  const happening = (family: IpFamily, at: number) => happened(times, family, at);
  const nodeIs = (node: ProxierFacts['node']) =>
    tell({ type: 'proxier.observed', facts: { timeoutMs, node } });
  return {
    queued: (family, at = clock.now()) => tell({ type: 'proxier.queued', ...happening(family, at) }),
    updated: (family, at = clock.now()) => tell({ type: 'proxier.updated', ...happening(family, at) }),
    reported: (report, { at = clock.now(), isTimed = true } = {}) =>
      tell({ type: 'proxier.reported', ...level(times, report), ...happening(report.family, at), isTimed }),
    away: () => excuses.away(families()),
    back: () => excuses.back(),
    nodeEligible: () => report().nodeEligible,
    syncNode: (node) => nodeIs(judged(node)),
    nodeIs,
    isHealthy: () => lateFamilies(report(), clock.now()).length === 0,
    families: () => times.shown(families()),
    answer,
    respond: (method, path) => respond(method, path, answer),
    handle: ({ method = '', url = '/' }, response) =>
      write(response, respond(method, url.split('?', 1)[0] ?? '', answer)),
    counts: counts.all,
    stop() {
      reporter?.stop();
      chart.stop();
    },
  };
}

/**
 * A chart that heard nothing for long ends, as the proxier of a node that is gone should. Here it stands for
 * the one node that there is: what it knew stays, and the next event begins a new chart with that.
 */
function createLasting(begin: () => LocalActor, timeoutMs: number) {
  let actor = begin();
  /** As last told, once the Node was seen; before, one that is absent may only not be there yet. */
  let node: ProxierFacts['node'] = 'unknown';
  const families = () => (actor.snapshot().context as ProxierContext).families;
  const hasEnded = () => actor.snapshot().status !== 'active';
  const observed = (as: ProxierFacts['node']): ProxierEvent => ({
    type: 'proxier.observed',
    facts: { timeoutMs, node: as },
  });
  const beginAgain = () => {
    const seen = node === 'unknown' ? [] : [observed('eligible'), observed(node)];
    const known = [...eventsOf(families()), ...seen];
    actor = begin();
    for (const one of known) actor.send({ ...one });
  };
  return {
    families,
    standing: () => ({ state: actor.state(), context: actor.snapshot().context }),
    isDeletedNode: () => hasEnded() && node === 'absent',
    tell(event: ProxierEvent): void {
      if (hasEnded()) beginAgain();
      const now = event.type === 'proxier.observed' ? event.facts.node : node;
      if (node !== 'unknown' || now !== 'absent') node = now;
      actor.send({ ...event });
    },
    stop: () => actor.stop(),
  };
}

/** What leads a new chart to this knowledge. */
const eventsOf = (families: ProxierContext['families']): readonly ProxierEvent[] =>
  (['IPv4', 'IPv6'] as const).flatMap((family) => {
    const { lastUpdated, pendingSince } = families[family];
    const event = (type: 'proxier.updated' | 'proxier.queued', at: number | null) =>
      at === null ? [] : [{ type, family, happenedAt: at }];
    return [...event('proxier.updated', lastUpdated), ...event('proxier.queued', pendingSince)];
  });

/** The numbers of answers, by endpoint and code. */
function createCounts() {
  const counts = new Map<string, { endpoint: HealthEndpoint; code: number; count: number }>();
  return {
    add(endpoint: HealthEndpoint, code: number): void {
      const key = `${endpoint} ${code}`;
      const known = counts.get(key);
      if (known) known.count++;
      else counts.set(key, { endpoint, code, count: 1 });
    },
    all: () => [...counts.values()],
  };
}

function checkTimeout(ms: number): void {
  if (!(Number.isFinite(ms) && ms > 0))
    throw new RangeError(`timeoutMs is ${ms}: it must be a number of milliseconds above 0`);
}

/** A word that no chart knows would be ignored, and the node would count as healthy for ever. */
function happened(times: RealTimes, family: IpFamily, at: number) {
  if (family !== 'IPv4' && family !== 'IPv6')
    throw new TypeError(`the family is ${JSON.stringify(family)}: it must be "IPv4" or "IPv6"`);
  if (!Number.isFinite(at))
    throw new TypeError(`the time is ${String(at)}: it must be milliseconds since the epoch`);
  return { family, happenedAt: times.of(at) };
}

const level = (times: RealTimes, { family, queuedAt, updatedAt, seq }: Omit<ProxierReport, 'type'>) => ({
  queuedAt: times.repeated(`${family} queued`, queuedAt),
  updatedAt: times.repeated(`${family} updated`, updatedAt),
  seq,
});

function judged(node: NodeObject | null): ProxierFacts['node'] {
  if (node === null) return 'absent';
  const isMarked = node.spec?.taints?.some(({ key }) => key === deletionTaint) ?? false;
  return node.metadata?.deletionTimestamp || isMarked ? 'ineligible' : 'eligible';
}

/** The answer to a request, independent of the server. */
function respond(
  method: string,
  path: string,
  answer: (endpoint: HealthEndpoint) => HealthAnswer,
): HealthResponse {
  if (path !== '/healthz' && path !== '/livez') return refusal(404, 'NOT_FOUND', 'only /healthz and /livez');
  if (method !== 'GET' && method !== 'HEAD') {
    const refused = refusal(405, 'METHOD_NOT_ALLOWED', 'only GET and HEAD are answered here');
    return { ...refused, headers: { ...refused.headers, Allow: 'GET, HEAD' } };
  }
  return answer(path === '/healthz' ? 'healthz' : 'livez');
}

function refusal(status: number, code: string, message: string): HealthResponse {
  return { status, headers: healthHeaders, body: JSON.stringify({ error: { code, message } }) };
}

function write(response: ServerResponse, { status, headers, body }: HealthResponse): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  // For HEAD the server sends the headers only.
  response.end(body);
}
