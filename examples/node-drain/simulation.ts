/**
 * node-drain among faults, as data: two Nodes that are asked to be empty and taken back again and again, a
 * budget that must hold whatever fails, and what everything must come to in the end.
 */
import type { Simulated, Simulation } from 'orrery/testing';
import { feature } from './feature.ts';
import { annotation, ask, budget, id, isCordoned, node, nodeOf, pod, podsOn } from './world.ts';

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

export const simulation: Simulation = {
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
};
