/** What checkers of the simulation must not take for a broken promise, and what they must. */
import { expect, test } from 'vitest';
import type { CheckerKind } from '../../packages/testing/checkers/checker.ts';
import { deadlines } from '../../packages/testing/checkers/deadlines.ts';
import { feed } from '../../packages/testing/checkers/feed.ts';
import { names } from '../../packages/testing/checkers/names.ts';
import { nothingStarves } from '../../packages/testing/checkers/nothing-starves.ts';
import { repetition } from '../../packages/testing/checkers/repetition.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import type { ActorRecord, TimerRecord } from '../../src/actors/host/records.ts';
import { remembrance, tellId } from '../../src/actors/shards/message-ids.ts';
import { releaseChart } from '../../src/machines/release/release.ts';
import { charts } from '../../src/replica/charts.ts';
import type { AcmeAuthority } from './certificates/acme-authority.ts';
import { ordersInBudget } from './certificates/checkers/orders-in-budget.ts';
import { settled } from './checkers/settled.ts';

const id = 'release/_/platform';

function judged(kind: CheckerKind<never>) {
  let now = 1_700_000_000_000;
  const breaches: string[] = [];
  const world = {
    ...{ clock: { now: () => now, monotonic: () => now }, shards: 0, kubeErrors: 0 },
    ...{ mirror: { isIdle: true }, routing: { isSettled: true } },
    kube: { entries: () => [], onChange: () => () => {} },
  };
  const eye = {
    world,
    now: () => now,
    replicas: () => [],
    breach: (text: string) => void breaches.push(text),
  };
  const see = kind.create(eye as never);
  return {
    see,
    breaches,
    now: () => now,
    pass(ms: number) {
      for (const end = now + ms; now < end; now += 1_000) see({ kind: 'second' });
    },
  };
}

function saved(rev: number, change: Partial<ActorRecord>): Sighting {
  const record = {
    ...{ format: 1, machine: 'release', version: 1, rev, gone: false, timers: [], outbox: [], feed: [] },
    ...{ snapshot: { value: { leading: { applying: 'retrying' } }, context: {} }, at: 0, ...change },
  } as unknown as ActorRecord;
  return { kind: 'saved', id, shard: '0', sequence: rev, record, before: null, bytes: 1 } as never;
}

const retry = 'xstate.after.retry.release.retrying';
const timer = (at: number, delayMs: number): TimerRecord => ({
  ...{ id: retry, event: { type: retry } },
  ...{ at, delayMs },
});

const starving = nothingStarves({ charts, restMs: 3_600_000, standing: [], mayWait: () => true });

test('a deadline set by a clock that was behind is over when its time has passed, not before', () => {
  for (const kind of [starving, deadlines([releaseChart])]) {
    const { see, breaches, now, pass } = judged(kind as CheckerKind<never>);
    if (kind !== starving) see({ kind: 'calm' });
    const overdue = () => breaches.filter((text) => text.includes('xstate.after.retry'));
    // 54 minutes behind: by the record it was over long ago.
    see(saved(1, { timers: [timer(now() - 54 * 60_000 + 300_000, 300_000)] }));
    pass(300_000);
    expect(overdue()).toEqual([]);
    pass(60_000);
    expect(overdue().length).toBeGreaterThan(0);
  }
});

test('a deadline that is not heard counts from its moment, also if the actor steps meanwhile', () => {
  const { see, breaches, now, pass } = judged(starving as CheckerKind<never>);
  const timers = [timer(now() + 10_000, 10_000)];
  for (let rev = 1; rev <= 50; rev++) {
    see(saved(rev, { timers }));
    pass(1_000);
  }
  expect(breaches).toEqual([]);
  pass(10_000);
  expect(breaches.length).toBeGreaterThan(0);
});

test('a deadline that comes to nothing may stand in its record until housekeeping, slow in peace, has come by twice', () => {
  for (const kind of [starving, deadlines([releaseChart])]) {
    const { see, breaches, now, pass } = judged(kind as CheckerKind<never>);
    const left = 'xstate.after.nodesPatience.release.waitingForNodes';
    const overdue = () => breaches.filter((text) => text.includes(left));
    if (kind !== starving) see({ kind: 'calm' });
    see(saved(1, { timers: [{ ...timer(now() + 10_000, 10_000), id: left, event: { type: left } }] }));
    pass(130_000);
    expect(overdue()).toEqual([]);
    pass(10_000);
    expect(overdue().length).toBeGreaterThan(0);
  }
});

