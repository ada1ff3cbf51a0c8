/**
 * Real processes for a user's own features: a NATS server, the API server that KUBECONFIG names or else the
 * development one behind a socket, and replicas that run a feature's file and nothing else.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { createReplicas, type DevReplica } from '../../packages/dev-cluster/processes/replicas.ts';
import { startKubeApi } from '../../packages/kube-api/server.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import type { ActorSummary, ActorView, Readiness } from '../../src/base/views.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { encode } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { connectKube, type KubeConnection } from '../../src/kube/api/kube-connection.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

export interface OwnStage {
  readonly dir: string;
  readonly kube: KubeConnection;
  readonly bus: Bus;
  readonly replicas: readonly DevReplica[];
  /** Writes a file into the folder from which replicas read it at their start. */
  write(file: string, text: string): string;
  /** Ends it as Kubernetes does, starts it again, and waits until it is ready. */
  restart(index: number): Promise<void>;
  untilReady(index: number): Promise<void>;
  readiness(index: number): Promise<Readiness>;
  actor(id: string): Promise<ActorView | null>;
  actors(kind: string): Promise<readonly ActorSummary[]>;
  ask<T>(index: number, path: string): Promise<T>;
  send(id: string, message: object): Promise<void>;
  /** What the replica has written. */
  log(index: number): string;
  stop(): Promise<void>;
}

/** The program's own features; a test of a user's feature runs without them. */
const withoutOthers = ['--without', 'routes,endpoints,certificates,elections,releases,proxiers'];
const cluster = 'own';
const patience = { timeoutMs: 60_000 };

export interface OwnStageOptions {
  readonly replicas: number;
  /** The features to load, by file name. */
  readonly features: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** What the replicas run; default: what the run has built. */
  readonly program?: string | undefined;
}

export async function startOwnStage(options: OwnStageOptions): Promise<OwnStage> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-own-'));
  const write = (file: string, text: string) => {
    writeFileSync(join(dir, file), text);
    return join(dir, file);
  };
  const files = Object.entries(options.features).map(([file, text]) => write(file, text));
  const nats = await startNatsServer({ dir: join(dir, 'nats'), clock, log: silentLog });
  const real = process.env.KUBECONFIG ?? '';
  const api = real === '' ? await startKubeApi({ clock, random, log: silentLog }) : null;
  const kubeconfig = api === null ? real : write('kubeconfig', api.kubeconfig());
  const kube = connectKube({ kubeconfig, clock, random, log: silentLog });
  const replicas = await createReplicas({
    ...{ count: options.replicas, http: { host: '127.0.0.1', port: 0 }, dir, natsUrl: nats.url, kubeconfig },
    ...{
      cluster,
      env: options.env ?? {},
      restarts: false,
      clock,
      print: () => {},
      program: options.program ?? program,
    },
    flags: [...withoutOthers, ...files.flatMap((file) => ['--feature', file])],
  });
  for (const replica of replicas) replica.start();
  const bus = await connectNats({
    clock,
    random,
    log: silentLog,
    servers: [nats.url],
    name: 'test',
    cluster,
  });
  return {
    ...{ dir, kube, bus, replicas, write },
    ...callsOn(replicas),
    async send(id, message) {
      await bus.append(subjectsOf(cluster).send(id as ActorId), encode(message));
    },
    async stop() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await bus.close();
      kube.close();
      await api?.stop();
      await nats.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

type Calls = Omit<OwnStage, 'dir' | 'kube' | 'bus' | 'replicas' | 'write' | 'send' | 'stop'>;

/** Requests to replicas, each by its number. */
function callsOn(replicas: readonly DevReplica[]): Calls {
  const at = (index: number) => {
    const replica = replicas[index];
    if (replica === undefined) throw new Error(`there is no replica ${index}`);
    return replica;
  };
  const get = (index: number, path: string) =>
    fetch(`${at(index).url}${path}`, { signal: AbortSignal.timeout(5_000) });
  const ask = async <T>(index: number, path: string) => (await (await get(index, path)).json()) as T;
  const untilReady = async (index: number) => {
    await until(async () => (await get(index, '/readyz')).ok, {
      what: `replica ${index} is ready`,
      ...patience,
    });
  };
  /** One that runs. */
  const any = () => replicas.findIndex((replica) => replica.pid() !== undefined);
  return {
    ask,
    untilReady,
    async restart(index) {
      await at(index).kill('SIGTERM');
      at(index).start();
      await untilReady(index);
    },
    readiness: (index) => ask<Readiness>(index, '/readyz'),
    async actor(id) {
      const answer = await get(any(), `/api/v1/actors/${id}`);
      return answer.ok ? ((await answer.json()) as ActorView) : null;
    },
    async actors(kind) {
      const { actors } = await ask<{ actors: ActorSummary[] }>(
        any(),
        `/api/v1/actors?kind=${kind}&limit=500`,
      );
      return actors;
    },
    log: (index) => readFileSync(at(index).logFile, 'utf8'),
  };
}
