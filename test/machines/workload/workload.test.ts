/**
 * The workload chart: thresholds, the condition that is kept, what is said about workloads that are wrong.
 */
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import { readProbe } from '../../../src/machines/workload/probe-annotation.ts';
import type { WorkloadContext } from '../../../src/machines/workload/workload-context.ts';
import { type WorkloadProbeRun, workloadProbe } from '../../../src/machines/workload/workload-effects.ts';
import type { WorkloadEvent } from '../../../src/machines/workload/workload-events.ts';
import type { WorkloadFacts } from '../../../src/machines/workload/workload-facts.ts';
import { ActorDriver } from '../actor-driver.ts';

type Driver = ActorDriver<WorkloadEvent, WorkloadContext>;

const facts: WorkloadFacts = {
  uid: 'vm-uid',
  deleting: false,
  addresses: [{ ip: '10.9.0.1', family: 'IPv4' }],
  probe: 'http://:8080/healthz',
  ready: null,
  problems: [],
};
const seen = (change: Partial<WorkloadFacts> = {}): WorkloadEvent => ({
  type: 'workload.observed',
  facts: { ...facts, ...change },
});
const begin = (...events: readonly WorkloadEvent[]): Driver =>
  new ActorDriver<WorkloadEvent, WorkloadContext>('workload', 'shop', 'vm').take(...events);
const health = (workload: Driver) => /health\.([A-Za-z]+)/.exec(workload.state)?.[1];
const answer = (workload: Driver, ...failures: string[]) =>
  workload.take({ type: 'workload.probed', round: workload.context.round, failures });
/** Rounds one after the other, each after the period. */
const rounds = (workload: Driver, outcomes: ReadonlyArray<'up' | 'down'>) => {
  for (const outcome of outcomes) {
    if (['resting', 'pausing'].includes(health(workload) ?? '')) workload.wait(11_000 - 1_000 * 0.5);
    answer(workload, ...(outcome === 'up' ? [] : ['refused']));
  }
  return workload;
};
const marked = (status: 'True' | 'False'): WorkloadEvent => ({ type: 'workload.marked', status });

describe('the probe', () => {
  test('one success makes the workload ready, three failures in a row make it unready', () => {
    const workload = begin(seen());
    expect(workload.askedOf('workload.probe')).toMatchObject([
      { addresses: ['10.9.0.1'], probe: { scheme: 'http', port: 8080, path: '/healthz', timeoutMs: 1_000 } },
    ]);
    answer(workload);
    expect(workload.askedOf('workload-condition.patch')).toMatchObject([
      { uid: 'vm-uid', status: 'True', reason: 'ProbeSucceeded' },
    ]);
    workload.take(marked('True'), seen({ ready: 'True' }));
    rounds(workload, ['down', 'down']);
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
    rounds(workload, ['up', 'down', 'down']);
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
    rounds(workload, ['down']);
    expect(workload.askedOf('workload-condition.patch')).toMatchObject([
      { status: 'False', reason: 'ProbeFailed', message: 'refused' },
    ]);
  });

  test('a round each 10 s, and none while one is under way', () => {
    const workload = begin(seen({ ready: 'True' }));
    workload.asked();
    answer(workload);
    expect(health(workload)).toBe('resting');
    expect(workload.patience).toBeGreaterThan(9_000);
    expect(workload.patience).toBeLessThan(11_000);
  });

  test('before the thresholds are met nothing is written', () => {
    const workload = rounds(begin(seen()), ['down', 'down']);
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
  });

  test('a condition that somebody else changes is set right after the next round: two who disagree write once a period, not without end', () => {
    const workload = answer(begin(seen())).take(marked('True'));
    workload.asked();
    workload.take(seen({ ready: 'False' }));
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
    rounds(workload, ['up']);
    expect(workload.askedOf('workload-condition.patch')).toMatchObject([{ status: 'True' }]);
  });

  test.each([
    ['before the answer to the own write came', [seen({ ready: 'True' }), seen({ ready: 'False' })]],
    ['before anybody had seen it', []],
  ])('a condition that somebody else changed %s is set right within half a minute', (_, shown) => {
    const workload = answer(begin(seen({ ready: 'False' }))).take(...shown, marked('True'));
    workload.asked();
    rounds(workload, ['up', 'up']);
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
    rounds(workload, ['up', 'up']);
    expect(workload.askedOf('workload-condition.patch')).toMatchObject([{ status: 'True' }]);
  });

  test('the echo of the own write is no reason to write', () => {
    const workload = answer(begin(seen())).take(marked('True'));
    workload.asked();
    expect(workload.take(seen({ ready: 'True' })).asked()).toEqual([]);
  });

  test.each([
    ['another address', { addresses: [{ ip: '10.9.0.2', family: 'IPv4' as const }] }],
    ['another probe', { probe: 'tcp://:5432' }],
    ['another workload of the name', { uid: 'second' }],
  ])('%s: what was learned counts no more, and it is asked at once', (_, change) => {
    const workload = answer(begin(seen())).take(marked('True'));
    workload.asked();
    workload.take(seen(change));
    expect(workload.askedOf('workload.probe')).toHaveLength(1);
    expect(workload.context).toMatchObject({ verdict: null, successes: 0 });
  });

  test('a write that fails is tried again after the next round', () => {
    const workload = answer(begin(seen())).take({ type: 'workload.unmarked', isGone: false, message: 'no' });
    workload.asked();
    expect(health(workload)).toBe('waiting');
    answer(workload.wait(11_000));
    expect(workload.askedOf('workload-condition.patch')).toHaveLength(1);
  });

  test('outcomes that are lost do not hold it for ever (I4)', () => {
    const workload = begin(seen());
    workload.wait(7_000);
    expect(health(workload)).toBe('pausing');
    const other = answer(begin(seen())).wait(36_000);
    expect(health(other)).toBe('waiting');
  });

  test('§8.8: a round without a result counts neither way', () => {
    const workload = begin(seen({ ready: 'True', probe: 'http://:8080/healthz failures=1' }));
    answer(workload);
    workload.asked();
    for (const missing of ['late', 'unprobed', 'late', 'unprobed']) {
      workload.wait(11_000 - 1_000 * 0.5);
      const { round } = workload.context;
      if (missing === 'late') workload.wait(7_000);
      else workload.take({ type: 'workload.unprobed', round, message: 'busy' });
      expect(health(workload)).toBe('resting');
      workload.take({ type: 'workload.unprobed', round: round - 1, message: 'of another round' });
    }
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
    expect(workload.context).toMatchObject({
      verdict: 'True',
      failures: 0,
      missed: { rounds: 4, why: 'busy' },
    });
    workload.wait(11_000 - 1_000 * 0.5);
    answer(workload, 'refused');
    expect(workload.context.missed).toBe(null);
    expect(workload.askedOf('workload-condition.patch')).toMatchObject([{ status: 'False' }]);
  });

  test('the effect has time for the longest timeout, and ends before the chart gives up its outcome', () => {
    const probe = 'http://:8080/healthz timeout=60s';
    const workload = begin(seen({ probe }));
    const [asked] = workload.askedOf('workload.probe');
    const ms = workloadProbe.timeoutMs(asked as WorkloadProbeRun);
    expect(ms).toBeGreaterThan(60_000 + limits.workloadProbeLineMs);
    expect(ms).toBeLessThan(workload.patience ?? 0);
  });

  test('a person may ask for a probe now', () => {
    const workload = answer(begin(seen({ ready: 'True' })));
    workload.asked();
    expect(workload.take({ type: 'workload.recheck' }).askedOf('workload.probe')).toHaveLength(1);
  });
});

