/** How long an actor that has ended is remembered: as long as the stream does, whatever a clock is set to. */
import { expect, test } from 'vitest';
import { unpackRecord } from '../../../src/actors/host/records.ts';
import { goneRecordSeconds } from '../../../src/actors/step-order.ts';
import { ownClock } from '../../virtual-clock.ts';
import { type Outside, pod, reachable, TestCluster } from '../harness.ts';

const id = 'pod/shop/web-0';

function revisionIn(cluster: TestCluster): number {
  const records = cluster.hub
    .stored('state')
    .filter(({ subject }) => cluster.subjects.parseState(subject)?.id === id);
  return Math.max(0, ...records.map(({ data }) => unpackRecord(data, id).rev));
}

const goneRecordMs = goneRecordSeconds * 1_000;

/** A Pod that came and went, beside a replica whose clock can be set. */
async function ended(outside?: Outside) {
  const cluster = new TestCluster();
  if (outside) cluster.outside = outside;
  const clock = ownClock(cluster.clock);
  const first = await cluster.replica('a', { clock });
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  const goes = async () => {
    await cluster.remove('pods', 'shop', 'web-0');
    await cluster.clock.advance(2_000);
    return revisionIn(cluster);
  };
  const comes = async () => {
    await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'new' }));
    await cluster.clock.advance(2_000);
    return revisionIn(cluster);
  };
  return { cluster, clock, first, goes, comes, rev: await goes() };
}

test('a clock that is set forward by hours forgets nobody: revisions go on', async () => {
  const { cluster, clock, comes, rev } = await ended();
  clock.leap(3 * goneRecordMs);
  await cluster.clock.advance(60_000);
  expect(await comes()).toBeGreaterThan(rev);
});

test('nor does a new owner whose clock is ahead, or behind', async () => {
  for (const aheadMs of [2 * goneRecordMs, -2 * goneRecordMs]) {
    const { cluster, first, comes, rev } = await ended();
    const second = await cluster.replica('b', { clock: ownClock(cluster.clock, aheadMs) });
    first.engine.kill();
    await cluster.clock.advance(20_000);
    expect(second.engine.shards.runOf(id)?.phase).toBe('active');
    expect(await comes()).toBeGreaterThan(rev);
  }
});

test('after that time, with clocks that were set back, a new actor of the name begins anew', async () => {
  const { cluster, clock, comes } = await ended();
  clock.leap(-3 * goneRecordMs);
  await cluster.clock.advance(goneRecordMs + 60_000);
  expect(revisionIn(cluster)).toBe(0);
  await comes();
  const revisions = cluster.transitions().flatMap((step) => (step.id === id ? [step.rev] : []));
  expect(revisions.filter((rev) => rev === 1)).toHaveLength(2);
});

test('the hour counts from the last end: an earlier one forgets nobody', async () => {
  const { cluster, goes, comes } = await ended();
  await cluster.clock.advance(goneRecordMs / 2);
  await comes();
  const rev = await goes();
  await cluster.clock.advance(goneRecordMs / 2);
  expect(await comes()).toBeGreaterThan(rev);
});

test('and from when the record was stored last, without an effect that was still under way', async () => {
  const patches: Array<() => void> = [];
  const { cluster, comes, rev } = await ended((effect, run, replica) =>
    effect.type === 'pod-condition.patch'
      ? new Promise(
          (end) => void patches.push(() => end({ type: 'condition.patched', uid: 'a', status: 'True' })),
        )
      : reachable(effect, run, replica),
  );
  await cluster.clock.advance(10_000);
  for (const end of patches) end();
  await cluster.clock.advance(goneRecordMs - 5_000);
  expect(revisionIn(cluster)).toBe(rev);
  expect(await comes()).toBeGreaterThan(rev);
});
