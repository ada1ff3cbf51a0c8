/**
 * The reason of an actor: the chart's words, and what is said where it has none, where it fails, and where
 * there is no chart.
 */
import { describe, expect, test } from 'vitest';
import { setup } from 'xstate';
import { summaryOf } from '../../../src/actors/control/actor-views.ts';
import { healthOf, reasonOf, reasonWithout } from '../../../src/actors/control/reason.ts';
import { createCell, note } from '../../../src/actors/host/cell.ts';
import { nextRecord } from '../../../src/actors/host/next-record.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { createStepper, type StepResult } from '../../../src/actors/host/step.ts';
import { createShardRun } from '../../../src/actors/shards/shard-run.ts';
import type { Chart, StoredState } from '../../../src/machines/chart.ts';
import { type Tell, tells } from '../../../src/machines/tell.ts';

const machine = setup({
  types: { tags: {} as 'settled' | 'wrong', events: {} as { type: 'fail' | 'try' | 'mend' } },
}).createMachine({
  initial: 'fine',
  states: {
    fine: { description: 'All is well.', tags: 'settled', on: { fail: 'failed' } },
    failed: { description: 'It failed.', tags: 'wrong', on: { try: 'trying' } },
    trying: {
      description: 'It is tried again.',
      on: { fail: 'failed', mend: 'fine' },
      after: { 500: 'failed' },
    },
  },
});

function chartOf(tell?: Tell<unknown>): Chart {
  const base = {
    name: 'thing',
    version: 1,
    description: '',
    machine,
    durable: true,
    createdBy: [],
    effects: [],
  };
  return tell === undefined ? base : { ...base, tell };
}

const place = { random: { id: () => 'word' }, fence: 1, mailOf: '', replica: 'r' };

/** The record after these events, one a second from 1,000 ms on. */
function recordAfter(chart: Chart, events: readonly string[]): ActorRecord {
  const stepper = createStepper(chart);
  const id = 'thing/_/one' as const;
  let record: ActorRecord | null = null;
  let at = 0;
  for (const type of events) {
    at += 1_000;
    const event = { type, at, random: 0.5 };
    const result: StepResult =
      record === null
        ? stepper.begin({ id, namespace: '_', name: 'one' }, event)
        : stepper.step(stepper.restore(record.snapshot, 1), event);
    const item = { event: { type }, cause: null };
    record = nextRecord({ ...{ id, stepper, before: record, item, event, result }, ...place }).record;
  }
  if (record === null) throw new Error('no event was given');
  return record;
}

const cell = (state: string) => createCell('thing/_/one', createShardRun(0, 1), null, state);

describe('since when', () => {
  test('a trouble lasts over every retry, and is over with the first state that is well', () => {
    const chart = chartOf();
    const since = (events: readonly string[]) => {
      const record = recordAfter(chart, events);
      const { health, since } = reasonOf(cell('x'), record, chart, 99_000).reason;
      return [health, since];
    };
    expect(since(['none'])).toEqual(['ok', 1_000]);
    expect(since(['none', 'fail'])).toEqual(['wrong', 2_000]);
    expect(since(['none', 'fail', 'try', 'fail', 'try'])).toEqual(['waiting', 2_000]);
    expect(since(['none', 'fail', 'try', 'mend'])).toEqual(['ok', 4_000]);
    expect(since(['none', 'fail', 'try', 'mend', 'fail'])).toEqual(['wrong', 5_000]);
  });

  test('a record that an earlier release wrote in trouble counts from the state that it stands in', () => {
    const chart = chartOf();
    const { trouble: _, ...older } = recordAfter(chart, ['none', 'fail']);
    expect(reasonOf(cell('x'), older, chart, 9_000).reason.since).toBe(2_000);
  });

  test('a state that was named otherwise when the record was written is still the same state', () => {
    const written = { ...recordAfter(chartOf(), ['none']), snapshot: { value: 'well', context: {} } };
    const renamed = ({ value, context }: StoredState) => ({
      value: value === 'well' ? 'fine' : value,
      context,
    });
    const stepper = createStepper({ ...chartOf(), version: 2, migrations: { 1: renamed } });
    const event = { type: 'fail', at: 9_000, random: 0.5 };
    const result = stepper.step(stepper.restore(written.snapshot, 1), event);
    const item = { event, cause: null };
    const { record, transition } = nextRecord({
      ...{ id: 'thing/_/one', stepper, before: written, item, event, result },
      ...place,
    });
    expect([transition.from, transition.to]).toEqual(['fine', 'failed']);
    expect(record.trouble).toBe(9_000);
  });

  test('of what is well the chart may know better; of trouble it may not', () => {
    const chart = chartOf(tells(() => ({ text: 'so it is', since: 7 })));
    const sinceAfter = (events: readonly string[]) =>
      reasonOf(cell('x'), recordAfter(chart, events), chart, 99_000).reason.since;
    expect(sinceAfter(['none'])).toBe(7);
    expect(sinceAfter(['none', 'fail'])).toBe(2_000);
  });
});

