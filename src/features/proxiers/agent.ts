/**
 * A node agent: answers `/healthz` and `/livez` for the service proxy of one node from a chart of its own,
 * also while NATS is away.
 *
 * Promises: it listens before it connects; it never ends because NATS does not answer. Absent: Kubernetes
 * (the Node comes from the world stream), and anything heavy, because it runs on every node.
 */

import type { FeatureParts } from '../../actors/feature.ts';
import type { HostPort } from '../../base/config-values.ts';
import { asError } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import type { ControlPort } from '../../base/views.ts';
import type { Bus } from '../../bus/bus.ts';
import { followProxier } from './agent-intake.ts';
import { createProxierHealth, type ProxierHealth } from './proxier-health.ts';
import { type SmallAnswer, startSmallHttp } from './small-http.ts';

export interface AgentParts extends Pick<FeatureParts, 'subjects' | 'clock' | 'random'> {
  readonly node: string;
  readonly http: HostPort;
  readonly timeoutMs: number;
  /** Retries until connected; ends with the signal. */
  readonly connect: (signal: AbortSignal) => Promise<Bus>;
  readonly control: (bus: Bus) => Pick<ControlPort, 'get'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

export interface Agent {
  readonly address: HostPort;
  /** Resolves when earlier messages are known. */
  readonly caughtUp: Promise<void>;
  stop(): Promise<void>;
}

/** @throws Error of the system if it cannot listen on the address */
export async function startAgent(parts: AgentParts): Promise<Agent> {
  const { node, http, log } = parts;
  const health = createProxierHealth(parts);
  const server = await startSmallHttp({
    listen: http,
    clock: parts.clock,
    answer: (method, path) => (path === '/metrics' ? metrics(health) : health.respond(method, path)),
  });
  const { address } = server;
  log.info({ node, http: `${address.host}:${address.port}` }, 'agent answers');
  const stopping = new AbortController();
  let bus: Bus | undefined;
  const caughtUp = parts.connect(stopping.signal).then((connected) => {
    bus = connected;
    return followProxier({
      ...parts,
      bus,
      health,
      control: parts.control(bus),
      signal: stopping.signal,
    });
  });
  caughtUp.catch((error) => {
    if (!stopping.signal.aborted)
      log.warn({ error: asError(error).message }, 'messages about the proxier cannot be received');
  });
  return {
    address,
    caughtUp,
    async stop() {
      stopping.abort(new Error('the agent ends'));
      health.stop();
      await Promise.all([server.close(), bus?.close()]);
    },
  };
}

/** The one metric, in Prometheus' text format; a replica's metrics library would double the agent's size. */
function metrics(health: ProxierHealth): SmallAnswer {
  const name = 'orrery_health_answers_total';
  const lines = health
    .counts()
    .map(
      ({ endpoint, code, count }) =>
        `${name}{subject="proxier",endpoint="${endpoint}",code="${code}"} ${count}\n`,
    );
  const body = `# HELP ${name} Answers of /livez and /healthz.\n# TYPE ${name} counter\n${lines.join('')}`;
  return { status: 200, headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }, body };
}
