/** A nats-server, an API server, and replicas of any release as processes, each with a bundle of its own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { createReplica } from '../../packages/dev-cluster/processes/processes.ts';
import { namespaces } from '../../packages/dev-cluster/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ActorView, Readiness } from '../../src/base/views.ts';
import { releases } from '../../src/features/releases/resources.ts';
import { orrery } from '../cli/command.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const { signal } = new AbortController();

export const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
} as const;

/** The content of a bundle of the stage. */
export interface StageBundle {
  readonly release: string;
  readonly minServing?: string;
  readonly minReconciler?: string;
  /** Names of ConfigMaps → what they say. */
  readonly objects: Readonly<Record<string, string>>;
}

export interface StageReplica {
  readonly name: string;
  readonly url: string;
  readonly logFile: string;
  ready(): Promise<Readiness>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface ReleaseStage {
  readonly cluster: DevCluster;
  readonly namespace: string;
  start(name: string, bundle: StageBundle | null): Promise<StageReplica>;
  find(name: string): Promise<KubeObject | null>;
  release(): Promise<Record<string, unknown>>;
  explain(): Promise<string>;
  /** Requests a round now. */
  reconcile(): Promise<string>;
  stop(): Promise<void>;
}

export async function startStage(): Promise<ReleaseStage> {
  const undos: Array<() => unknown> = [];
  const dir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'));
  undos.push(() => rmSync(dir, { recursive: true, force: true }));
  const kubeconfig = process.env.KUBECONFIG;
  const cluster = await startDevCluster(
    {
      ...basics,
      dir: join(dir, 'cluster'),
      replicas: 0,
      http: { host: '127.0.0.1', port: 0 },
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      print: () => {},
    },
    signal,
  );
  undos.push(() => cluster.stop());
  const namespace = `release-${systemRandom
    .id()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')}`;
  await cluster.kube.create(namespaces, { metadata: { name: namespace } }, signal);
  undos.push(() => cluster.kube.delete(namespaces, undefined, namespace, {}, signal).catch(() => {}));
  undos.push(() => cluster.kube.delete(releases, undefined, namespace, {}, signal).catch(() => {}));
  const ask = async (...words: string[]) => {
    const args = [...words, '--nats', cluster.natsUrl, '--cluster', 'stage'];
    const { out, err } = await orrery(args, { cwd: dir });
    return out + err;
  };
  return {
    cluster,
    namespace,
    explain: () => ask('explain', `release/_/${namespace}`),
    reconcile: () => ask('send', `release/_/${namespace}`, 'release.reconcile'),
    async start(name, bundle) {
      const replica = await startReplica({ cluster, namespace, dir }, name, bundle);
      undos.push(() => replica.stop());
      return replica;
    },
    find: (name) => cluster.kube.get(configMaps, namespace, name, signal).catch(() => null),
    async release() {
      const { status = {} } = await cluster.kube.get(releases, undefined, namespace, signal);
      return status as Record<string, unknown>;
    },
    async stop() {
      for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
    },
  };
}

/** The bundle is named after the namespace: a real API server may hold releases of other runs. */
function writeBundle(dir: string, namespace: string, bundle: StageBundle): string {
  const { release, minServing = release, minReconciler = '0.1.0', objects } = bundle;
  mkdirSync(dir, { recursive: true });
  const head = {
    name: namespace,
    release,
    minReconcilerRelease: minReconciler,
    minServingRelease: minServing,
  };
  // JSON is YAML.
  writeFileSync(join(dir, 'bundle.yaml'), JSON.stringify({ ...head, manifests: ['objects.yaml'] }));
  const manifests = Object.entries(objects).map(([name, says]) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, labels: { 'orrery.dev/builtin': 'true' } },
      data: { says },
    }),
  );
  writeFileSync(join(dir, 'objects.yaml'), manifests.join('\n---\n'));
  return dir;
}

async function startReplica(
  stage: { readonly cluster: DevCluster; readonly namespace: string; readonly dir: string },
  name: string,
  bundle: StageBundle | null,
): Promise<StageReplica> {
  const { cluster, namespace, dir } = stage;
  const port = await freePort('127.0.0.1', 0);
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(dir, `${name}.log`);
  const flags = {
    cluster: 'stage',
    nats: cluster.natsUrl,
    kubeconfig: cluster.kubeconfig,
    replica: name,
    http: `127.0.0.1:${port}`,
    'acme-http': `127.0.0.1:${await freePort('127.0.0.1', 0)}`,
    'inspector-auth': 'none',
    ...(bundle === null ? {} : { bundle: writeBundle(join(dir, name), namespace, bundle) }),
  };
  const args = ['run', ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])];
  const child = createReplica({
    name,
    program,
    args,
    logFile,
    clock: systemClock,
    restarts: false,
    onDeath: () => {},
  });
  child.start();
  const ready = async () => (await (await fetch(`${url}/readyz`)).json()) as Readiness;
  await until(ready, { what: `${name} to answer` });
  return { name, url, logFile, ready, stop: () => child.stop(), kill: () => child.kill('SIGKILL') };
}

/** What any replica says about the release's actor. */
export async function viewOf(replica: StageReplica, namespace: string): Promise<ActorView> {
  return (await (await fetch(`${replica.url}/api/v1/actors/release/_/${namespace}`)).json()) as ActorView;
}
