/** Who may call, and when: bounds, turns and fairness of the process-wide limit. */
import { expect, test } from 'vitest';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

const { signal } = new AbortController();

/** A limiter whose calls end when the test says so. */
function begin(inFlight: number, waiting = 1_000) {
  const clock = new VirtualClock();
  const limiter = new FairLimiter(clock, { inFlight, waiting, turnMs: 1_000 });
  const running = new Map<string, Array<() => void>>();
  const answering = new Set<string>();
  const order: string[] = [];
  const call = (group: string) =>
    new Promise<void>((resolve) => {
      order.push(group);
      running.set(group, [...(running.get(group) ?? []), resolve]);
    });
  const turnOf = (group: string, cost: number) => ({
    ...{ group, isDoubtful: group.startsWith('doubtful') },
    ...{ hasAnswer: () => answering.has(group), cost },
  });
  /** A turn for one call. */
  const turn = (group: string, of: AbortSignal = signal) =>
    limiter.run(turnOf(group, 1), () => call(group), of);
  const turns = (group: string, count: number) => {
    for (let made = 0; made < count; made += 1) turn(group).catch(() => {});
    return settle();
  };
  /** A round of calls one after the other, in as many turns as it takes. */
  const round = (group: string, calls: number, cost = 1) => {
    let rest = calls;
    const work = async (lasts: () => boolean) => {
      do {
        rest -= 1;
        await call(group);
      } while (rest > 0 && lasts());
    };
    const all = async () => {
      while (rest > 0) await limiter.run(turnOf(group, cost), work, signal);
    };
    void all();
    return settle();
  };
  const end = async (group: string) => {
    running.get(group)?.shift()?.();
    await settle();
  };
  const runs = (group: string) => running.get(group)?.length ?? 0;
  return { clock, limiter, turn, turns, round, end, runs, order, answering };
}

test('never more calls are in flight than allowed, and all of them are made', async () => {
  const { limiter, turns, end, order } = begin(4);
  for (const group of ['a', 'b', 'c']) await turns(group, 10);
  let most = 0;
  for (let step = 0; step < 1_000 && order.length < 30; step += 1) {
    most = Math.max(most, limiter.inFlight);
    for (const group of ['a', 'b', 'c']) await end(group);
  }
  expect(order).toHaveLength(30);
  expect(most).toBeLessThanOrEqual(4);
});

test('a round makes one call after the other in its slot, until its turn is over', async () => {
  const { clock, round, end, order } = begin(1);
  await round('a', 60);
  await round('b', 60);
  for (let call = 0; call < 5; call += 1) await end('a');
  await clock.advance(1_000);
  await end('a');
  expect(order).toEqual(['a', 'a', 'a', 'a', 'a', 'a', 'b']);
});

test('a round whose turn was over waits for its next one behind those that wait', async () => {
  const { clock, round, end, runs, order } = begin(1);
  const groups = ['a', 'b', 'c'];
  for (const group of groups) await round(group, 8);
  while (order.length < 24 || groups.some((group) => runs(group) > 0)) {
    await clock.advance(300);
    for (const group of groups) if (runs(group) > 0) await end(group);
  }
  const turns = order.filter((group, n) => group !== order[n - 1]);
  expect(turns).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
});

test('whoever needs few calls for an answer is before those that came earlier and need many', async () => {
  const { round, end, order } = begin(1);
  for (let n = 0; n < 100; n += 1) await round(`many-${n}`, 60, 20);
  await round('few', 9, 2);
  for (let call = 0; call < 60; call += 1) await end('many-0');
  expect(order.at(-1)).toBe('few');
});

test('whoever needs many calls has its turn, however many come that need few', async () => {
  const { round, end, order } = begin(1);
  await round('few-0', 5, 2);
  await round('many', 20, 20);
  for (let n = 0; n < 100 && !order.includes('many'); n += 1) {
    await round(`few-${n + 1}`, 5, 2);
    for (let call = 0; call < 5; call += 1) await end(`few-${n}`);
  }
  expect(order.length).toBeLessThan(60);
});

test('a group whose calls never end leaves slots for everybody else', async () => {
  const { turns, runs, limiter } = begin(64);
  await turns('black-hole', 500);
  expect(runs('black-hole')).toBe(32);
  await turns('web', 3);
  expect(runs('web')).toBe(3);
  expect(limiter.inFlight).toBe(35);
});

test('of slots that become free one by one, a group takes a second once it has an answer', async () => {
  const { turns, end, runs, answering } = begin(2);
  await turns('a', 1);
  await turns('b', 1);
  await turns('b', 1);
  await turns('c', 1);
  await end('a');
  expect([runs('b'), runs('c')]).toEqual([1, 1]);
  answering.add('b');
  await end('c');
  expect(runs('b')).toBe(2);
});

test('groups that swallowed everything last time hold at most half of the slots together', async () => {
  const { turns, runs, limiter } = begin(64);
  for (let group = 0; group < 200; group += 1) await turns(`doubtful-${group}`, 3);
  expect(limiter.inFlight).toBe(32);
  await turns('web', 3);
  expect(runs('web')).toBe(3);
});

test('a turn of a doubtful group is one call', async () => {
  const { round, end, order } = begin(1);
  await round('doubtful', 3);
  await round('web', 3);
  await end('doubtful');
  expect(order).toEqual(['doubtful', 'web']);
});

test('while there is a free slot, a group that has none gets it', async () => {
  const { turns, runs } = begin(4);
  for (const group of ['a', 'b', 'c', 'd', 'e']) await turns(group, 1);
  expect(['a', 'b', 'c', 'd', 'e'].map(runs)).toEqual([1, 1, 1, 1, 0]);
});

test('a call that is given up before its turn takes no slot and nobody else’s turn', async () => {
  const { limiter, turn, turns, end, runs } = begin(1);
  await turns('a', 1);
  const giving = new AbortController();
  const given = turn('b', giving.signal).catch((error: Error) => error.message);
  await turns('c', 1);
  giving.abort(new Error('given up'));
  expect(await given).toBe('given up');
  expect(limiter.waiting).toBe(1);
  await end('a');
  expect([runs('b'), runs('c')]).toEqual([0, 1]);
});

test('a call that fails gives its slot back', async () => {
  const { limiter } = begin(1);
  const turn = { group: 'a', isDoubtful: false, hasAnswer: () => false, cost: 1 };
  await expect(limiter.run(turn, () => Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  expect(limiter.inFlight).toBe(0);
});

test('more calls than may wait are refused', async () => {
  const { turn, turns, limiter } = begin(1, 2);
  await turns('a', 3);
  await expect(turn('b')).rejects.toMatchObject({ code: 'MAILBOX_FULL' });
  expect(limiter.waiting).toBe(2);
});
