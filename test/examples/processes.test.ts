/** node-drain in real processes: two replicas, NATS and a kubelet; one replica is killed in the middle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { budget, pod } from '../../examples/node-drain/world.ts';
import { startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { nodes, pods } from '../../packages/dev-cluster/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeObject, KubeResource } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

const feature = join(import.meta.dirname, '../../examples/node-drain/feature.ts');
const budgets: KubeResource = {
  ...{ group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' },
  ...{ kind: 'PodDisruptionBudget', namespaced: true },
};
const patience = { timeoutMs: 90_000 };

test('a replica is killed while it drains a Node: another one ends what it began', {
  timeout: 240_000,
}, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-drain-'));
  const { signal } = new AbortController();
  const cluster = await startDevCluster(
    {
      ...{
        dir,
        program,
        replicas: 2,
        http: { host: '127.0.0.1', port: 0 },
        restarts: false,
        print: () => {},
      },
      ...{ clock: systemClock, random: systemRandom, log: silentLog },
      replicaFlags: () => ['--feature', feature],
    },
    signal,
  );
  try {
    const { kube, nodeName } = cluster;
    const isCordoned = async () => {
      const { spec } = await kube.get(nodes, undefined, nodeName, signal);
      return (spec as { unschedulable?: boolean } | undefined)?.unschedulable === true;
    };
    const names = async () => {
      const { items } = await kube.list(pods, { namespace: 'default' }, signal);
      return items.map(({ metadata }) => metadata.name).sort();
    };
    const ask = (reason: string | null) => {
      const body = { metadata: { annotations: { 'examples.orrery.dev/drain': reason } } };
      return kube.patch(nodes, { name: nodeName, type: 'merge', body }, signal);
    };
    await kube.create(budgets, budget('db', 1) as unknown as KubeObject, signal);
    for (const name of ['db', 'web']) {
      const { status: _, ...object } = pod(name, { node: nodeName });
      await kube.create(pods, object as unknown as KubeObject, signal);
    }
    await until(async () => cluster.kubelet.running().size === 2, { what: 'both run', ...patience });
    await ask('kernel update');
    await until(async () => (await names()).join() === 'db', { what: 'one Pod has left', ...patience });
    await cluster.kill(0);
    await kube.delete(budgets, 'default', 'db', {}, signal);
    await until(async () => (await names()).length === 0, { what: 'the Node is empty', ...patience });
    expect(await isCordoned()).toBe(true);
    await ask(null);
    await until(async () => !(await isCordoned()), { what: 'the Node works again', ...patience });
  } finally {
    await cluster.stop();
    rmSync(dir, { recursive: true, force: true });
  }
});
