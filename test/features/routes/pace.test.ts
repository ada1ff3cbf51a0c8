/** docs/features/routes.md §4.13 and §4.14: rests within a round. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import { type Listing, Pace, type Progress } from '../../../src/features/routes/probe/pace.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const { signal } = new AbortController();
/** So many rounds that one more makes the process a busy one. */
const busy = 4 * limits.probeCallsInFlight;

/** A round for ten Pods, of which the slices list some. */
function startRound(listed: readonly string[] | null, running = busy) {
  const clock = new VirtualClock();
  const slices = { listed: new Set(listed), coming: 0, change: () => {} };
  const listing: Listing = {
    addressesOf: () => slices.listed,
    comingTo: () => slices.coming,
    moment: () => 0,
    podAt: () => undefined,
    heldAt: () => new Map(),
    onChange(_group, listener) {
      slices.change = listener;
      return () => {};
    },
  };
  const progress = {
    missing: new Set(Array.from({ length: 10 }, (_, n) => `10.0.0.${n}`)),
    named: new Set<string>(),
    ...{ answered: 0, anonymous: 0, unreachable: 0, fruitless: 0 },
  } satisfies Progress;
  const rounds = { running, resting: 0 };
  const pace = new Pace({
    ...{ clock, group: 'shop/web', progress, attempts: 3, backends: () => 10, rounds },
    listing: listed === null ? undefined : listing,
  });
  const answer = (ip: string) => {
    progress.answered += 1;
    progress.named.add(ip);
    progress.fruitless = progress.missing.delete(ip) ? 0 : progress.fruitless + 1;
    pace.noted();
  };
  const refuse = () => {
    progress.unreachable += 1;
    pace.noted();
  };
  /** Calls that may be made within this time, ms, each of which `outcome` follows. */
  const callsWithin = async (ms: number, outcome: () => void) => {
    let calls = 0;
    const end = new AbortController();
    const calling = (async () => {
      for (;;) {
        await pace.untilCall(end.signal);
        if (end.signal.aborted || calls >= 1_000) return;
        calls += 1;
        outcome();
      }
    })();
    await clock.advance(ms);
    end.abort();
    await calling;
    return calls;
  };
  return { clock, pace, progress, slices, rounds, answer, refuse, callsWithin };
}

describe('calls that nothing answers', () => {
  test('the first three are followed by a rest each, and then the round finds out', async () => {
    const { callsWithin, refuse } = startRound(null);
    expect(await callsWithin(199, refuse)).toBe(1);
    expect(await callsWithin(1, refuse)).toBe(1);
    expect(await callsWithin(250, refuse)).toBe(1);
    expect(await callsWithin(400, refuse)).toBe(1_000);
  });

  test('answers without a header are not waited for: whether there is any is to be known', async () => {
    const { callsWithin, progress } = startRound([]);
    const answer = () => {
      progress.answered += 1;
      progress.anonymous += 1;
    };
    answer();
    expect(await callsWithin(1, answer)).toBe(1_000);
  });
});

describe('while few rounds run', () => {
  test('a refused call is followed by a tenth of a second', async () => {
    const { callsWithin, refuse } = startRound(null, 0);
    expect(await callsWithin(99, refuse)).toBe(1);
    expect(await callsWithin(1, refuse)).toBe(1);
  });

  test('answers without news are followed by a fiftieth, once a routed Pod would probably have been met', async () => {
    const { callsWithin, answer, progress } = startRound(null, 0);
    for (const ip of [...progress.missing].slice(1)) answer(ip);
    expect(await callsWithin(39, () => answer('10.0.0.1'))).toBe(20);
  });

  test('calls wait 0.15 s after a changed slice: the routing learns of it later', async () => {
    const calls = async (ms: number) => {
      const { callsWithin, answer, slices, clock } = startRound(['10.0.0.1'], 0);
      slices.change();
      clock.after(100, () => slices.change());
      return callsWithin(ms, () => answer('10.0.0.1'));
    };
    expect(await calls(249)).toBe(0);
    expect(await calls(250)).toBeGreaterThan(0);
  });

  test('slices that change without end hold up no call for longer than three such rests', async () => {
    const { callsWithin, answer, slices, clock } = startRound(['10.0.0.1'], 0);
    for (let n = 0; n < 100; n++) clock.after(50 * n, () => slices.change());
    const calls = await callsWithin(5_000, () => answer('10.0.0.1'));
    expect(calls).toBeGreaterThan(15);
    expect(calls).toBeLessThan(100);
  });
});

