/** The share of a loaded feature (src/actors/time/pace.ts), with a clock whose time the test spends. */
import { expect, test } from 'vitest';
import { featureLimits } from '../../../src/actors/feature-limits.ts';
import { createStepper } from '../../../src/actors/host/step.ts';
import { noCare } from '../../../src/actors/time/care.ts';
import { carefulStepper } from '../../../src/actors/time/careful-stepper.ts';
import { createPaces, heldBack, type Pace } from '../../../src/actors/time/pace.ts';
import { defineKind, setup, v } from '../../../src/api/index.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

const { shareMs, shareSavedUpMs, stepMs, recordBytesPerMs, messagesSavedUp, messagesPerSecond } =
  featureLimits;

function stage() {
  const clock = new VirtualClock();
  const paces = createPaces(clock, (kind) => (kind === 'rogue' ? 'rogue' : undefined));
  return { clock, paces, pace: paces.ofFeature('rogue') };
}

/** Asks for a turn, and takes so long when it has it. @returns when it began */
async function work({ clock, pace }: { clock: VirtualClock; pace: Pace }, tookMs: number): Promise<number> {
  const turn = pace.turn();
  if (turn) await turn;
  const began = clock.monotonic();
  pace.charge(() => clock.spend(tookMs));
  return began;
}

test('kinds of the program have no share that could be used up', () => {
  expect(stage().paces.ofKind('pod')).toBeUndefined();
});

test('a feature that takes less than its share never waits', async () => {
  const { clock, pace } = stage();
  for (let n = 0; n < 1_000; n++) {
    expect(pace.turn()).toBeUndefined();
    pace.charge(() => clock.spend(1));
    await clock.advance(1_000 / shareMs);
  }
  expect(pace.used()).toEqual({ feature: 'rogue', busyMs: 1_000, heldMs: 0, isHeld: false });
});

test('a dear call is paid for before the next, in the order in which they came', async () => {
  const { clock, pace } = stage();
  const all = Array.from({ length: 5 }, () => work({ clock, pace }, 100));
  await clock.advance(10_000);
  const began = await Promise.all(all);
  const ordered = began.slice(1).map((at, index) => at - (began[index] ?? 0));
  // The first passes what was saved up; from then on each takes what the one before has cost.
  expect(ordered).toEqual(
    ordered.map(() => expect.closeTo((100 * 1_000) / shareMs, -1)).with(0, expect.any(Number)),
  );
  expect(ordered[0]).toBeLessThan((100 * 1_000) / shareMs);
});

test('calls that cost nothing do not wait for one another’s timers', async () => {
  const { clock, pace } = stage();
  pace.charge(() => clock.spend(shareSavedUpMs + 1));
  const all = Array.from({ length: 500 }, () => work({ clock, pace }, 0));
  await clock.advance(20);
  expect(await Promise.all(all)).toHaveLength(500);
});

test('a turn that nobody takes any more holds nobody up', async () => {
  const { clock, pace } = stage();
  pace.charge(() => clock.spend(2 * shareSavedUpMs));
  const given = pace.turn()?.then(() => pace.charge(() => false));
  const next = work({ clock, pace }, 1);
  await clock.advance(1_000);
  expect(await given).toBe(false);
  expect(await next).toBeLessThan(1_000);
});

test('what is called inside of a call is charged once', () => {
  const { clock, pace } = stage();
  pace.charge(() => pace.charge(() => clock.spend(10)));
  expect(pace.used().busyMs).toBe(10);
});

test('a saved record is charged by its bytes', async () => {
  const { clock, pace } = stage();
  pace.saved(400 * 1024);
  expect(pace.used().busyMs).toBeCloseTo(stepMs + (400 * 1024) / recordBytesPerMs);
  pace.saved(512 * 1024);
  pace.saved(512 * 1024);
  const turn = pace.turn();
  expect(turn).toBeDefined();
  await clock.advance(1_000);
  await turn;
});

test('messages go at once up to a number, and evenly from there on', async () => {
  const { clock, pace } = stage();
  expect(pace.messages(messagesSavedUp)).toBeUndefined();
  let isSent = false;
  void pace.messages(messagesPerSecond)?.then(() => {
    isSent = true;
  });
  await clock.advance(990);
  expect(isSent).toBe(false);
  await clock.advance(20);
  await settle();
  expect(isSent).toBe(true);
});

test('a list in which each row takes long is told in part, and whole again later', async () => {
  const { clock, pace } = stage();
  const { chart } = defineKind({
    ...{ name: 'rogue', version: 1, description: 'Tells slowly.', createdBy: ['rogue.go'] },
    machine: setup({}).createMachine({ id: 'rogue', context: {}, initial: 'idle', states: { idle: {} } }),
    messages: { 'rogue.go': v.object({}) },
    tell() {
      clock.spend(10);
      return { text: 'here I am' };
    },
  });
  const slow = carefulStepper(createStepper(chart), 'rogue', noCare, pace).chart;
  const tell = () => slow.tell?.({ states: ['idle'], context: {}, at: 0, since: 0 }).text;
  const list = Array.from({ length: 500 }, tell);
  expect(list[0]).toBe('here I am');
  expect(list.at(-1)).toBe(heldBack('rogue'));
  expect(clock.monotonic()).toBeLessThanOrEqual(shareSavedUpMs + shareMs + (shareMs * 300) / 1_000 + 10);
  await clock.advance(10_000);
  expect(tell()).toBe('here I am');
});
