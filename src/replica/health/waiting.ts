/**
 * A replica's HTTP answers before its first connection to NATS: alive, and why not ready; the same as during
 * a later outage of NATS.
 *
 * Serves only until the first connection; then the replica's own server takes the address over. Absent:
 * metrics and the API, which are answered with 503.
 */
import type { Clock } from '../../base/clock.ts';
import type { HostPort } from '../../base/config-values.ts';
import { type BusTrouble, lastingText, type Troubles } from '../../bus/troubles.ts';
import { healthAnswer } from '../../features/proxiers/health-body.ts';
import { type SmallAnswer, type SmallServer, startSmallHttp } from '../../features/proxiers/small-http.ts';
import type { TlsPair } from '../../inspector/http/tls-files.ts';
import { pipelineTimeoutMs } from './pipelines.ts';

export interface WaitingParts {
  readonly listen: HostPort;
  readonly clock: Clock;
  readonly tls?: TlsPair | undefined;
  /** Why it waits. */
  readonly troubles: Pick<Troubles, 'all'>;
}

/** @throws Error of the system if it cannot listen on the address */
export function answerWhileWaiting(parts: WaitingParts): Promise<SmallServer> {
  return startSmallHttp({ ...parts, answer: (method, path) => answer(method, path, parts) });
}

/** A replica without pipelines has no late ones. */
const nothing = { families: {}, nodeEligible: true, timeoutMs: pipelineTimeoutMs };

function answer(method: string, path: string, { clock, troubles }: WaitingParts): SmallAnswer {
  if (method !== 'GET' && method !== 'HEAD')
    return json(405, {
      error: { code: 'METHOD_NOT_ALLOWED', message: 'only GET and HEAD are answered here' },
    });
  if (path === '/livez' || path === '/healthz')
    return healthAnswer(path === '/livez' ? 'livez' : 'healthz', nothing, clock.now());
  const reasons = reasonsOf(troubles.all(), clock.monotonic());
  if (path === '/readyz') return json(503, { ready: false, reasons });
  return json(503, { error: { code: 'BUS_UNREACHABLE', message: reasons.join('; ') } });
}

/** With a connection, something else is in the way. */
function reasonsOf(troubles: readonly BusTrouble[], now: number): readonly string[] {
  const texts = troubles.map((one) => lastingText(one, now));
  const isConnected = troubles.length > 0 && troubles.every(({ what }) => what !== 'connection');
  return isConnected ? texts : ['NATS is not connected', ...texts];
}

function json(status: number, body: object): SmallAnswer {
  const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' };
  return { status, headers, body: JSON.stringify(body) };
}
