/**
 * A replica with no more rights than the chart gives it, on an API server that asks for them: it gets ready,
 * does what each feature that is on has to do, and is refused nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { type NatsServer, startNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { type KubeApi, startKubeApi } from '../../packages/kube-api/server.ts';
import { placeOf } from '../../scripts/chart/rendering.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { Client, type JsonObject } from '../conformance/client.ts';
import { readKubeconfig } from '../conformance/kubeconfig.ts';
import { readYaml, yamlFiles } from '../deploy/manifests.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

let folder: string;
let nats: NatsServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orrery-rights-'));
  nats = await startNatsServer({ dir: join(folder, 'nats') });
});

afterAll(async () => {
  await nats?.stop();
  await rm(folder, { recursive: true, force: true });
});

const rbac = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'ServiceAccount'];
const plurals = (kind: string) => `${kind.toLowerCase()}s`;

async function post(api: Client, object: JsonObject): Promise<void> {
  const { apiVersion, kind, metadata } = object as { apiVersion: string; kind: string; metadata: JsonObject };
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  const reply = await api.post(`${group}${within}/${plurals(kind)}`, object);
  if (reply.code !== 201) throw new Error(`${kind}: ${reply.text}`);
}

/** An API server with the namespaces, the definitions, and what a set of values grants. */
async function cluster(set: string): Promise<{ kube: KubeApi; api: Client; kubeconfig: string }> {
  const kube = await startKubeApi({ clock: systemClock, random: systemRandom });
  const api = new Client(readKubeconfig(kube.kubeconfig(), '.'));
  for (const name of ['orrery', 'shop', 'bank'])
    await post(api, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const definitions = yamlFiles('deploy/crds').flatMap((name) => readYaml(`deploy/crds/${name}`));
  const granted = readYaml(placeOf(set)).filter(({ kind }) => rbac.includes(kind));
  for (const object of [...definitions, ...granted]) await post(api, object as unknown as JsonObject);
  const token = await api.post('/api/v1/namespaces/orrery/serviceaccounts/orrery/token', { spec: {} });
  const kubeconfig = join(folder, `${set}.kubeconfig`);
  const own = String((token.body.status as JsonObject).token);
  await writeFile(kubeconfig, kube.kubeconfig().replaceAll(kube.token, own));
  return { kube, api, kubeconfig };
}

/** The environment that the chart gives to the replicas, as far as it says what they do. */
function settingsOf(set: string): Record<string, string> {
  const deployment = readYaml(placeOf(set)).find(({ kind }) => kind === 'Deployment');
  const { template } = (deployment?.spec ?? {}) as {
    template: { spec: { containers: [{ env: { name: string; value?: string }[] }] } };
  };
  const wanted = /^ORRERY_(WITHOUT|NAMESPACES)$/;
  const { env } = template.spec.containers[0];
  return Object.fromEntries(
    env.flatMap(({ name, value = '' }) => (wanted.test(name) ? [[name, value]] : [])),
  );
}

const gate: JsonObject = {
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'RouteGate',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: {
    conditionType: 'example.com/routed',
    podSelector: { matchLabels: { app: 'shop' } },
    group: { podLabel: 'group', serviceLabel: 'group' },
    serviceSelector: { matchLabels: { entry: 'true' } },
    probe: { portName: 'health', path: '/healthz', podIPHeaders: { IPv4: 'Pod-IPv4' } },
  },
};
const election: JsonObject = {
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'Election',
  metadata: { name: 'till', namespace: 'shop' },
  spec: {},
};
const issuer: JsonObject = {
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'Issuer',
  metadata: { name: 'own' },
  spec: { domains: ['example.com'], ca: { secret: { name: 'absent', namespace: 'shop' } } },
};
const all = '/apis/orrery.dev/v1alpha1';

test.each([
  ['kustomize', [gate, election, issuer]],
  ['some-features', [gate, election]],
] as const)(
  '%s: what is on works, and nothing is refused',
  async (set, objects) => {
    const { kube, api, kubeconfig } = await cluster(set);
    const port = await freePort('127.0.0.1', 0);
    const replica = spawn(process.execPath, [program, 'run', '--cluster', set], {
      env: {
        ...{ PATH: process.env.PATH, KUBECONFIG: kubeconfig, NATS_URL: nats.url },
        ...{ ORRERY_HTTP: `127.0.0.1:${port}`, ORRERY_ACME_HTTP: '127.0.0.1:0' },
        ...settingsOf(set),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    replica.stderr.on('data', (chunk) => {
      said += chunk;
    });
    try {
      const isReady = () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      await until(isReady, { what: `a replica that is ready: ${said}`, timeoutMs: 60_000 });
      for (const object of objects) await post(api, object);
      const told = async (path: string) => (await api.get(`${all}/${path}`)).body.status !== undefined;
      const paths = ['namespaces/shop/routegates/shop', 'namespaces/shop/elections/till', 'issuers/own'];
      for (const path of paths.slice(0, objects.length))
        await until(() => told(path), { what: `a status of ${path}`, timeoutMs: 30_000 });
      expect(said.split('\n').filter((line) => /forbidden|FORBIDDEN|\b403\b/.test(line))).toEqual([]);
    } finally {
      await ended(replica);
      api.close();
      await kube.stop();
    }
  },
  120_000,
);

async function ended(replica: ChildProcess): Promise<void> {
  if (replica.exitCode !== null) return;
  const gone = once(replica, 'exit');
  replica.kill('SIGTERM');
  await gone;
}
