/**
 * A cluster whose parts come from this checkout and whose replicas are processes of any checkout: a
 * nats-server, the development API with its kubelet and routing, and a way to start replicas from a
 * checkout's folder.
 *
 * Promises: whatever is started here ends with `stop`, replicas first. Replicas reach the API through a
 * relay, which can be shut.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type Bus,
  clock,
  connectNats,
  createReplica,
  type DevCluster,
  freePort,
  log,
  prepareBundle,
  random,
  sleep,
  startDevCluster,
  startRelay,
} from './product.ts';

export const clusterName = 'dev';
const host = '127.0.0.1';
const readyWithinMs = 60_000;

export interface RunningReplica {
  readonly name: string;
  readonly acmeUrl: string;
  /** The checkout that it runs. */
  readonly checkout: string;
  readonly logFile: string;
  stop(): Promise<void>;
}

export interface Stage {
  readonly dir: string;
  readonly cluster: DevCluster;
  readonly bus: Bus;
  /**
   * Starts a replica and waits until it is ready.
   * @throws Error if it is not ready in time
   */
  start(name: string, checkout: string): Promise<RunningReplica>;
  /** Whether replicas reach the Kubernetes API. */
  letThrough(isOpen: boolean): void;
  stop(): Promise<void>;
}

export async function startStage(print: (line: string) => void): Promise<Stage> {
  const undos: Array<() => unknown> = [];
  const dir = mkdtempSync(join(tmpdir(), 'orrery-roll-over-'));
  undos.push(() => rmSync(dir, { recursive: true, force: true }));
  const stop = async () => {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
  };
  try {
    const { signal } = new AbortController();
    const basics = { clock, random, log };
    const http = { host, port: 0 };
    const cluster = await startDevCluster({ ...basics, dir, replicas: 0, http, print }, signal);
    undos.push(() => cluster.stop());
    const bus = await connectNats({
      ...basics,
      servers: [cluster.natsUrl],
      name: 'stage',
      cluster: clusterName,
    });
    undos.push(() => bus.close());
    const api = await shutableApi(cluster.kubeconfig, dir);
    undos.push(() => api.stop());
    const flags = prepareBundle(dir);
    const replicas = new Map<string, RunningReplica>();
    undos.push(() => Promise.all([...replicas.values()].map((replica) => replica.stop())));
    return {
      dir,
      cluster,
      bus,
      letThrough: api.letThrough,
      stop,
      async start(name, checkout) {
        const replica = await startReplica(
          { dir, cluster, kubeconfig: api.kubeconfig, flags },
          name,
          checkout,
        );
        replicas.set(name, replica);
        return replica;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A second address of the API server, on a port that can be shut. */
async function shutableApi(kubeconfig: string, dir: string) {
  const text = readFileSync(kubeconfig, 'utf8');
  const port = Number(/server: .*:(\d+)/.exec(text)?.[1] ?? /"server": ?"[^"]*:(\d+)"/.exec(text)?.[1]);
  let isOpen = true;
  const relay = await startRelay({ host, port: 0, clock, pick: () => (isOpen ? { host, port } : undefined) });
  const file = join(dir, 'kubeconfig-of-replicas');
  writeFileSync(file, text.replaceAll(`:${port}`, `:${relay.port}`), { mode: 0o600 });
  return {
    kubeconfig: file,
    letThrough(open: boolean) {
      isOpen = open;
      if (!open) relay.reset();
    },
    stop: () => relay.kill(),
  };
}

async function startReplica(
  stage: Pick<Stage, 'dir' | 'cluster'> & { readonly kubeconfig: string; readonly flags: readonly string[] },
  name: string,
  checkout: string,
): Promise<RunningReplica> {
  const { cluster, dir, kubeconfig } = stage;
  const [http, acme] = [await freePort(host, 0), await freePort(host, 0)];
  const flags = {
    cluster: clusterName,
    nats: cluster.natsUrl,
    kubeconfig,
    replica: name,
    http: `${host}:${http}`,
    'acme-http': `${host}:${acme}`,
    'inspector-auth': 'none',
  };
  const logFile = join(dir, `${name}.log`);
  const child = createReplica({
    name,
    program: resolve(checkout, 'src/main.ts'),
    args: ['run', ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]), ...stage.flags],
    logFile,
    env: { ORRERY_DEV_OUTSIDE: cluster.outsideAddress.replace(/\.\d+$/, '.0/24') },
    clock,
    restarts: false,
    onDeath: (how) => process.stderr.write(`${name} ended: ${how}\n`),
  });
  child.start();
  const deadline = clock.monotonic() + readyWithinMs;
  while (!(await isReady(http))) {
    if (clock.monotonic() > deadline) {
      await child.stop();
      throw new Error(`${name} is not ready:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
    }
    await sleep(clock, 100);
  }
  return { name, checkout, logFile, acmeUrl: `http://${host}:${acme}`, stop: () => child.stop() };
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://${host}:${port}/readyz`)).status === 200;
  } catch {
    return false;
  }
}
