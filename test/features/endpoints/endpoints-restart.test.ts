/**
 * §5.5: after a time without any replica no endpoint is taken out, whatever begins the first pass. While
 * nobody was there, the workloads got a label, and the Service's selector asks for it; the mirrors list the
 * Service long before the workloads.
 */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import { service, workload } from './slice-api.ts';
import { Stage } from './stage.ts';

const count = 300;
const first = (many: number) => Array.from({ length: many }, (_, n) => n);
const labels = { app: 'vm', tier: 'db' };

/** A replica has made the slices of 300 endpoints. */
async function whole(): Promise<Stage> {
  const stage = new Stage();
  await stage.begin('a');
  for (let n = 0; n < count; n++) await stage.put(n, {});
  await stage.cluster.clock.advance(15_000);
  expect(stage.ready()).toHaveLength(count);
  return stage;
}

/** The last replica ends; its mirrors' statements count no more. */
async function stopAll(stage: Stage): Promise<void> {
  for (const { engine } of stage.replicas.values()) engine.kill();
  stage.replicas.clear();
  await stage.unlisted();
}

/**
 * A replica starts; the workloads are listed `lateMs` after the Service. @returns the fewest endpoints that
 * stood meanwhile
 */
async function startAgain(stage: Stage, lateMs: number, numbers = first(count)): Promise<number> {
  const { cluster, replicas } = stage;
  let fewest = stage.ready().length;
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 5) {
      await cluster.clock.advance(5);
      fewest = Math.min(fewest, stage.ready().length);
    }
  };
  // As quick as a mirror can be: the Service stands in the world before its actor is taken up.
  await cluster.put('services', 'shop', 'web', {
    ...service,
    resourceVersion: '9',
    selecting: service.selecting && { ...service.selecting, selector: labels },
  });
  replicas.set('b', await cluster.replica('b'));
  await pass(lateMs);
  for (const n of numbers) {
    await stage.put(n, { ...workload(n), labels, resourceVersion: '9' });
    if (n % 100 === 0) await pass(5);
  }
  await stage.tellSlices();
  await stage.listed();
  await pass(15_000);
  return fewest;
}

test('where nothing has changed, a replica that starts saves no step, writes nothing and asks about no workload', async () => {
  const stage = await whole();
  const { cluster, api } = stage;
  await stopAll(stage);
  const before = { steps: cluster.transitions().length, writes: stage.writes, objects: api.objects.size };
  const b = await cluster.replica('b');
  stage.replicas.set('b', b);
  const { index } = b.endpoints;
  let asked = 0;
  const workloadOf = index.workload.bind(index);
  index.workload = (...at) => {
    asked += 1;
    return workloadOf(...at);
  };
  await stage.listed();
  await cluster.clock.advance(15_000);
  expect(cluster.states()['service/shop/web']).toContain('endpoints.written');
  expect({ steps: cluster.transitions().length, writes: stage.writes, objects: api.objects.size }).toEqual(
    before,
  );
  expect(asked).toBe(0);
  await stage.put(7, { ready: 'False' });
  await cluster.clock.advance(100);
  expect(stage.writes).toBe(before.writes + 1);
});

const lists = [
  ['at once', 5],
  ['after 40 s of 503', 40_000],
] as const;

test.each(lists)(
  'a change begins it; the workloads are listed %s',
  async (_, lateMs) => {
    const stage = await whole();
    await stopAll(stage);
    expect(await startAgain(stage, lateMs)).toBe(count);
    expect(stage.ready()).toHaveLength(count);
  },
  60_000,
);

test.each(lists)(
  'a compaction that has fallen due begins it; the workloads are listed %s',
  async (_, lateMs) => {
    const stage = await whole();
    for (let n = count; n < 2 * count; n++) await stage.put(n, {});
    await stage.cluster.clock.advance(2_000);
    // One slice after the other: a pass that writes half of them would compact them at once.
    for (const names of Object.values(stage.api.stand())) {
      for (const name of names.slice(0, 50)) await stage.put(Number(name.slice('vm-'.length)), null);
      await stage.cluster.clock.advance(2_000);
    }
    expect(stage.cluster.states()['service/shop/web']).toContain('endpoints.written.sparse');
    await stopAll(stage);
    await stage.cluster.clock.advance(60_000);
    const kept = Object.values(stage.api.stand()).flat();
    const numbers = kept.map((name) => Number(name.slice('vm-'.length)));
    expect(await startAgain(stage, lateMs, numbers)).toBe(count);
    expect(stage.ready()).toHaveLength(count);
  },
  60_000,
);

test.each(lists)(
  'a retry begins it; the workloads are listed %s',
  async (_, lateMs) => {
    const stage = await whole();
    stage.api.failing = () => new OrreryError('KUBE_SERVER', 'broken');
    await stage.put(0, { zone: 'x', ready: 'False' } as never);
    await stage.cluster.clock.advance(3_000);
    expect(stage.cluster.states()['service/shop/web']).toContain('endpoints.backingOff');
    await stopAll(stage);
    stage.api.failing = () => undefined;
    expect(await startAgain(stage, lateMs)).toBe(count);
    expect(stage.ready()).toEqual(Array(count).fill(true));
  },
  60_000,
);

test.each(lists)(
  'a pass that was in work is taken up; the workloads are listed %s',
  async (_, lateMs) => {
    const stage = await whole();
    const { outside } = stage.cluster;
    stage.cluster.outside = (effect, run, replica) =>
      replica === 'a' && effect.type === 'endpoint-slices.reconcile'
        ? new Promise(() => {})
        : outside(effect, run, replica);
    await stage.put(0, { ready: 'False' });
    await stage.cluster.clock.advance(500);
    expect(stage.cluster.states()['service/shop/web']).toContain('endpoints.reconciling');
    await stopAll(stage);
    expect(await startAgain(stage, lateMs)).toBe(count);
    expect(stage.ready()).toEqual(Array(count).fill(true));
  },
  60_000,
);

test('§5.6: the wait counts no failure', async () => {
  const stage = await whole();
  await stopAll(stage);
  await startAgain(stage, 60_000);
  const failed = stage.cluster.transitions().filter(({ event }) => event.type === 'slices.failed');
  expect(failed).toEqual([]);
  const waited = stage.cluster.transitions().filter(({ to }) => to.includes('stuck'));
  expect(waited).toEqual([]);
});
