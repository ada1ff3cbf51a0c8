/**
 * The pod chart while a Service is away that is being replaced: docs/features/routes.md §3.9.
 */
import { expect, test } from 'vitest';
import { toldOf } from '../told.ts';
import {
  newPod,
  observed,
  patched,
  podFacts,
  proven,
  recheck,
  refused,
  servicesAsked,
  toldWhy,
  unverifiable,
} from './pod-script.ts';

const only = { web: 'web-1' };
const alone = () => observed({ services: only });
const nobody = observed({ services: {} });
/** A Pod whose only Service leaves. */
const left = () => newPod(alone(), nobody);

test('a Pod whose only Service is away for 0.4 s waits for the proof of the one that comes back', () => {
  const pod = left().wait(400);
  expect(pod.state).toBe('gated.proving.asking');
  pod.asked();
  pod.take(observed({ services: { web: 'web-2' } }));
  expect(servicesAsked(pod)).toEqual(['web']);
  expect(toldWhy(pod).wait(9_600).state).toMatch('gated.proving');
  expect(pod.take(proven('web', { serviceUid: 'web-2' })).state).toBe('gated.marking.patching');
});

test('if none comes back it passes after ten seconds, and says that nothing was verified', () => {
  const pod = left();
  expect(pod.patience).toBeLessThanOrEqual(10_000);
  expect(toldWhy(pod).wait(5_999).state).toMatch('gated.proving');
  pod.asked();
  expect(pod.wait(1).state).toBe('gated.marking.patching');
  expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'True', reason: 'NothingToVerify' }]);
});

test.each([
  ['never had a Service', newPod(nobody)],
  ['had one that cannot be asked', newPod(observed({ services: { web: null } }), nobody)],
  ['is looked at again by a person', left().take(recheck)],
  ['is another one under the name', left().take(observed({ uid: 'pod-2', services: {} }))],
])('a Pod that %s is not kept waiting', (_, pod) => {
  expect(pod.state).toBe('gated.marking.patching');
});

test.each([
  ['proven', proven('api')],
  ['found to be unverifiable', unverifiable('api')],
])('of several Services one that leaves is waited for, though the last of the others is %s', (_, last) => {
  const pod = newPod(
    observed({ services: { api: 'api-1', ...only } }),
    observed({ services: { api: 'api-1' } }),
  );
  pod.wait(3_000).take(last);
  expect(pod.state).toBe('gated.proving.asking');
  expect(pod.wait(1_000).take(patched('False')).wait(5_999).state).toMatch('gated.proving');
  expect(pod.wait(1).state).toBe('gated.marking.patching');
});

test('one that had proven the Pod has to prove it anew when it is back', () => {
  const both = { api: 'api-1', ...only };
  const pod = newPod(observed({ services: both }), proven('web'), observed({ services: { api: 'api-1' } }));
  pod.take(proven('api'), observed({ services: { ...both, web: 'web-2' } }));
  expect(pod.wait(60_000).state).toMatch('gated.proving');
});

test('it is waited for in each state of a Pod that is held, by the time at which it left', () => {
  const waiting = newPod(
    observed({ services: only, address: null }),
    observed({ services: {}, address: null }),
  );
  toldWhy(toldWhy(waiting).take(nobody));
  expect(waiting.wait(1_999).state).toMatch('gated.proving');
  expect(waiting.wait(1).state).toBe('gated.marking.patching');
  const told = toldWhy(newPod(alone())).wait(5_000).take(nobody);
  expect(told.wait(9_999).take(patched('False')).state).toMatch('gated.proving');
  expect(told.wait(1).state).toBe('gated.marking.patching');
  const retrying = newPod(alone(), proven('web'), refused('error'), nobody);
  expect(retrying.state).toBe('gated.proving.asking');
});

test('while the condition that says so is on its way, it is still waited for, no longer', () => {
  const pod = newPod(alone()).wait(3_999).take(nobody);
  pod.asked();
  pod.wait(4_000);
  expect(pod.state).toBe('gated.proving.telling');
  expect(pod.wait(10_000).take(patched('False')).state).toBe('gated.marking.patching');
});

test('Services that leave and come back for ever are waited for no longer than each is away', () => {
  const pod = newPod(alone());
  for (let n = 0; n < 50; n++) {
    pod.take(nobody, patched('False')).wait(300);
    pod.take(observed({ services: { web: `web-${n}` } }));
  }
  expect(pod.context.left).toEqual({});
  pod.take(nobody).wait(9_000).take(patched('False'));
  expect(pod.wait(1_000).state).toBe('gated.marking.patching');
});

test('a gate that holds what cannot be verified goes on holding', () => {
  const gate = { ...podFacts.gate, whenUnverifiable: 'hold' } as const;
  const pod = newPod(observed({ gate, services: only }), observed({ gate, services: {} })).wait(60_000);
  expect(pod.state).toMatch('gated.proving');
});

test('a Pod that is ready waits for nobody', () => {
  const isTrue = { condition: 'True' } as const;
  const pod = newPod(alone(), proven('web'), patched(), observed({ services: only, ...isTrue }));
  pod.take(observed({ services: {}, ...isTrue })).wait(60_000);
  expect(pod.state).toBe('gated.ready.proven');
  expect(pod.context.left).toBeUndefined();
});

test('the condition and `orrery explain` say who left, and when the Pod passes', () => {
  const pod = newPod(alone()).wait(3_999).take(nobody);
  pod.asked();
  pod.wait(4_000);
  const message =
    "Service web left this Pod's group a moment ago, perhaps to be replaced; in 10 s this condition is set to True without those that are not back.";
  expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'False', message }]);
  pod.take(patched('False'));
  const passes = { text: 'the condition is set to True', at: pod.now + 6_000 };
  expect(toldOf('pod', pod)).toMatchObject({ text: message, next: passes });
});
