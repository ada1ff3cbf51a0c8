/** The development cluster as a whole, without replicas: what it takes and what it gives back. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type DevCluster,
  type DevClusterParts,
  startDevCluster,
} from '../../packages/dev-cluster/cluster.ts';
import { ensureAll, readManifests } from '../../packages/dev-cluster/manifests.ts';
import { isTrue, type PodObject, type ServiceObject } from '../../packages/dev-cluster/objects.ts';
import { pods } from '../../packages/dev-cluster/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { services } from '../../src/kube/api/resources.ts';
import { until } from '../until.ts';
import { knock } from './http.ts';

const { signal } = new AbortController();
const clusters: DevCluster[] = [];
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-cluster-'));
});
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function start(extra: Partial<DevClusterParts> = {}): Promise<DevCluster> {
  const cluster = await startDevCluster(
    {
      dir,
      replicas: 0,
      http: { host: '127.0.0.1', port: 0 },
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      print: () => {},
      ...extra,
    },
    signal,
  );
  clusters.push(cluster);
  return cluster;
}
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('the example can be applied, its Pods run and wait for their gates, and after stop nothing is left', async () => {
  const cluster = await start();
  await ensureAll(cluster.kube, await readManifests(join(import.meta.dirname, '../../examples')), signal);
  const pod = await until(
    async () => {
      const [first]: readonly PodObject[] = (await cluster.kube.list(pods, { namespace: 'bakery' }, signal))
        .items;
      return first !== undefined && isTrue(first, 'ContainersReady') ? first : null;
    },
    { what: 'the first Pod runs' },
  );
  expect(isTrue(pod, 'Ready')).toBe(false);
  const bread: ServiceObject = await cluster.kube.get(services, 'bakery', 'bread', signal);
  const host = bread.spec?.clusterIP ?? '';
  await until(async () => (await knock(host, 8080)) === 'open', { what: 'the Service is reachable' });
  expect(cluster.kubelet.running().size).toBe(1);

  await cluster.stop();
  expect(await knock(host, 8080)).toBe('ECONNREFUSED');
  expect(await knock(pod.status?.podIP ?? '', 8080)).toBe('ECONNREFUSED');
  expect(isAlive(cluster.nats.pid)).toBe(false);
  expect(existsSync(join(dir, 'kubeconfig'))).toBe(true);
});

test('a second cluster in one folder is refused; in another it has other addresses', async () => {
  const first = await start();
  await expect(start()).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('already') });
  const other = mkdtempSync(join(tmpdir(), 'orrery-cluster-'));
  try {
    const second = await start({ dir: other });
    const shop = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'default' } };
    const spec = { ports: [{ port: 80 }] };
    const [a, b]: readonly ServiceObject[] = await Promise.all(
      [first, second].map(({ kube }) => kube.create(services, { ...shop, spec }, signal)),
    );
    expect(a?.spec?.clusterIP?.split('.')[1]).not.toBe(b?.spec?.clusterIP?.split('.')[1]);
    await second.stop();
  } finally {
    rmSync(other, { recursive: true, force: true });
  }
});

test('a cluster that cannot start leaves nothing behind', async () => {
  const server = createServer((_, response) => response.writeHead(500).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const kubeconfig = join(dir, 'broken');
  const cluster = { name: 'c', cluster: { server: url } };
  const context = { name: 'x', context: { cluster: 'c', user: 'u' } };
  const user = { name: 'u', user: { token: 'none' } };
  const config = { clusters: [cluster], contexts: [context], users: [user], 'current-context': 'x' };
  writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
  await expect(start({ kubeconfig })).rejects.toMatchObject({ code: 'KUBE_SERVER' });
  server.close();
  server.closeAllConnections();
  // Folder, addresses and ports are free again.
  await start();
});
