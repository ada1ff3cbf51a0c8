/** What node-drain promises; any test runner will do, this is Node's own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chartFindings,
  matchTranscript,
  play,
  type Replica,
  type TestCluster,
  testCluster,
} from 'orrery/testing';
import { drain, feature } from './feature.ts';
import { ask, budget, id, isCordoned, node, pod, podsOn } from './world.ts';

const uid = 'uid-1';
const facts = { reason: 'kernel update', pods: [{ namespace: 'shop', name: 'web-0', uid }] };
const observed = (change: object | null) => ({
  type: 'drain.observed',
  facts: change === null ? null : { ...facts, ...change },
});
const held = { type: 'pods.evict.done', blocked: ['shop/web-0'] };
const refused = { type: 'node.cordon.failed', message: 'no answer', code: 'KUBE_UNREACHABLE' };

test('every state is reached, ends by itself, and can be read about', () => {
  const events = [
    ...[observed({}), observed({ pods: [] }), observed(null)],
    ...[{ type: 'node.cordon.done' }, refused, { ...refused, code: 'KUBE_NOT_FOUND' }],
    ...[held, { type: 'pods.evict.done', blocked: [] }, { type: 'pods.evict.failed', message: 'no' }],
  ];
  const input = { id: 'drain/_/worker-1', namespace: '_', name: 'worker-1' };
  assert.deepEqual(chartFindings(drain.chart, [{ input, events, situationsMax: 300 }]), []);
});

test('a drain that a budget holds up, as it is told', () => {
  const text = play(feature, id('worker-1'), [
    { prose: 'Somebody wants the Node empty. One Pod is on it, and its budget says no at first.' },
    observed({}),
    { type: 'node.cordon.done' },
    held,
    { wait: '2s' },
    { type: 'pods.evict.done', blocked: [] },
    { prose: 'The Pod ends.' },
    observed({ pods: [] }),
    { prose: 'A Pod that tolerates it comes, and is evicted as well.' },
    observed({}),
    { type: 'pods.evict.done', blocked: [] },
    observed({ pods: [] }),
    { prose: 'The annotation is taken away. The API server does not answer at first.' },
    observed(null),
    refused,
    { wait: '5s' },
    { type: 'node.cordon.done' },
  ]);
  matchTranscript(new URL('drain.txt', import.meta.url), text);
});

async function stage(...names: readonly string[]): Promise<{ cluster: TestCluster; replicas: Replica[] }> {
  const cluster = testCluster({ features: [feature] });
  await cluster.kube.put(node('worker-1'), node('worker-2'), budget('db', 1));
  for (const name of ['web-0', 'web-1', 'web-2']) await cluster.kube.put(pod(name, { node: 'worker-1' }));
  await cluster.kube.put(pod('db-0', { node: 'worker-1', app: 'db' }));
  await cluster.kube.put(pod('agent', { node: 'worker-1', owner: 'DaemonSet' }));
  const replicas: Replica[] = [];
  for (const name of names) replicas.push(await cluster.start(name));
  return { cluster, replicas };
}

const stateOf = (cluster: TestCluster) => cluster.actor(id('worker-1'))?.state ?? null;

test('Pods leave as their budgets allow; those of DaemonSets stay; the Node works again afterwards', async () => {
  const { cluster } = await stage('a');
  using _ = cluster;
  const { kube } = cluster;
  await ask(kube, 'worker-1', 'kernel update');
  await cluster.advance('20s');
  assert.equal(await isCordoned(kube, 'worker-1'), true);
  assert.deepEqual(await podsOn(kube, 'worker-1'), ['agent', 'db-0']);
  assert.match(
    cluster.describe(),
    /is being emptied \(kernel update\), Pods left: 1; budgets hold default\/db-0/,
  );
  await kube.put(pod('db-1', { node: 'worker-2', app: 'db' }));
  await cluster.until('the Node is empty', () => stateOf(cluster) === 'drained');
  assert.deepEqual(await podsOn(kube, 'worker-1'), ['agent']);
  await ask(kube, 'worker-1', null);
  await cluster.until('the Node works again', () => stateOf(cluster) === null);
  assert.equal(await isCordoned(kube, 'worker-1'), false);
});

test('a budget that holds for long is wrong, says so, and is asked again every minute', async () => {
  const { cluster } = await stage('a');
  using _ = cluster;
  await ask(cluster.kube, 'worker-1', 'kernel update');
  await cluster.until('it is told as wrong', () => cluster.actor(id('worker-1'))?.health === 'wrong', '15m');
  assert.match(cluster.describe(), /waits for another try: not done in time; budgets hold default\/db-0/);
  await cluster.kube.delete('policy/v1/PodDisruptionBudget', 'db', 'default');
  await cluster.until('the Node is empty', () => stateOf(cluster) === 'drained', '3m');
});

test('a Node that is deleted meanwhile is nobody’s trouble', async () => {
  const { cluster } = await stage('a');
  using _ = cluster;
  await ask(cluster.kube, 'worker-1', 'it is broken');
  await cluster.advance('5s');
  await cluster.kube.delete('v1/Node', 'worker-1');
  await cluster.until('its actor has ended', () => stateOf(cluster) === null);
});
