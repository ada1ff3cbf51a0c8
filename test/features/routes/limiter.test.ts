/** Who may call, and when: bounds and fairness of the process-wide limit. */
import { expect, test } from 'vitest';
import { createLimiter } from '../../../src/features/routes/probe/limiter.ts';
import { settle } from '../../virtual-clock.ts';

const { signal } = new AbortController();

/** A limiter whose calls end when the test says so. */
function begin(inFlight: number, waiting = 1_000) {
  const limiter = createLimiter({ inFlight, waiting });
  const running = new Map<string, Array<() => void>>();
  const order: string[] = [];
  const call = (group: string, of: AbortSignal = signal) =>
    limiter.run(
      { group, isDoubtful: group.startsWith('doubtful') },
      () =>
        new Promise<void>((resolve) => {
          order.push(group);
          running.set(group, [...(running.get(group) ?? []), resolve]);
        }),
      of,
    );
  const calls = (group: string, count: number) => {
    for (let made = 0; made < count; made += 1) call(group).catch(() => {});
    return settle();
  };
  const end = async (group: string) => {
    running.get(group)?.shift()?.();
    await settle();
  };
  const runs = (group: string) => running.get(group)?.length ?? 0;
  return { limiter, call, calls, end, runs, order };
}

test('never more calls are in flight than allowed, and all of them are made', async () => {
  const { limiter, calls, end, order } = begin(4);
  for (const group of ['a', 'b', 'c']) await calls(group, 10);
  let most = 0;
  for (let step = 0; step < 1_000 && order.length < 30; step += 1) {
    most = Math.max(most, limiter.inFlight);
    for (const group of ['a', 'b', 'c']) await end(group);
  }
  expect(order).toHaveLength(30);
  expect(most).toBeLessThanOrEqual(4);
});

test('groups that wait take turns, however many calls one of them has', async () => {
  const { calls, end, order, runs } = begin(1);
  await calls('many', 100);
  await calls('few', 2);
  await calls('other', 2);
  order.length = 0;
  for (let step = 0; step < 6; step += 1)
    for (const group of ['many', 'few', 'other']) if (runs(group) > 0) await end(group);
  expect(order.slice(0, 5)).toEqual(['many', 'few', 'other', 'many', 'few'].slice(0, order.length));
});

test('a group whose calls never end leaves slots for everybody else', async () => {
  const { calls, runs, limiter } = begin(64);
  await calls('black-hole', 500);
  expect(runs('black-hole')).toBe(32);
  await calls('web', 3);
  expect(runs('web')).toBe(3);
  expect(limiter.inFlight).toBe(35);
});

test('groups that swallowed everything last time hold at most half of the slots together', async () => {
  const { calls, runs, limiter } = begin(64);
  for (let group = 0; group < 200; group += 1) await calls(`doubtful-${group}`, 3);
  expect(limiter.inFlight).toBe(32);
  await calls('web', 3);
  expect(runs('web')).toBe(3);
});

test('while there is a free slot, a group that has none gets it', async () => {
  const { calls, runs } = begin(4);
  for (const group of ['a', 'b', 'c', 'd', 'e']) await calls(group, 1);
  expect(['a', 'b', 'c', 'd', 'e'].map(runs)).toEqual([1, 1, 1, 1, 0]);
});

test('a call that is given up before its turn takes no slot and nobody else’s turn', async () => {
  const { limiter, call, calls, end, runs } = begin(1);
  await calls('a', 1);
  const giving = new AbortController();
  const given = call('b', giving.signal).catch((error: Error) => error.message);
  await calls('c', 1);
  giving.abort(new Error('given up'));
  expect(await given).toBe('given up');
  expect(limiter.waiting).toBe(1);
  await end('a');
  expect([runs('b'), runs('c')]).toEqual([0, 1]);
});

test('a call that fails gives its slot back', async () => {
  const { limiter } = begin(1);
  await expect(
    limiter.run({ group: 'a', isDoubtful: false }, () => Promise.reject(new Error('no')), signal),
  ).rejects.toThrow('no');
  expect(limiter.inFlight).toBe(0);
  expect(await limiter.run({ group: 'a', isDoubtful: false }, () => Promise.resolve(7), signal)).toBe(7);
});

test('more calls than may wait are refused', async () => {
  const { call, calls, limiter } = begin(1, 2);
  await calls('a', 3);
  await expect(call('b')).rejects.toMatchObject({ code: 'MAILBOX_FULL' });
  expect(limiter.waiting).toBe(2);
});
