/** What waits in a mailbox for company, how long, and what takes it along. */
import { beforeEach, expect, test } from 'vitest';
import type { Cell, Hot, MailboxItem } from '../../../src/actors/host/owned.ts';
import { createCompany } from '../../../src/actors/time/company.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let clock: VirtualClock;
let worked: number[];
let hot: Hot;
let company: ReturnType<typeof createCompany>;

/** Words wait for a second, a third of them does not, and what is urgent never does. */
const patience = (_: unknown, events: readonly PlainEvent[]) =>
  events.length >= 3 || events.some(({ type }) => type === 'urgent') ? 0 : 1_000;
const chart = { patience } as unknown as Chart;
const cell = { state: 'a,b.c' } as Cell;
const word = (type = 'word', more: Partial<MailboxItem> = {}): MailboxItem => ({
  event: { type },
  cause: null,
  ...more,
});
/** As the host does: what comes is put into the mailbox, and the chart asked. */
const put = (item: MailboxItem) => {
  hot.mailbox.push(item);
  return company.isAwaited(cell, hot, chart);
};

beforeEach(() => {
  clock = new VirtualClock();
  worked = [];
  hot = { mailbox: [], snapshot: { context: {} }, company: null } as unknown as Hot;
  company = createCompany(clock, () => {
    worked.push(clock.monotonic());
    hot.mailbox.length = 0;
  });
});

test('what comes first waits as long as the chart says, and no longer for what comes after it', async () => {
  const began = clock.monotonic();
  expect(put(word())).toBe(true);
  await clock.advance(600);
  expect(put(word())).toBe(true);
  await clock.advance(399);
  expect(worked).toEqual([]);
  await clock.advance(1);
  expect(worked).toEqual([began + 1_000]);
  await clock.advance(10_000);
  expect(worked).toHaveLength(1);
  expect(company.isAwaited(cell, hot, chart)).toBe(false);
  expect(hot.company).toBeNull();
});

test('what the actor has to know takes along what waits, and no timer is left', async () => {
  put(word());
  expect(put(word('urgent'))).toBe(false);
  hot.mailbox.length = 0;
  expect(company.isAwaited(cell, hot, chart)).toBe(false);
  expect(hot.company).toBeNull();
  await clock.advance(5_000);
  expect(worked).toEqual([]);
});

test('what waits behind what goes first waits on, no longer than it would have', async () => {
  const began = clock.monotonic();
  put(word());
  await clock.advance(600);
  hot.mailbox.unshift(word('word', { completes: 'k' }));
  expect(company.isAwaited(cell, hot, chart)).toBe(false);
  hot.mailbox.shift();
  expect(company.isAwaited(cell, hot, chart)).toBe(true);
  await clock.advance(400);
  expect(worked).toEqual([began + 1_000]);
});

test('the chart is asked about all that waits: the last of what is owed ends the wait', () => {
  expect([put(word()), put(word()), put(word())]).toEqual([true, true, false]);
});

test.each([
  ['an outcome', { completes: 'k' }],
  ['a deadline', { timer: { id: 't', at: 1 } }],
  ['an event that the chart failed over', { failures: 1 }],
])('%s never waits', (_, more) => {
  expect(put(word('word', more))).toBe(false);
});

test('the first event of an actor never waits, nor any of a chart without patience', () => {
  hot.snapshot = null;
  expect(put(word())).toBe(false);
  hot = { mailbox: [word()], snapshot: { context: {} }, company: null } as unknown as Hot;
  expect(company.isAwaited(cell, hot, {} as Chart)).toBe(false);
  expect(company.isAwaited(cell, hot, undefined)).toBe(false);
});

test('a timer that fires a little early, as those of Node do, ends the wait all the same', async () => {
  const early = Object.assign(Object.create(clock) as typeof clock, {
    monotonic: () => clock.monotonic(),
    after: (delayMs: number, fn: () => void) => clock.after(delayMs - 0.5, fn),
  });
  const begun: boolean[] = [];
  company = createCompany(early, () => begun.push(!company.isAwaited(cell, hot, chart)));
  put(word());
  await clock.advance(999.5);
  expect(begun).toEqual([true]);
  hot.mailbox.length = 0;
  company.isAwaited(cell, hot, chart);
  expect(put(word())).toBe(true);
});