describe('what is wrong', () => {
  test('without the annotation the status is never touched', () => {
    const workload = begin(seen({ probe: null, problems: ['bad'] }));
    expect(health(workload)).toBe('unprobed');
    expect(workload.asked().map(({ type }) => type)).toEqual(['kube-event.write']);
    expect(workload.patience).toBe(null);
  });

  test('a problem is said once, and again when another one comes', () => {
    const workload = begin(seen({ problems: ['bad'] }));
    expect(workload.askedOf('kube-event.write')).toMatchObject([
      {
        eventType: 'Warning',
        note: 'bad',
        regarding: { kind: 'ExternalWorkload', name: 'vm', uid: 'vm-uid' },
      },
    ]);
    workload.take(seen({ problems: ['bad'], ready: 'True' }));
    expect(workload.askedOf('kube-event.write')).toEqual([]);
    workload.take(seen({ problems: ['bad', 'worse'] }));
    expect(workload.askedOf('kube-event.write')).toMatchObject([{ note: 'worse' }]);
  });

  test('an annotation that cannot be read is a problem, and nothing is probed', () => {
    const workload = begin(seen({ probe: 'ftp://:21' }));
    expect(workload.asked()).toMatchObject([
      { type: 'kube-event.write', note: expect.stringContaining('orrery.dev/probe') },
    ]);
    expect(health(workload)).toBe('unprobed');
  });

  test('the annotation is taken away: the probe ends, the status stays', () => {
    const workload = answer(begin(seen())).take(marked('True'));
    workload.asked();
    workload.take(seen({ probe: null, problems: ['bad'] }));
    expect(health(workload)).toBe('unprobed');
    expect(workload.askedOf('workload-condition.patch')).toEqual([]);
    expect(workload.take({ type: 'workload.observed', facts: null }).isOver).toBe(true);
  });
});

describe('the annotation', () => {
  test.each([
    ['http://:8080/healthz', { scheme: 'http', host: null, port: 8080, path: '/healthz', timeoutMs: 1_000 }],
    [
      'https://app.example.com:8443',
      { scheme: 'https', host: 'app.example.com', port: 8443, path: '/', timeoutMs: 1_000 },
    ],
    ['tcp://:5432', { scheme: 'tcp', host: null, port: 5432, path: '/', timeoutMs: 1_000 }],
    ['http://:80/a?b=c#d', { scheme: 'http', host: null, port: 80, path: '/a?b=c#d', timeoutMs: 1_000 }],
  ])('%s', (text, probe) => {
    expect(readProbe(text)).toEqual({ probe, periodMs: 10_000, failures: 3, successes: 1 });
  });

  test('with a period, a time limit and thresholds of its own', () => {
    expect(readProbe('tcp://:1 period=2s timeout=5s failures=1 successes=2')).toMatchObject({
      probe: { timeoutMs: 5_000 },
      periodMs: 2_000,
      failures: 1,
      successes: 2,
    });
  });

  test.each([
    '',
    'http://',
    'http://:0/',
    'http://:65536/',
    'http://10.0.0.1/',
    'tcp://:1/x',
    'ftp://:1',
    'http://:80/a b',
    'http://:80 period=0s',
    'http://:80 period=10',
    'http://:80 failures=1s',
    'http://:80 constructor=1',
  ])('"%s" is refused with a reason', (text) => {
    expect(readProbe(text)).toEqual({ invalid: expect.stringMatching(/.+/) });
  });

  test.each([
    ['long', `http://:80/${'x'.repeat(3_000)}`],
    ['without a meaning', 'x'.repeat(2_000)],
    ['an option', `http://:80 ${'x'.repeat(2_000)}`],
  ])('one that is too long, or %s, is quoted in few words', (_, text) => {
    expect(readProbe(text)).toEqual({ invalid: expect.stringMatching(/^.{20,250}$/) });
  });
});
