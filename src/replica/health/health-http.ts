/**
 * Health and readiness on a port of their own (`--health-http`), so that a client who holds the other port's
 * connections open cannot make a replica look dead. The same answers are on `--http`.
 */
import type { HttpReply } from '../../actors/feature.ts';
import type { Clock } from '../../base/clock.ts';
import type { HostPort } from '../../base/config-values.ts';
import type { Readiness } from '../../base/views.ts';
import { type SmallAnswer, type SmallServer, startSmallHttp } from '../../features/proxiers/small-http.ts';

/** @throws Error of the system if it cannot listen on the address */
export function startHealthHttp(parts: {
  readonly listen: HostPort;
  readonly clock: Clock;
  readonly health: (endpoint: 'healthz' | 'livez') => HttpReply;
  readonly readiness: () => Readiness;
}): Promise<SmallServer> {
  const { listen, clock, health, readiness } = parts;
  const answers: Readonly<Record<string, () => SmallAnswer>> = {
    '/livez': () => small(health('livez')),
    '/healthz': () => small(health('healthz')),
    '/readyz': () => {
      const state = readiness();
      return json(state.ready ? 200 : 503, state);
    },
  };
  const answer = (method: string, path: string): SmallAnswer => {
    if (method !== 'GET' && method !== 'HEAD')
      return problem(405, 'METHOD_NOT_ALLOWED', 'only GET and HEAD are answered here');
    return answers[path]?.() ?? problem(404, 'NOT_FOUND', `there is nothing at ${path}`);
  };
  return startSmallHttp({ listen, clock, answer });
}

const small = ({ status, contentType, headers, body }: HttpReply): SmallAnswer => ({
  status,
  headers: { ...headers, 'Content-Type': contentType },
  body,
});

const problem = (status: number, code: string, message: string) => json(status, { error: { code, message } });

function json(status: number, body: object): SmallAnswer {
  const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' };
  return { status, headers, body: JSON.stringify(body) };
}
