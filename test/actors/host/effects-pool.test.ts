/** How effects share the replica. */
import { describe, expect, test } from 'vitest';
import { createEffectsPool } from '../../../src/actors/host/effects-pool.ts';
import { limits } from '../../../src/base/limits.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { effect as declareEffect } from '../../../src/machines/effect.ts';
import { messageSend } from '../../../src/machines/effects.ts';
import { ownClock, settle, VirtualClock } from '../../virtual-clock.ts';

const hasty = declareEffect('hasty.go', {
  timeoutMs: () => {
    throw new Error('no such field');
  },
});

function scene(runEffect: (effect: { readonly type: string }) => Promise<PlainEvent>) {
  const nothing = () => {};
  const outcomes: string[] = [];
  const warnings: string[] = [];
  const isOwner = { now: true };
  const clock = new VirtualClock();
  const machine = ownClock(clock);
  const bus = memoryHub({ clock, cluster: 'test' }).connect();
  const pool = createEffectsPool({
    clock: machine,
    bus,
    log: { debug: nothing, info: nothing, warn: (_, text) => void warnings.push(text), error: nothing },
    metrics: { transition: nothing, stepSeconds: nothing, effect: nothing, deadLetter: nothing },
    runEffect,
    random: seededRandom(1),
    effects: new Map([messageSend, hasty].map((declared) => [declared.type, declared])),
  });
  const start = (type: string, signal = new AbortController().signal) =>
    pool.start(
      { type },
      { key: 'k', actor: 'pod/shop/web-0', signal, emit: nothing },
      ({ type: outcome }) => outcomes.push(outcome),
      () => (isOwner.now ? Promise.resolve() : Promise.reject(new Error('fenced'))),
    );
  return { pool, start, outcomes, warnings, bus, isOwner, clock, machine };
}

test('effects of one type are bounded, and the ones that wait run when others end', async () => {
  const ends: Array<(event: PlainEvent) => void> = [];
  const { pool, start, outcomes } = scene(() => new Promise((resolve) => ends.push(resolve)));
  for (let n = 0; n < limits.effectsInFlight + 5; n++) start('route.sample');
  expect([pool.running, pool.waiting]).toEqual([limits.effectsInFlight, 5]);
  for (const end of ends.splice(0, 3)) end({ type: 'done' });
  await settle();
  expect([pool.running, pool.waiting]).toEqual([limits.effectsInFlight, 2]);
  expect(outcomes).toEqual(['done', 'done', 'done']);
});

test('an effect whose time limit cannot be worked out has failed, and takes no place', async () => {
  const { pool, start, outcomes } = scene(({ type }) => Promise.resolve({ type }));
  start('hasty.go');
  await settle();
  expect(outcomes).toEqual(['effect.settled']);
  expect([pool.running, pool.waiting]).toEqual([0, 0]);
});

test('however many rounds hang, a Pod is marked and a message is sent at once', async () => {
  const hangs = new Promise<never>(() => {});
  const { start, outcomes } = scene(({ type }) =>
    type === 'route.sample' ? hangs : Promise.resolve({ type }),
  );
  for (let n = 0; n < 3 * limits.effectsInFlight; n++) start('route.sample');
  start('pod-condition.patch');
  start('message.send');
  await settle();
  expect(outcomes).toEqual(['pod-condition.patch', 'message.send']);
});

test('what waits for a shard that was given up meanwhile never runs', async () => {
  const { pool, start, outcomes } = scene(() => new Promise(() => {}));
  const given = new AbortController();
  for (let n = 0; n < limits.effectsInFlight + 5; n++) start('route.sample', given.signal);
  given.abort();
  await settle();
  expect([pool.running, pool.waiting]).toEqual([0, 0]);
  expect(outcomes).toEqual([]);
});

test('while the bus is away no effect begins, and all of them do once it is back', async () => {
  const { pool, start, outcomes, bus } = scene(({ type }) => Promise.resolve({ type }));
  bus.faults.setLink('down');
  start('route.sample');
  start('message.send');
  await settle();
  expect([pool.running, pool.waiting, outcomes]).toEqual([0, 2, []]);
  bus.faults.setLink('up');
  await settle();
  expect(outcomes).toEqual(['route.sample', 'message.send']);
});