test('what needs a look in any state is wrong, in a list and by itself, from then on', () => {
  const chart: Chart = {
    ...chartOf(),
    needsLook: (context) => (context as { readonly isAiling: boolean }).isAiling,
  };
  const well = recordAfter(chart, ['none']);
  const stepper = createStepper(chart);
  const stepped = (isAiling: boolean, at: number, before: ActorRecord) => {
    const event = { type: 'try', at, random: 0.5 };
    const snapshot = stepper.restore({ value: 'fine', context: { isAiling } }, 1);
    const result: StepResult = { ...stepper.step(snapshot, event), snapshot };
    const item = { event, cause: null };
    return nextRecord({ ...{ id: 'thing/_/one', stepper, before, item, event, result }, ...place }).record;
  };
  const ill = stepped(true, 5_000, well);
  const still = stepped(true, 6_000, ill);
  const mended = stepped(false, 7_000, still);
  const shown = [well, ill, still, mended].map((record) => {
    const one = cell('fine');
    note(one, record, 'fine', chart);
    const { health, since } = reasonOf(one, record, chart, 9_000).reason;
    return [healthOf(one, chart), one.trouble, health, since];
  });
  expect(shown).toEqual([
    ['ok', null, 'ok', 1_000],
    ['wrong', 5_000, 'wrong', 5_000],
    ['wrong', 5_000, 'wrong', 5_000],
    ['ok', null, 'ok', 1_000],
  ]);
});

test('an error is told until the actor is well, however long its chart keeps it; an empty one is none', () => {
  const asked = { owner: 'r', chart: chartOf(), at: 9_000 };
  const errorTold = (lastError: string, ...events: readonly string[]) =>
    summaryOf(cell('x'), { ...recordAfter(chartOf(), ['none', ...events]), lastError }, asked).lastError;
  expect(errorTold('refused', 'fail')).toBe('refused');
  expect(errorTold('refused', 'fail', 'try')).toBe('refused');
  expect(errorTold('refused', 'fail', 'try', 'mend')).toBeNull();
  expect(errorTold('', 'fail')).toBeNull();
});

describe('words', () => {
  test('where the chart has none, the state describes itself, and its deadline is what comes next', () => {
    const chart = chartOf();
    const record = recordAfter(chart, ['none', 'fail', 'try']);
    expect(reasonOf(cell('trying'), record, chart, 9_000)).toEqual({
      reason: {
        text: 'It is tried again',
        health: 'waiting',
        since: 2_000,
        next: { text: 'after 0.5 s', at: 3_500 },
      },
      facts: [],
    });
  });

  test.each([
    ['lookAgain', 'look again'],
    ['roundPatience', 'round timeout'],
    ['restate', 'its status is compared again'],
    ['checkPause', 'its routes are checked again'],
    ['period', 'the next probe'],
  ])('a deadline %s is told as: %s', (delay, text) => {
    const record = recordAfter(chartOf(), ['none', 'fail', 'try']);
    const timers = record.timers.map((timer) => ({
      ...timer,
      event: { type: `xstate.after.${delay}.thing.trying` },
    }));
    const { reason } = reasonOf(cell('trying'), { ...record, timers }, chartOf(), 9_000);
    expect(reason.next).toEqual({ text, at: 3_500 });
  });

  test('a chart tells in its own, with facts, and may say that nothing comes next', () => {
    const chart = chartOf(
      tells(({ states, at, since }) => ({
        text: `in ${states.join()} for ${(at - since) / 1000} s`,
        next: null,
        facts: [{ label: 'Tries', value: 3 }],
      })),
    );
    const record = recordAfter(chart, ['none', 'fail', 'try']);
    expect(reasonOf(cell('trying'), record, chart, 9_000)).toEqual({
      reason: { text: 'in trying for 6 s', health: 'waiting', since: 2_000, next: null },
      facts: [{ label: 'Tries', value: 3 }],
    });
  });

  test('a chart whose words fail is described by its state', () => {
    const chart = chartOf(() => {
      throw new Error('no words');
    });
    const { reason } = reasonOf(cell('fine'), recordAfter(chart, ['none']), chart, 9_000);
    expect(reason).toMatchObject({ text: 'All is well', health: 'ok' });
  });

  test.each([
    ['a number without end', { text: 'fine', facts: [{ label: 'Size', value: 1n }] }],
    ['no text', { text: 7 }],
    ['a time that is none', { text: 'fine', next: { text: 'soon', at: 1n } }],
  ])('so is a chart that tells %s', (_, told) => {
    const chart = chartOf(() => told as never);
    const { reason, facts } = reasonOf(cell('fine'), recordAfter(chart, ['none']), chart, 9_000);
    expect([reason.text, facts]).toEqual(['All is well', []]);
  });

  test('a parked actor is wrong, whatever its state says, and says why it is parked', () => {
    const chart = chartOf();
    const parked = { ...cell('fine'), unreadable: 'a newer release wrote its record' };
    expect(healthOf(parked, chart)).toBe('wrong');
    expect(reasonOf(parked, recordAfter(chart, ['none']), chart, 9_000).reason).toEqual({
      text: 'parked, it takes no events: a newer release wrote its record',
      health: 'wrong',
      since: 1_000,
      next: null,
    });
  });

  test('a row of a replica that gives no reason says so', () => {
    const row = { state: 'proving', since: 5, parked: false, lastError: null };
    expect(reasonWithout(row)).toEqual({
      text: 'in proving; its owner runs an earlier release, which gives no reason',
      health: 'waiting',
      since: 5,
      next: null,
    });
  });
});
