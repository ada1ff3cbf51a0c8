/** Deadlines under clocks that are wrong, set, or asleep: none is left far away, none comes early or late. */
import { describe, expect, test } from 'vitest';
import { recordOf } from '../../../src/actors/host/cell.ts';
import { type TimerRecord, unpackRecord } from '../../../src/actors/host/records.ts';
import { createTimers } from '../../../src/actors/host/timers.ts';
import { limits } from '../../../src/base/limits.ts';
import { ownClock, VirtualClock } from '../../virtual-clock.ts';
import { finished, type Outside, reachable, TestCluster, type TestReplica } from '../harness.ts';

const hour = 3_600_000;

function scene() {
  const time = new VirtualClock();
  const clock = ownClock(time);
  const fired: string[] = [];
  const timers = createTimers<string>(clock, (what) => void fired.push(what));
  return { time, clock, timers, fired };
}

describe('the deadlines of a replica that goes on', () => {
  test.each([hour, -hour, 400, -400])(
    'come after their delay when the clock is set by %i ms',
    async (byMs) => {
      const { time, clock, timers, fired } = scene();
      timers.add({ at: clock.now() + 30_000, delayMs: 30_000 }, 'before');
      await time.advance(1_000);
      clock.leap(byMs);
      timers.add({ at: clock.now() + 10_000, delayMs: 10_000 }, 'after');
      await time.advance(9_999);
      expect(fired).toEqual([]);
      await time.advance(1);
      expect(fired).toEqual(['after']);
      await time.advance(18_998);
      expect(fired).toEqual(['after']);
      await time.advance(2);
      expect(fired).toEqual(['after', 'before']);
    },
  );

  test('come in their order when the clock goes back and forth', async () => {
    const { time, clock, timers, fired } = scene();
    for (const [n, byMs] of [hour, -2 * hour, 3 * hour, -hour].entries()) {
      timers.add({ at: clock.now() + 40_000 }, `${n}`);
      await time.advance(5_000);
      clock.leap(byMs);
    }
    await time.advance(60_000);
    expect(fired).toEqual(['0', '1', '2', '3']);
  });

  test('that were over while the machine slept come at the next look', async () => {
    const { time, clock, timers, fired } = scene();
    timers.add({ at: clock.now() + 60_000 }, 'slept');
    timers.add({ at: clock.now() + 2 * hour }, 'still to come');
    clock.suspend(hour);
    await time.advance(1_000);
    expect(fired).toEqual([]);
    timers.look();
    expect(fired).toEqual(['slept']);
    await time.advance(hour);
    expect(fired).toEqual(['slept', 'still to come']);
  });

  test('that somebody with a clock ahead has written are no further than their delay', async () => {
    const { time, clock, timers, fired } = scene();
    timers.add({ at: clock.now() + hour, delayMs: 5_000 }, 'bounded');
    timers.add({ at: clock.now() + hour }, 'of an earlier release');
    await time.advance(5_000);
    expect(fired).toEqual(['bounded']);
    await time.advance(hour);
    expect(fired).toEqual(['bounded', 'of an earlier release']);
  });
});

const id = 'service/shop/svc-0';
const nowhere: Outside = async (effect, run, replica) =>
  effect.type === 'route.sample' ? finished(Number(effect.round), []) : reachable(effect, run, replica);
const sampledBy = (cluster: TestCluster, name: string) =>
  cluster.ranOf('route.sample').filter(({ replica }) => replica === name).length;
const timersOf = ({ engine }: TestReplica) => {
  const cell = engine.shards.runOf(id)?.cells.get(id);
  return (cell && recordOf(cell)?.timers) ?? [];
};

describe('a shop whose route is looked for', () => {
  test.each([
    ['an hour', hour],
    ['a year', 365 * 24 * hour],
  ])('goes on within seconds after an owner whose clock was %s ahead', async (_, aheadMs) => {
    const cluster = new TestCluster();
    cluster.outside = nowhere;
    const wrong = await cluster.replica('wrong', { clock: ownClock(cluster.clock, aheadMs) });
    await cluster.shop(1, 1);
    await cluster.clock.advance(30_000);
    expect(sampledBy(cluster, 'wrong')).toBeGreaterThan(10);
    wrong.engine.kill();
    const right = await cluster.replica('right');
    await cluster.clock.advance(3_000);
    const timers = timersOf(right);
    expect(timers.length).toBeGreaterThan(0);
    for (const { at, delayMs } of timers)
      expect(at).toBeLessThanOrEqual(cluster.clock.now() + Number(delayMs));
    await cluster.clock.advance(20_000);
    expect(sampledBy(cluster, 'right')).toBeGreaterThanOrEqual(3);
    right.engine.kill();
  });

  test.each([hour, -hour])('goes on when the clock of its owner is set by %i ms', async (byMs) => {
    const cluster = new TestCluster();
    cluster.outside = nowhere;
    const clock = ownClock(cluster.clock);
    const a = await cluster.replica('a', { clock });
    await cluster.shop(1, 1);
    await cluster.clock.advance(120_000);
    clock.leap(byMs);
    const before = sampledBy(cluster, 'a');
    await cluster.clock.advance(60_000);
    // A pause of at most 6.25 s, and rounds that take no time here.
    expect(sampledBy(cluster, 'a') - before).toBeGreaterThanOrEqual(9);
    a.engine.kill();
  });

  test('is stored with the mended deadline, so that the owner after that begins no new delay', async () => {
    const cluster = new TestCluster();
    const wrong = await cluster.replica('wrong', { clock: ownClock(cluster.clock, hour) });
    await cluster.shop(1, 1);
    await cluster.clock.advance(30_000);
    wrong.engine.kill();
    const isFar = ({ at, delayMs }: TimerRecord) => at > cluster.clock.now() + Number(delayMs);
    const far = () => storedTimers(cluster).filter(isFar).length;
    expect(far()).toBeGreaterThan(0);
    const right = await cluster.replica('right');
    await cluster.clock.advance(limits.restAfterMs + 2_000);
    expect(far()).toBe(0);
    right.engine.kill();
  });
});

function storedTimers({ hub, subjects }: TestCluster): TimerRecord[] {
  return hub.stored('state').flatMap(({ subject, data }) => {
    const parsed = subjects.parseState(subject);
    return parsed ? [...unpackRecord(data, parsed.id).timers] : [];
  });
}