test('what waited for the bus never runs if another replica has taken the shard meanwhile', async () => {
  const { pool, start, outcomes, bus, isOwner } = scene(({ type }) => Promise.resolve({ type }));
  bus.faults.setLink('down');
  start('route.sample');
  isOwner.now = false;
  bus.faults.setLink('up');
  await settle();
  expect([pool.running, pool.waiting, outcomes]).toEqual([0, 0, []]);
});

test('what waited long behind others runs only if the shard is still ours', async () => {
  const ends: Array<(event: PlainEvent) => void> = [];
  const { pool, start, isOwner, clock } = scene(() => new Promise((resolve) => ends.push(resolve)));
  for (let n = 0; n < limits.effectsInFlight + 1; n++) start('route.sample');
  await clock.advance(limits.appendTimeoutMs + 1);
  isOwner.now = false;
  ends[0]?.({ type: 'done' });
  await settle();
  expect([pool.running, pool.waiting, ends.length]).toEqual([
    limits.effectsInFlight - 1,
    0,
    limits.effectsInFlight,
  ]);
});

test('so does what waited while the machine slept, also if its clock was set back', async () => {
  const ends: Array<(event: PlainEvent) => void> = [];
  const { pool, start, isOwner, machine } = scene(() => new Promise((resolve) => ends.push(resolve)));
  for (let n = 0; n < limits.effectsInFlight + 1; n++) start('route.sample');
  machine.suspend(20_000);
  machine.leap(-60_000);
  isOwner.now = false;
  ends[0]?.({ type: 'done' });
  await settle();
  expect([pool.waiting, ends.length]).toEqual([0, limits.effectsInFlight]);
});

test('a failure is logged with what follows: the actor was told', async () => {
  const { start, warnings } = scene(() => Promise.reject(new Error('forbidden')));
  start('route.sample');
  await settle();
  expect(warnings).toEqual([expect.stringMatching(/^effect failed; the actor was told.*orrery explain/)]);
});

describe('an effect that goes on until it is done', () => {
  /** Fails so often, then is done. */
  const failing = (times: number) => {
    const tries: string[] = [];
    const run = ({ type }: { readonly type: string }): Promise<PlainEvent> => {
      tries.push(type);
      return tries.length <= times
        ? Promise.reject(new Error('no leader'))
        : Promise.resolve({ type: 'done' });
    };
    return { tries, run };
  };

  test('is tried again, however long it fails, and has one outcome', async () => {
    const { tries, run } = failing(40);
    const { start, outcomes, clock } = scene(run);
    start('message.send');
    await clock.advance(10_000);
    expect(tries.length).toBeGreaterThan(3);
    expect(outcomes).toEqual([]);
    await clock.advance(3_600_000);
    expect([tries.length, outcomes]).toEqual([41, ['done']]);
  });

  test('holds no place while it pauses', async () => {
    const { run } = failing(2);
    const { pool, start, clock } = scene(run);
    start('message.send');
    await settle();
    expect(pool.running).toBe(0);
    await clock.advance(60_000);
  });

  test('is not tried again once its shard is given up', async () => {
    const { tries, run } = failing(5);
    const { start, outcomes, clock } = scene(run);
    const given = new AbortController();
    start('message.send', given.signal);
    await settle();
    given.abort();
    await clock.advance(600_000);
    expect([tries.length, outcomes]).toEqual([1, []]);
  });

  test('after a long pause only if the shard is surely ours', async () => {
    const { tries, run } = failing(40);
    const { start, clock, isOwner } = scene(run);
    start('message.send');
    await clock.advance(120_000);
    isOwner.now = false;
    const before = tries.length;
    await clock.advance(600_000);
    expect(tries.length).toBe(before);
  });

  test('any other effect ends with its first failure', async () => {
    const { run } = failing(1);
    const { start, outcomes, clock } = scene(run);
    start('pod-condition.patch');
    await clock.advance(60_000);
    expect(outcomes).toEqual(['effect.settled']);
  });
});
