/** What node-drain survives: replicas that die or stand still, a broker and an API server that go away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineFeature, setup } from 'orrery';
import { type Replica, type Simulated, simulate, type TestCluster, testCluster } from 'orrery/testing';
import { drain, feature } from './feature.ts';
import { annotation, ask, budget, id, isCordoned, node, nodeOf, pod, podsOn } from './world.ts';

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

const workers = ['worker-1', 'worker-2'] as const;
const other = { 'worker-1': 'worker-2', 'worker-2': 'worker-1' } as const;

/** As a controller does it: a Pod that is gone comes back on a Node that takes Pods, ready a while later. */
function replaceGonePods({ kube, after }: Simulated): void {
  let count = 0;
  kube.watch('v1/Pod', (type, gone) => {
    if (type !== 'DELETED') return;
    const app = gone.metadata.labels?.app ?? '';
    const place = async () => {
      const first = nodeOf(gone) === 'worker-1' ? 'worker-1' : 'worker-2';
      const free = (await isCordoned(kube, first)) ? other[first] : first;
      if (await isCordoned(kube, free)) return after(1_000, () => void place());
      await kube.put(pod(`${app}-${++count}`, { node: free, app }));
    };
    after(500, () => void place());
  });
}

/** The promise that matters: of an app with a budget there is always one. */
function keepsBudgets({ kube, breach }: Simulated): void {
  const ready = new Set(['db-a', 'db-b']);
  kube.watch('v1/Pod', (type, { metadata: { name, labels } }) => {
    if (labels?.app !== 'db') return;
    if (type === 'DELETED') ready.delete(name);
    else ready.add(name);
    if (ready.size === 0) breach('no Pod of db is left, though its budget asks for one');
  });
}

async function toggle({ kube, chance }: Simulated): Promise<void> {
  const name = chance.pick(workers) ?? 'worker-1';
  const isAsked = (await kube.get('v1/Node', name))?.metadata.annotations?.[annotation] !== undefined;
  // Two Nodes that are both to be empty would leave the Pods nowhere to go.
  const isFree = (await kube.get('v1/Node', other[name]))?.metadata.annotations?.[annotation] === undefined;
  if (isAsked || isFree) await ask(kube, name, isAsked ? null : 'kernel update');
}

async function unsettled({ kube, records }: Simulated): Promise<string[]> {
  const missing: string[] = [];
  for (const name of workers) {
    const wanted = (await kube.get('v1/Node', name))?.metadata.annotations?.[annotation] !== undefined;
    const record = records.get(id(name));
    if ((await isCordoned(kube, name)) !== wanted) missing.push(`${name} is not as it was asked for`);
    if (wanted && (await podsOn(kube, name)).length > 0) missing.push(`${name} is not empty`);
    if (!wanted && record !== undefined && !record.gone) missing.push(`the actor of ${name} has not ended`);
  }
  return missing;
}

test('six seeds, in which everything that can fail does', async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const outcome = await simulate(
      {
        features: [feature],
        async begin(world) {
          await world.kube.put(node('worker-1'), node('worker-2'), budget('db', 1));
          for (const name of ['web-a', 'web-b', 'web-c'])
            await world.kube.put(pod(name, { node: 'worker-1', app: 'web' }));
          await world.kube.put(pod('db-a', { node: 'worker-1', app: 'db' }));
          await world.kube.put(pod('db-b', { node: 'worker-2', app: 'db' }));
          replaceGonePods(world);
        },
        happens: [toggle],
        invariants: [{ name: 'budgets', watch: keepsBudgets }],
        unsettled,
      },
      { seed },
    );
    assert.equal(outcome.breach, null, `seed ${seed}: ${JSON.stringify(outcome.breach)}`);
  }
});