describe('Pods that the slices do not list', () => {
  test.each([
    ['while few rounds run', 0],
    ['in a busy process', busy],
  ])('cost a call after each rest of half a second, which grows to two, %s', async (_, running) => {
    const { callsWithin, answer } = startRound(['10.0.1.1'], running);
    const meetOther = () => answer('10.0.1.1');
    expect(await callsWithin(499, meetOther)).toBe(0);
    expect(await callsWithin(1, meetOther)).toBe(1);
    const calls = await callsWithin(60_000, meetOther);
    expect(calls).toBeGreaterThan(30);
    expect(calls).toBeLessThan(35);
  });

  test('are asked for no sooner because another one asks, or because the slices list somebody else', async () => {
    const { callsWithin, answer, slices, pace, clock } = startRound(['10.0.1.1']);
    clock.after(250, () => {
      pace.wake();
      slices.listed = new Set(['10.0.1.1', '10.0.1.2']);
      slices.change();
    });
    expect(await callsWithin(499, () => answer('10.0.1.1'))).toBe(0);
  });

  test('cost as few calls where refusals have worn out the patience of a quiet process', async () => {
    const { callsWithin, refuse } = startRound([], 0);
    expect(await callsWithin(5_000, refuse)).toBeLessThan(6);
  });

  test('are asked for at once when a slice lists one', async () => {
    const { callsWithin, answer, slices, pace } = startRound(['10.0.1.1']);
    await callsWithin(5_000, () => answer('10.0.1.1'));
    slices.listed = new Set(['10.0.1.1', '10.0.0.1']);
    slices.change();
    expect(pace.mayCall()).toBe(true);
    expect(pace.mayCall()).toBe(true);
  });

  test('cost no rest where an address answers that is not listed: the routing follows something else', async () => {
    const { callsWithin, answer, pace } = startRound([]);
    expect(await callsWithin(500, () => answer('10.0.2.2'))).toBeGreaterThan(1);
    answer('10.0.0.1');
    expect(pace.mayCall()).toBe(true);
  });
});

test('answers without news are followed by a rest when a Pod that is routed would have been met', async () => {
  const { callsWithin, answer, progress } = startRound(null);
  for (const ip of [...progress.missing].slice(1)) answer(ip);
  expect(await callsWithin(199, () => answer('10.0.0.1'))).toBe(30);
  expect(await callsWithin(1, () => answer('10.0.0.1'))).toBe(30);
});

test('a question ends the rest', async () => {
  const { pace, refuse, rounds } = startRound(null);
  refuse();
  expect(pace.mayCall()).toBe(false);
  const calling = pace.untilCall(signal);
  expect(rounds.resting).toBe(1);
  pace.wake();
  await calling;
  expect(rounds.resting).toBe(0);
});

test('beyond a number of rounds that rest none does', () => {
  const { pace, refuse, rounds } = startRound(null);
  refuse();
  rounds.resting = limits.probeRoundsResting;
  expect(pace.mayCall()).toBe(true);
});

describe('while more Pods are expected', () => {
  const listed = Array.from({ length: 10 }, (_, n) => `10.0.0.${n}`);

  test('a round makes a call each two seconds', async () => {
    const { callsWithin, slices, answer } = startRound(listed);
    slices.coming = 1;
    expect(await callsWithin(4_000, () => answer('10.0.0.1'))).toBe(2);
  });

  test('it makes them without a rest once all are listed', async () => {
    const { slices, pace, callsWithin, answer } = startRound(listed);
    slices.coming = 1;
    await callsWithin(500, () => answer('10.0.0.1'));
    slices.coming = 0;
    slices.change();
    expect([pace.mayCall(), pace.mayCall()]).toEqual([true, true]);
  });

  test('and once the slices have not changed for five seconds: those that are missing may never come', async () => {
    const { slices, callsWithin, answer } = startRound(listed);
    slices.coming = 1;
    expect(await callsWithin(5_000, () => answer('10.0.0.1'))).toBeLessThan(4);
    expect(await callsWithin(1_500, () => answer('10.0.0.1'))).toBeGreaterThan(3);
  });
});
