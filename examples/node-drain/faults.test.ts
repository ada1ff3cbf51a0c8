/** What node-drain survives: replicas that die or stand still, a broker and an API server that go away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineFeature, setup } from 'orrery';
import { type Replica, simulate, type TestCluster, testCluster } from 'orrery/testing';
import { drain, feature } from './feature.ts';
import { simulation } from './simulation.ts';
import { ask, budget, id, isCordoned, node, pod, podsOn } from './world.ts';

/** Three Pods and one that a budget holds; what is done to the Node is written down. */
async function stage(): Promise<{ cluster: TestCluster; replicas: Replica[]; cordons: boolean[] }> {
  const cluster = testCluster({ features: [feature] });
  const { kube } = cluster;
  await kube.put(node('worker-1'), budget('db', 1), pod('db-0', { node: 'worker-1', app: 'db' }));
  for (const name of ['web-0', 'web-1', 'web-2']) await kube.put(pod(name, { node: 'worker-1' }));
  const cordons: boolean[] = [];
  kube.watch('v1/Node', (_, { spec }) => {
    const is = (spec as { unschedulable?: boolean }).unschedulable === true;
    if (is !== (cordons.at(-1) ?? false)) cordons.push(is);
  });
  return { cluster, cordons, replicas: [await cluster.start('a'), await cluster.start('b')] };
}

const faults: Record<string, (cluster: TestCluster, replicas: Replica[]) => Promise<void>> = {
  async 'a replica is killed at each step'(cluster, [a, b]) {
    a?.kill();
    await cluster.advance('1s');
    await cluster.start('c');
    b?.kill();
    await cluster.advance('1s');
    await cluster.start('d');
  },
  async 'a replica stands still, comes back, and finds its work done'(cluster, replicas) {
    for (const replica of replicas) {
      replica.pause();
      await cluster.advance('15s');
      replica.resume();
    }
  },
  async 'the broker is away'(cluster) {
    cluster.broker('silent');
    await cluster.advance('20s');
    cluster.broker('up');
  },
  async 'the API server is away'(cluster) {
    cluster.kubernetes('away');
    await cluster.advance('40s');
    cluster.kubernetes('up');
  },
};

for (const [what, fault] of Object.entries(faults)) {
  test(`${what}: nothing is lost and nothing is done twice`, async () => {
    const { cluster, replicas, cordons } = await stage();
    using _ = cluster;
    const { kube } = cluster;
    await ask(kube, 'worker-1', 'kernel update');
    // In the middle: the Node is cordoned, some Pods are gone, one is held.
    await cluster.until('a Pod has left', async () => (await podsOn(kube, 'worker-1')).length < 4);
    await fault(cluster, replicas);
    await kube.delete('policy/v1/PodDisruptionBudget', 'db', 'default');
    await cluster.until('the Node is empty', () => cluster.actor(id('worker-1'))?.state === 'drained');
    assert.deepEqual(await podsOn(kube, 'worker-1'), []);
    await ask(kube, 'worker-1', null);
    await cluster.until('the Node works again', async () => !(await isCordoned(kube, 'worker-1')));
    assert.deepEqual(cordons, [true, false]);
  });
}

/** The same operator as it will be: `drained` is called `empty`, and a step leads there from version 1. */
function nextVersion() {
  const { chart } = drain;
  const { config, implementations } = chart.machine;
  const { drained, ...states } = config.states as Record<string, object>;
  const toEmpty = { guard: 'isEmpty', target: 'empty' };
  const renamed = Object.fromEntries(
    Object.entries(states).map(([name, state]) => [
      name,
      'always' in state ? { ...state, always: toEmpty } : state,
    ]),
  );
  const changed = { ...config, states: { ...renamed, empty: drained } };
  const machine: unknown = setup(implementations as never).createMachine(changed as never);
  const migrations = {
    1: ({ value, context }: { readonly value: unknown; readonly context: unknown }) => ({
      value: value === 'drained' ? 'empty' : value,
      context,
    }),
  };
  const next = { ...chart, version: 2, machine: machine as typeof chart.machine, migrations };
  return defineFeature({ name: 'node-drain', version: '1.1.0', kinds: [{ ...drain, chart: next }] });
}

/** Replicas of the next version come, and those of the first go, one after the other. */
async function rollOver(cluster: TestCluster, replicas: readonly Replica[]): Promise<void> {
  const next = nextVersion();
  for (const [index, replica] of replicas.entries()) {
    await cluster.start(`next-${index}`, [next]);
    replica.stop();
    await cluster.advance('5s');
  }
}

for (const moment of ['waiting', 'drained'])
  test(`a new version takes over while it is ${moment}, with a migration: nothing is lost or done twice`, async () => {
    const { cluster, replicas, cordons } = await stage();
    using _ = cluster;
    const { kube } = cluster;
    const stateOf = () => cluster.transitions.at(-1)?.to;
    if (moment === 'drained') await kube.delete('policy/v1/PodDisruptionBudget', 'db', 'default');
    await ask(kube, 'worker-1', 'kernel update');
    await cluster.until(moment, () => stateOf() === moment);
    await rollOver(cluster, replicas);
    if (moment === 'waiting') await kube.delete('policy/v1/PodDisruptionBudget', 'db', 'default');
    // It works: what comes is evicted by the new version.
    await kube.put(pod('late', { node: 'worker-1' }));
    await cluster.until('the Node is empty again', async () => {
      return stateOf() === 'empty' && (await podsOn(kube, 'worker-1')).length === 0;
    });
    await ask(kube, 'worker-1', null);
    await cluster.until('the Node works again', async () => !(await isCordoned(kube, 'worker-1')));
    assert.deepEqual(cordons, [true, false]);
  });

test('a write that lands late does not leave a Node open while it is emptied', async () => {
  const { cluster } = await stage();
  using _ = cluster;
  const { kube } = cluster;
  await ask(kube, 'worker-1', 'kernel update');
  await cluster.until('the Node takes no Pods', () => isCordoned(kube, 'worker-1'));
  // As a request does that its sender gave up: served after the next one.
  await kube.patch('v1/Node', 'worker-1', { spec: { unschedulable: null } });
  await cluster.until('it takes none again', () => isCordoned(kube, 'worker-1'));
  await kube.delete('policy/v1/PodDisruptionBudget', 'db', 'default');
  await cluster.until('the Node is empty', () => cluster.actor(id('worker-1'))?.state === 'drained');
  await kube.patch('v1/Node', 'worker-1', { spec: { unschedulable: null } });
  await cluster.until('it takes none though it is empty', () => isCordoned(kube, 'worker-1'));
});

test('six seeds, in which everything that can fail does', async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const outcome = await simulate(simulation, { seed });
    assert.equal(outcome.breach, null, `seed ${seed}: ${JSON.stringify(outcome.breach)}`);
  }
});
