/** The replicas of a development cluster: their flags, their ports, and when they answer. */
import { get } from 'node:http';
import { join } from 'node:path';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import { clusterLimits } from '../limits.ts';
import { freePort } from '../network/ports.ts';
import { createReplica, type ReplicaProcess } from './processes.ts';

export interface ReplicasParts {
  readonly count: number;
  /** Absent: the sources of this checkout. */
  readonly program?: string | undefined;
  /** Address of the first one; the others use the ports after it, or free ones if those are taken. */
  readonly http: { readonly host: string; readonly port: number };
  readonly dir: string;
  readonly natsUrl: string;
  readonly kubeconfig: string;
  /** The name server that knows the Services: `127.0.0.1:5353`; absent: the machine's own. */
  readonly dns?: string;
  readonly cluster: string;
  /** Further flags of `orrery run` for each. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly restarts: boolean;
  readonly clock: Clock;
  readonly print: (line: string) => void;
}

export interface DevReplica extends ReplicaProcess {
  /** `http://127.0.0.1:7070` */
  readonly url: string;
  /** Where it answers HTTP-01 challenges. */
  readonly acmeUrl: string;
  readonly logFile: string;
}

/** Port for answers to certificate challenges; free ports if it is taken, or if HTTP uses any port. */
const firstAcmePort = 8089;
const readyPauseMs = 100;

export async function createReplicas(parts: ReplicasParts): Promise<DevReplica[]> {
  const { host } = parts.http;
  const replicas: DevReplica[] = [];
  for (let index = 0; index < parts.count; index += 1) {
    const name = `orrery-${index}`;
    // A cluster that leaves the choice to the kernel is not alone on the machine: a port that is free now may
    // be another cluster's in a moment.
    const isAnyPort = parts.http.port === 0;
    const wanted = isAnyPort ? 0 : parts.http.port + index;
    const port = await freePort(host, wanted);
    if (wanted !== 0 && port !== wanted)
      parts.print(`port ${wanted} is taken: ${name} answers on http://${host}:${port}/`);
    const acmePort = await freePort('127.0.0.1', isAnyPort ? 0 : firstAcmePort + index);
    const logFile = join(parts.dir, `replica-${index}.log`);
    const args = runArguments(parts, name, `${host}:${port}`, `127.0.0.1:${acmePort}`);
    const onDeath = (how: string, pauseMs: number | null) => {
      const next = pauseMs === null ? '' : `; it is started again in ${pauseMs / 1_000} s`;
      const why = how === 'exit code 0' ? 'stopped cleanly' : `ended (${how}); see ${logFile}`;
      parts.print(`${name} ${why}${next}`);
    };
    const { clock, env, restarts } = parts;
    const program = parts.program === undefined ? {} : { program: parts.program };
    const replica = createReplica({ name, args, logFile, env, clock, restarts, onDeath, ...program });
    const acmeUrl = `http://127.0.0.1:${acmePort}`;
    replicas.push({ ...replica, url: `http://${host}:${port}`, acmeUrl, logFile });
  }
  return replicas;
}

function runArguments(parts: ReplicasParts, name: string, http: string, acmeHttp: string): string[] {
  const flags = {
    cluster: parts.cluster,
    nats: parts.natsUrl,
    kubeconfig: parts.kubeconfig,
    replica: name,
    http,
    'acme-http': acmeHttp,
    ...(parts.dns === undefined ? {} : { 'probe-dns': parts.dns }),
    'inspector-auth': 'none',
  };
  return ['run', ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]), ...parts.flags];
}

/** Resolves with true when `/readyz` answers 200, with false if it does not in time; rejects when aborted. */
export async function untilReady(
  replica: Pick<DevReplica, 'url'>,
  clock: Clock,
  signal: AbortSignal,
  withinMs: number = clusterLimits.startMs,
): Promise<boolean> {
  const deadline = clock.monotonic() + withinMs;
  while (clock.monotonic() < deadline) {
    if ((await statusAt(`${replica.url}/readyz`, clock)) === 200) return true;
    await sleep(clock, readyPauseMs, signal);
  }
  return false;
}

function statusAt(url: string, clock: Clock): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (response) => {
      response.resume();
      finish(response.statusCode);
    });
    const timer = clock.after(clusterLimits.connectMs, () => finish(undefined));
    const finish = (status: number | undefined) => {
      timer.cancel();
      resolve(status);
      request.destroy();
    };
    request.on('error', () => finish(undefined));
  });
}
