import { feature } from '../../examples/node-drain/feature.ts';
import { expect, test } from 'vitest';
import { testCluster } from '../../packages/testing/cluster.ts';

const node = (name: string, drain?: string) => ({
  apiVersion: 'v1', kind: 'Node', metadata: { name, ...(drain ? { annotations: { 'examples.orrery.dev/drain': drain } } : {}) },
});
const pod = (name: string, labels = { app: name }) => ({
  apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels },
  spec: { nodeName: 'worker-1', terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'example.com/app:1' }] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});
test('x', async () => {
  using cluster = testCluster({ features: [feature] });
  await cluster.kube.put(node('worker-1'), pod('a'), pod('b'), pod('c'));
  await cluster.start('a');
  await cluster.kube.put({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'c', namespace: 'default' }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'c' } } } });
  await cluster.kube.put(node('worker-1', 'kernel'));
  await cluster.advance('20s');
  console.log(cluster.describe(), (await cluster.kube.list('v1/Pod')).map((p) => p.metadata.name));
  await cluster.kube.delete('policy/v1/PodDisruptionBudget', 'c', 'default');
  await cluster.until('drained', () => cluster.actor('drain/_/worker-1')?.state === 'drained');
  console.log(cluster.describe());
  expect((await cluster.kube.get('v1/Node', 'worker-1'))?.spec).toMatchObject({ unschedulable: true });
  await cluster.kube.put(node('worker-1'));
  await cluster.until('gone', () => cluster.actor('drain/_/worker-1') === null);
  expect((await cluster.kube.get('v1/Node', 'worker-1'))?.spec).toEqual({});
  console.log(cluster.transitions.map((t) => `${t.from} ${t.event.type} ${t.to}`));
});