test('an effect that has ended may stand in its record until housekeeping, slow in peace, has come by twice', () => {
  const { see, breaches, pass } = judged(deadlines([]) as CheckerKind<never>);
  const missing = () => breaches.filter((text) => text.includes('no outcome'));
  see({ kind: 'calm' });
  see(saved(1, { outbox: [{ key: `${id}/1/0`, effect: { type: 'message.send' } }] as never }));
  pass(120_000);
  expect(missing()).toEqual([]);
  pass(10_000);
  expect(missing().length).toBeGreaterThan(0);
});

const told = (rev: number): Sighting => ({ kind: 'told', transition: { id, rev } as never });
const step = (rev: number) => saved(rev, { feed: [{ id, rev }] as never });

test('several steps that nobody confirmed may be told again once the stream has forgotten them, and not before', () => {
  const day = 24 * 3_600_000;
  for (const [waitMs, isBroken] of [
    [day + 60_000, false],
    [day - 60_000, true],
  ] as const) {
    const { see, breaches, pass } = judged(feed as CheckerKind<never>);
    see(step(1));
    see({ ...step(2), before: {} } as never);
    for (const rev of [1, 2]) see(told(rev));
    pass(waitMs);
    for (const rev of [1, 2]) see(told(rev));
    expect(breaches.length > 0).toBe(isBroken);
  }
});

test('a message is taken once; another one under the key of a sender’s former life is another one', () => {
  const cause = 'pod/shop/web-1/5/0';
  const takes = (rev: number, word: string) =>
    saved(rev, {
      mail: rev,
      recentIds: [remembrance(tellId(cause, 0, word))],
      feed: [{ id, rev, cause, event: { type: 'route.wanted' } }] as never,
    });
  for (const [second, isBroken] of [
    ['another', false],
    ['one', true],
  ] as const) {
    const kind = repetition({ isByMail: () => true, isFromPeople: () => false });
    const { see, breaches } = judged(kind as CheckerKind<never>);
    see(takes(2, 'one'));
    see({ ...takes(8, second), before: { rev: 7, mail: 2 } } as never);
    expect(breaches.length > 0).toBe(isBroken);
  }
});

test('a shard changes hands as often as replicas come and go, and not more than twenty times in ten seconds without', () => {
  for (const [starts, isBroken] of [
    [0, true],
    [4, true],
    [7, false],
  ] as const) {
    const { see, breaches } = judged(names as CheckerKind<never>);
    for (let n = 0; n < starts; n++) see({ kind: 'done', text: `r${n} starts` });
    for (let n = 0; n < 21; n++) see({ kind: 'fence', shard: 0, replica: 'r0', sequence: n });
    expect(breaches.length > 0).toBe(isBroken);
  }
});

test('what is missing at the end has its time each by itself: of many watched routes some are always in work', () => {
  const { see, breaches, pass } = judged(settled as CheckerKind<never>);
  const working = (rev: number) =>
    see(
      saved(rev, {
        gone: true,
        at: 1_700_000_000_000,
        outbox: [{ key: `${id}/${rev}/0`, effect: { type: 'message.send' } }] as never,
      }),
    );
  see({ kind: 'calm' });
  for (let rev = 1; rev <= 300; rev++) {
    working(rev);
    pass(1_000);
  }
  expect(breaches).toEqual([]);
  pass(182_000);
  expect(breaches[0]).toContain(`${id}/300/0`);
});

test('each order whose effect begins again may be made once more; another one is beyond the budget', () => {
  const orders: Array<{ madeAt: number; isSuggested: boolean }> = [];
  const authority = { orders } as unknown as AcmeAuthority;
  const scene = { authority, ordersPer3h: 5 };
  const { see, breaches, now, pass } = judged(ordersInBudget(scene) as CheckerKind<never>);
  const order = (key: string) => {
    see({ kind: 'effect', key, effect: { type: 'acme.order' } } as never);
    orders.push({ madeAt: now(), isSuggested: false });
    pass(1_000);
  };
  const keys = [1, 2, 3, 4, 5].map((n) => `domain/_/h${n}/4/0`);
  for (const key of [...keys, ...keys]) order(key);
  expect(breaches).toEqual([]);
  order('domain/_/h1/9/0');
  expect(breaches).toHaveLength(1);
});
