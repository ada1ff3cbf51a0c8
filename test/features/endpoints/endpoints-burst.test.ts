/**
 * Endpoints through the engine, with virtual time: a replica, an API server that takes 3 ms for a write and tells of it after 2 ms more.
 * How many writes a burst of changes becomes, and how late the last of them is.
 */
import { expect, test } from 'vitest';
import { sleep } from '../../../src/base/clock.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { sliceDigest } from '../../../src/features/endpoints/digest.ts';
import type { WorkloadDigest } from '../../../src/features/endpoints/digests.ts';
import { reconcileSlices } from '../../../src/features/endpoints/effects/endpoint-slices.ts';
import { TestCluster, type TestReplica } from '../../actors/harness.ts';
import { SliceApi, service, workload } from './slice-api.ts';

const writeMs = 3;
const echoMs = 2;

class Stage {
  readonly cluster = new TestCluster();
  readonly api = new SliceApi(0);
  readonly replicas = new Map<string, TestReplica>();
  writes = 0;
  lastWriteAt = 0;

  constructor() {
    this.cluster.outside = async (effect, run, replica) => {
      if (effect.type !== 'endpoint-slices.reconcile')
        return { type: 'effect.settled', effect: effect.type, error: null };
      const runner = reconcileSlices({
        kube: this.#slow(this.api.port()),
        clock: this.cluster.clock,
        scene: () => {
          const index = this.replicas.get(replica)?.endpoints.index;
          if (!index) throw new Error('no such replica');
          return index;
        },
        endpointsPerSlice: 100,
        onWrite: () => {},
      });
      return (await runner(effect as never, run as never)) as unknown as PlainEvent;
    };
  }

  async begin(...names: string[]): Promise<void> {
    for (const name of names) this.replicas.set(name, await this.cluster.replica(name));
    for (const resource of ['services', 'endpointslices', 'workload.linkerd.io/v1beta1/ExternalWorkload'])
      await this.cluster.put('_synced', '', resource, { kind: 'synced', gates: [], resource });
    await this.cluster.put('services', 'shop', 'web', service);
  }

  put(n: number, change: Partial<WorkloadDigest> | null): Promise<void> {
    const digest = change === null ? null : workload(n, change);
    return this.cluster.put('externalworkloads.workload.linkerd.io', 'shop', `vm-${n}`, digest);
  }

  ready(): boolean[] {
    return [...this.api.objects.values()].flatMap(({ endpoints }) =>
      (endpoints as Array<{ conditions: { ready: boolean } }>).map(({ conditions }) => conditions.ready),
    );
  }

  #slow(port: KubePort): KubePort {
    const { clock } = this.cluster;
    const tell = async (name: string, object: KubeObject | null) => {
      this.writes += 1;
      this.lastWriteAt = clock.now();
      await sleep(clock, echoMs);
      await this.cluster.put('endpointslices', 'shop', name, object && sliceDigest(object));
    };
    const written = async (write: Promise<KubeObject>) => {
      const object = await write;
      void tell(object.metadata.name, object);
      await sleep(clock, writeMs);
      return object;
    };
    return {
      ...port,
      create: (...given) => written(port.create(...given)),
      patch: (...given) => written(port.patch(...given)),
      delete: async (...given) => {
        await port.delete(...given);
        void tell(given[2], null);
        await sleep(clock, writeMs);
      },
    };
  }
}

async function thousand(): Promise<Stage> {
  const stage = new Stage();
  await stage.begin('a');
  for (let n = 0; n < 1_000; n++) await stage.put(n, {});
  await stage.cluster.clock.advance(15_000);
  expect(stage.ready()).toEqual(Array(1_000).fill(true));
  stage.writes = 0;
  return stage;
}

test.each([0.2, 1, 1.5])(
  '1,000 flips in one Service, one each %s ms: at most 31 writes, the last 0.1 s after the last flip',
  async (everyMs) => {
    const stage = await thousand();
    const { clock } = stage.cluster;
    const order = Array.from({ length: 1_000 }, (_, n) => (n * 389) % 1_000);
    for (const [at, n] of order.entries()) {
      await stage.put(n, { ready: 'False', readyAt: clock.now() });
      if (Math.floor(at * everyMs) !== Math.floor((at + 1) * everyMs))
        await clock.advance(Math.ceil(everyMs));
    }
    const last = clock.now();
    await clock.advance(2_000);
    expect(stage.ready()).toEqual(Array(1_000).fill(false));
    expect(stage.writes).toBeLessThanOrEqual(31);
    expect(stage.lastWriteAt - last).toBeLessThanOrEqual(100);
  },
  60_000,
);

test('flips of one Service, each made when the last was seen: none is kept waiting for more', async () => {
  const stage = await thousand();
  const { clock } = stage.cluster;
  let slowest = 0;
  for (let n = 0; n < 30; n++) {
    const [begun, before] = [clock.now(), stage.writes];
    await stage.put(n, { ready: 'False', readyAt: begun });
    while (stage.writes === before) await clock.advance(1);
    slowest = Math.max(slowest, stage.lastWriteAt - begun);
    // The write is answered and seen, the next change made.
    await clock.advance(writeMs + echoMs + 5);
  }
  expect(stage.writes).toBe(30);
  expect(slowest).toBeLessThanOrEqual(6);
}, 60_000);

test('half of 1,000 endpoints deleted at once: at most ten writes, and five slices after compaction', async () => {
  const stage = await thousand();
  for (let n = 0; n < 1_000; n += 2) await stage.put(n, null);
  await stage.cluster.clock.advance(2_000);
  expect(stage.ready()).toHaveLength(500);
  expect(stage.writes).toBeLessThanOrEqual(10);
  await stage.cluster.clock.advance(12_000);
  expect(stage.api.objects.size).toBe(5);
  expect(stage.ready()).toHaveLength(500);
}, 60_000);

test('50 flips a second in one Service: each is written once, within 0.1 s', async () => {
  const stage = await thousand();
  const { clock } = stage.cluster;
  let slowest = 0;
  for (let n = 0; n < 50; n++) {
    const begun = clock.now();
    await stage.put(n, { ready: 'False', readyAt: begun });
    await clock.advance(20);
    slowest = Math.max(slowest, stage.lastWriteAt - begun);
  }
  await clock.advance(1_000);
  expect(stage.ready().filter((ready) => !ready)).toHaveLength(50);
  expect(stage.writes).toBeLessThanOrEqual(50);
  expect(slowest).toBeLessThanOrEqual(100);
}, 60_000);

test('the owner is killed between a write and its outcome: the next one makes nothing twice, and goes on', async () => {
  const stage = new Stage();
  await stage.begin('a', 'b');
  await stage.cluster.clock.advance(6_000);
  for (let n = 0; n < 250; n++) await stage.put(n, {});
  const owner = [...stage.replicas.values()].find(
    ({ engine }) => engine.shards.runOf('service/shop/web')?.phase === 'active',
  );
  for (let ms = 0; stage.writes === 0 && ms < 2_000; ms++) await stage.cluster.clock.advance(1);
  expect(stage.writes).toBeGreaterThan(0);
  owner?.engine.kill();
  await stage.cluster.clock.advance(5_000);
  expect(stage.ready()).toHaveLength(250);
  expect(stage.api.objects.size).toBe(3);
  await stage.put(0, { ready: 'False' });
  await stage.cluster.clock.advance(1_000);
  expect(stage.ready().filter((ready) => !ready)).toHaveLength(1);
}, 60_000);
