/**
 * Endpoints through the engine, with virtual time: how many writes a burst of changes becomes, and how late
 * the last of them is.
 */
import { expect, test } from 'vitest';
import { echoMs, Stage, writeMs } from './stage.ts';

async function thousand(): Promise<Stage> {
  const stage = new Stage();
  await stage.begin('a');
  for (let n = 0; n < 1_000; n++) await stage.put(n, {});
  await stage.cluster.clock.advance(15_000);
  expect(stage.ready()).toEqual(Array(1_000).fill(true));
  stage.writes = 0;
  return stage;
}

/** So many ms lie between the change of that number and the next, where one is made each `everyMs`. */
const gapMs = (at: number, everyMs: number) => Math.floor((at + 1) * everyMs) - Math.floor(at * everyMs);

test.each([0.2, 1, 2.6])(
  '1,000 flips in one Service, one each %s ms: at most 31 writes, the last 0.1 s after the last flip',
  async (everyMs) => {
    const stage = await thousand();
    const { clock } = stage.cluster;
    const order = Array.from({ length: 1_000 }, (_, n) => (n * 389) % 1_000);
    for (const [at, n] of order.entries()) {
      await stage.put(n, { ready: 'False', readyAt: clock.now() });
      if (gapMs(at, everyMs) > 0) await clock.advance(gapMs(at, everyMs));
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
});

test.each([0, 1, 3.8])(
  '§9.3: half of 1,000 endpoints deleted, one each %s ms: at most ten writes, and five slices are left at once',
  async (everyMs) => {
    const stage = await thousand();
    const { clock } = stage.cluster;
    for (let n = 0; n < 1_000; n += 2) {
      await stage.put(n, null);
      if (gapMs(n / 2, everyMs) > 0) await clock.advance(gapMs(n / 2, everyMs));
    }
    const last = clock.now();
    await clock.advance(2_000);
    expect(stage.ready()).toHaveLength(500);
    expect(stage.writes).toBeLessThanOrEqual(10);
    expect(stage.lastWriteAt - last).toBeLessThanOrEqual(100);
    await clock.advance(12_000);
    expect(stage.api.objects.size).toBe(5);
    expect(stage.writes).toBeLessThanOrEqual(10);
  },
  60_000,
);

test('waves that an API server tells in clumps, with stalls of 40 ms and more, are no more writes', async () => {
  const stage = await thousand();
  const { clock } = stage.cluster;
  for (let n = 0; n < 1_000; n++) {
    await stage.put(n, { ready: 'False', readyAt: clock.now() });
    await clock.advance(n % 50 === 49 ? 40 : 2);
  }
  const flipped = clock.now();
  await clock.advance(2_000);
  expect(stage.ready()).toEqual(Array(1_000).fill(false));
  expect(stage.writes).toBeLessThanOrEqual(31);
  expect(stage.lastWriteAt - flipped).toBeLessThanOrEqual(100);
  await clock.advance(15_000);
  stage.writes = 0;
  for (let n = 0; n < 1_000; n += 2) {
    await stage.put(n, null);
    await clock.advance(n % 100 === 98 ? 60 : 2);
  }
  const removed = clock.now();
  await clock.advance(2_000);
  expect(stage.ready()).toHaveLength(500);
  expect(stage.writes).toBeLessThanOrEqual(10);
  expect(stage.lastWriteAt - removed).toBeLessThanOrEqual(100);
  expect(stage.api.objects.size).toBe(5);
}, 60_000);

test('§4.5: an endpoint that is removed alone waits 40 ms for company, no longer', async () => {
  const stage = new Stage();
  const { clock } = stage.cluster;
  await stage.begin('a');
  for (let n = 0; n < 20; n++) await stage.put(n, {});
  await clock.advance(15_000);
  const [begun, before] = [clock.now(), stage.writes];
  await stage.put(0, null);
  await clock.advance(2);
  await stage.put(1, null);
  while (stage.writes === before) await clock.advance(1);
  expect(stage.lastWriteAt - begun).toBeLessThanOrEqual(40);
  await clock.advance(1_000);
  expect(stage.writes).toBe(before + 1);
  expect(stage.ready()).toHaveLength(18);
});

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
});

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
});
