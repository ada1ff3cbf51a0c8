/**
 * What a checkpoint says of the feed while saves end: a transition that is not told yet is never counted as
 * told, or the next owner would leave it out of the feed. And how old an acknowledgement may be.
 */
import { expect, test } from 'vitest';
import { createSaver } from '../../../src/actors/host/saver.ts';
import { begin, createShardRun, feedPosition } from '../../../src/actors/shards/shard-run.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Appended, Bus } from '../../../src/bus/bus.ts';
import { ownClock, settle, VirtualClock } from '../../virtual-clock.ts';

test('between the acknowledgement and the step’s consequences a saved step counts as untold', async () => {
  const acknowledge = new Map<string, (appended: Appended) => void>();
  const append: Bus['append'] = (subject) => new Promise((resolve) => acknowledge.set(subject, resolve));
  const saver = createSaver({
    ...{ bus: { append } as Bus, clock: new VirtualClock(), random: seededRandom(1) },
    fenceSubject: (shard) => `fence.${shard}`,
  });
  const run = createShardRun(7, 3);
  run.feed.begun = 9;
  const save = (subject: string) =>
    saver.save(run, subject, new Uint8Array([1]), { onStored: (sequence) => begin(run.feed, sequence) });
  const [first, second] = [save('first'), save('second')];
  acknowledge.get('second')?.({ sequence: 11, duplicate: false });
  await second;
  // The second is told already, the first is still on its way.
  run.feed.outstanding.delete(11);
  expect(feedPosition(run)).toBe(9);
  acknowledge.get('first')?.({ sequence: 10, duplicate: false });
  const seen = new Set<number>();
  for (let tick = 0; tick < 20; tick++) {
    await Promise.resolve();
    seen.add(feedPosition(run));
  }
  await first;
  expect([...seen]).toEqual([9]);
  run.feed.outstanding.delete(10);
  expect(feedPosition(run)).toBe(11);
});

test.each([0, -60_000])(
  'an acknowledgement that is read after the machine slept does not count, also if its clock was set by %i ms',
  async (byMs) => {
    const clock = ownClock(new VirtualClock());
    const acknowledge: Array<(appended: Appended) => void> = [];
    const append: Bus['append'] = () => new Promise((resolve) => acknowledge.push(resolve));
    const saver = createSaver({
      ...{ bus: { append } as Bus, clock, random: seededRandom(1) },
      fenceSubject: (shard) => `fence.${shard}`,
    });
    const saving = saver.save(createShardRun(7, 3), 'state', new Uint8Array([1])).catch(({ code }) => code);
    await settle();
    clock.suspend(18_000);
    clock.leap(byMs);
    acknowledge[0]?.({ sequence: 10, duplicate: false });
    expect(await saving).toBe('BUS_UNKNOWN_OUTCOME');
  },
);
