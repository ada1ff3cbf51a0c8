/** Why a workload outside the cluster stands as it stands. */
import { expect, test } from 'vitest';
import type { WorkloadContext } from '../../../src/machines/workload/workload-context.ts';
import type { WorkloadEvent } from '../../../src/machines/workload/workload-events.ts';
import type { WorkloadFacts } from '../../../src/machines/workload/workload-facts.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';

type Driver = ActorDriver<WorkloadEvent, WorkloadContext>;

const facts: WorkloadFacts = {
  uid: 'vm-uid',
  deleting: false,
  addresses: [{ ip: '10.9.0.1', family: 'IPv4' }],
  probe: 'http://:8080/healthz successes=2',
  ready: null,
  problems: [],
};
const begin = (change: Partial<WorkloadFacts> = {}): Driver =>
  new ActorDriver<WorkloadEvent, WorkloadContext>('workload', 'shop', 'vm').take({
    type: 'workload.observed',
    facts: { ...facts, ...change },
  });
const round = (workload: Driver, ...failures: string[]) => {
  if (/health\.(resting|pausing|waiting)/.test(workload.state)) workload.wait(workload.patience ?? 0);
  return workload.take({ type: 'workload.probed', round: workload.context.round, failures });
};
const told = (workload: Driver) => toldOf('workload', workload);

test('one that answers: undecided, then ready', () => {
  const workload = begin();
  expect(told(workload)).toMatchObject({
    health: 'waiting',
    text: 'the probe has not run often enough to say whether the workload is ready',
    facts: { Addresses: '10.9.0.1', Ready: 'Unknown', Period: 10_000 },
  });
  round(round(workload));
  expect(told(workload)).toMatchObject({
    health: 'waiting',
    text: 'the address answers the probe; the condition Ready is being set to True',
  });
  workload.take({ type: 'workload.marked', status: 'True' });
  expect(told(workload)).toMatchObject({
    health: 'ok',
    text: 'the address answers the probe',
    facts: { Ready: 'True', 'Probe says': 'True' },
  });
});

test('one that fails: how often while it is still ready, then why it is not, then how far it is back', () => {
  const workload = round(round(begin({ ready: 'True' })));
  round(workload, 'refused');
  expect(told(workload).text).toBe('the probe failed 1 of 3 times: refused');
  round(round(workload, 'refused'), 'refused').take({ type: 'workload.marked', status: 'False' });
  expect(told(workload)).toMatchObject({
    text: 'the workload is not ready, the probe fails: refused',
    facts: { Ready: 'False' },
  });
  round(workload);
  expect(told(workload).text).toBe('the workload is not ready yet, the address answered 1 of 2 times');
});

test('§8.8: rounds without a result are told: the verdict grows old', () => {
  const workload = round(round(begin({ ready: 'True' })));
  for (const why of ['NATS was away', 'its outcome was lost']) {
    workload.wait(workload.patience ?? 0);
    workload.take({ type: 'workload.unprobed', round: workload.context.round, message: why });
  }
  expect(told(workload).text).toBe(
    'the address answers the probe; the last 2 rounds had no result, which counts neither way: its outcome was lost',
  );
  workload.wait(workload.patience ?? 0);
  workload.take({ type: 'workload.unprobed', round: workload.context.round, message: 'NATS was away' });
  expect(told(workload).health).toBe('wrong');
  expect(told(round(workload))).toMatchObject({ health: 'ok', text: 'the address answers the probe' });
});

test('a condition that could not be written', () => {
  const refusal = { type: 'workload.unmarked', isGone: false, message: '403 forbidden' } as const;
  const workload = round(round(begin())).take(refusal);
  expect(told(workload)).toMatchObject({
    health: 'waiting',
    text: 'the condition Ready could not be set to True: 403 forbidden',
  });
  for (const _ of [2, 3]) round(workload).take(refusal);
  round(workload);
  expect(told(workload)).toMatchObject({
    health: 'wrong',
    text: 'the condition Ready could not be set to True, 3 times in a row: 403 forbidden',
  });
  expect(told(workload.take({ type: 'workload.marked', status: 'True' })).health).toBe('ok');
});

test('one that fails is wrong while it is probed on, and says how long it has been well', () => {
  const workload = round(round(begin())).take({ type: 'workload.marked', status: 'True' });
  const { since } = told(workload);
  workload.wait(workload.patience ?? 0);
  expect(workload.state).toContain('health.checking');
  expect(told(workload)).toMatchObject({ health: 'ok', since });
  round(round(round(workload, 'refused'), 'refused'), 'refused');
  expect(told(workload).health).toBe('wrong');
  workload.take({ type: 'workload.marked', status: 'False' });
  expect(told(workload).health).toBe('wrong');
  workload.wait(workload.patience ?? 0);
  expect(workload.state).toContain('health.checking');
  expect(told(workload).health).toBe('wrong');
  round(round(workload)).take({ type: 'workload.marked', status: 'True' });
  expect(told(workload).health).toBe('ok');
});

test('one without a probe, and ones with which something is wrong', () => {
  expect(told(begin({ probe: null }))).toMatchObject({ health: 'ok', text: 'no probe is configured' });
  const problems = ['10.9.0.300 is no address'];
  expect(told(begin({ addresses: [], probe: null, problems }))).toMatchObject({
    health: 'wrong',
    text: 'no Service publishes the workload: 10.9.0.300 is no address; no probe is configured',
  });
  expect(told(begin({ probe: 'nonsense' }))).toMatchObject({
    health: 'wrong',
    text: expect.stringMatching(/^the workload is published with a limit: orrery\.dev\/probe: /),
  });
  const limit = ['headless Service web lists the workload without a hostname'];
  expect(told(begin({ probe: null, problems: limit })).health).toBe('ok');
});
