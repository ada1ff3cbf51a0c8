/** An actor's history as it is read from the feed: what bounds it, and what becomes of what is no step. */
import { expect, test } from 'vitest';
import { readHistory } from '../../../src/actors/control/history.ts';
import { limits } from '../../../src/base/limits.ts';
import type { Bus, FollowOptions } from '../../../src/bus/bus.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
const id = 'pod/shop/web-0' as const;

function scene() {
  const clock = new VirtualClock();
  const bus = memoryHub({ clock, cluster: 'test' }).connect('replica');
  const store = async (data: Uint8Array) => {
    const stored = bus.append(subjects.event(id), data);
    await clock.advance(20);
    return stored;
  };
  const happen = (rev: number, note = '') => {
    const step = { id, rev, fence: 1, replica: 'r1', at: clock.now(), event: { type: 'pod.recheck', note } };
    return store(encodeJson({ ...step, cause: null, from: 'a', to: 'b', effects: [] }));
  };
  const read = async (from: Pick<Bus, 'follow'> = bus) => {
    const reading = readHistory({ bus: { ...bus, ...from }, subjects, clock, charts: [] }, id);
    reading.catch(() => {});
    await clock.advance(limits.historyMs + 100);
    return reading;
  };
  return { bus, store, happen, read };
}

test('what is no step on the feed is left out, and the steps around it are read', async () => {
  const { store, happen, read } = scene();
  await happen(1);
  for (const bytes of ['{', 'null', '5', '{"id":"pod/shop/web-0"}'])
    await store(new TextEncoder().encode(bytes));
  await happen(2);
  expect((await read()).steps.map(({ rev }) => rev)).toEqual([1, 2]);
});

test('steps with large events are held up to the bound in bytes, the newest of them', async () => {
  const { happen, read } = scene();
  const count = 30;
  for (let rev = 1; rev <= count; rev++) await happen(rev, 'x'.repeat(250_000));
  const { steps, left } = await read();
  expect(JSON.stringify(steps).length).toBeLessThanOrEqual(limits.historyBytes);
  expect(steps.at(-1)?.rev).toBe(count);
  expect(steps.length).toBeGreaterThan(10);
  expect(left).toBe(count - steps.length);
});

test('a stream that does not answer ends in time, and is read no longer', async () => {
  const { bus, happen, read } = scene();
  await happen(1);
  let stopped = 0;
  const neverAnswers = { follow: () => new Promise<never>(() => {}) };
  await expect(read(neverAnswers)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  const failsMidway = {
    follow: async (stream: 'event', options: FollowOptions) => {
      const following = await bus.follow(stream, options);
      const stop = () => following.stop().finally(() => stopped++);
      return { ...following, caughtUp: Promise.reject(new Error('the connection is closed')), stop };
    },
  } as Pick<Bus, 'follow'>;
  await expect(read(failsMidway)).rejects.toThrow('the connection is closed');
  expect(stopped).toBe(1);
});
