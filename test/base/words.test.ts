/** How times, timers and changes are said. */
import { describe, expect, test } from 'vitest';
import { age, change, effectList, eventName, nextOf, timerName, until } from '../../src/base/words.ts';

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

describe('ages are those of kubectl', () => {
  test.each([
    [-5 * second, '0s'],
    [59 * second, '59s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [2 * minute + 5 * second, '2m5s'],
    [10 * minute + 5 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [3 * hour + 20 * minute, '3h20m'],
    [8 * hour + 20 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day + 3 * hour, '2d3h'],
    [9 * day, '9d'],
  ])('%d ms is %s', (ms, text) => {
    expect(age(ms)).toBe(text);
  });
});

test('a deadline is said as the time that is left, rounded up, or as due', () => {
  expect(until(10_001, 10_000)).toBe('in 1s');
  expect(until(12_000, 10_000)).toBe('in 2s');
  expect(until(10_000, 10_000)).toBe('due');
});

test("a timer is called by the chart's own name for the delay", () => {
  expect(timerName('xstate.after.askAgain.pod.proving.asking')).toBe('askAgain');
  expect(timerName('xstate.after.5000.pod.proving')).toBe('after 5 s');
  expect(timerName('poll')).toBe('poll');
  expect(eventName('xstate.after.askAgain.pod.proving.asking')).toBe('after askAgain');
  expect(eventName('xstate.after.5000.pod.proving')).toBe('after 5 s');
  expect(eventName('pod.recheck')).toBe('pod.recheck');
});

test('a change is a beginning, a way, or a stay; effects are counted', () => {
  expect(change({ from: null, to: 'a' })).toBe('began in a');
  expect(change({ from: 'a', to: 'b' })).toBe('a → b');
  expect(change({ from: 'a', to: 'a' })).toBe('stays a');
  expect(
    change({ from: 'routes.resting.idle,endpoints.ignored', to: 'routes.sampling,endpoints.ignored' }),
  ).toBe('routes.resting.idle → routes.sampling');
  expect(effectList([{ type: 'x' }, { type: 'y' }, { type: 'x' }])).toBe('x ×2, y');
});

describe('what comes next, if the chart names nothing', () => {
  const timers = ['restate', 'lookAgain'].map((delay, index) => ({
    event: `xstate.after.${delay}.pod.gated`,
    at: 9_000 - 1_000 * index,
  }));
  const pending = [{ key: 'pod/shop/a/3/0', type: 'pod-condition.patch' }];
  const idle = {
    reason: { text: 'proven', health: 'ok', since: 1, next: null },
    parked: false,
    pending: [],
    timers: [],
  } as const;

  test.each([
    [{}, 'nothing happens by itself', null],
    [{ timers }, 'only its deadline, look again', 8_000],
    [{ timers, pending }, 'the outcome of pod-condition.patch', null],
    [{ timers, pending, parked: true }, 'nothing happens until what parked it has ended', null],
    [{ timers, reason: { ...idle.reason, next: { text: 'asked again', at: 5 } } }, 'asked again', 5],
  ])('%j: %s', (standing, text, at) => {
    expect(nextOf({ ...idle, ...standing })).toEqual({ text, at });
  });
});
