/**
 * A replica's HTTP answers before its first connection to NATS: alive, and why not ready; the same as during
 * a later outage of NATS.
 *
 * Serves only until the first connection; then the replica's own server takes the address over. Absent:
 * metrics and the API, which are answered with 503.
 */
import type { Clock } from '../../base/clock.ts';
import type { HostPort } from '../../base/config-values.ts';
import { healthAnswer } from '../../features/proxiers/health-body.ts';
import { type SmallAnswer, type SmallServer, startSmallHttp } from '../../features/proxiers/small-http.ts';
import type { TlsPair } from '../../inspector/http/tls-files.ts';
import { pipelineTimeoutMs } from './pipelines.ts';

/** @throws Error of the system if it cannot listen on the address */
export function answerWhileWaiting(listen: HostPort, clock: Clock, tls?: TlsPair): Promise<SmallServer> {
  return startSmallHttp({ listen, clock, tls, answer: (method, path) => answer(method, path, clock) });
}

const reason = 'NATS is not connected';
/** A replica without pipelines has no late ones. */
const nothing = { families: {}, nodeEligible: true, timeoutMs: pipelineTimeoutMs };

function answer(method: string, path: string, clock: Clock): SmallAnswer {
  if (method !== 'GET' && method !== 'HEAD')
    return json(405, {
      error: { code: 'METHOD_NOT_ALLOWED', message: 'only GET and HEAD are answered here' },
    });
  if (path === '/livez' || path === '/healthz')
    return healthAnswer(path === '/livez' ? 'livez' : 'healthz', nothing, clock.now());
  if (path === '/readyz') return json(503, { ready: false, reasons: [reason] });
  return json(503, { error: { code: 'BUS_UNREACHABLE', message: reason } });
}

function json(status: number, body: object): SmallAnswer {
  const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' };
  return { status, headers, body: JSON.stringify(body) };
}
