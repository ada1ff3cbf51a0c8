/**
 * The pod chart while the last Service of its group is away, perhaps to be replaced: docs/features/routes.md
 * §3.9.
 */
import { expect, test } from 'vitest';
import { newPod, observed, podFacts, proven, recheck, servicesAsked, toldWhy } from './pod-script.ts';

const alone = (services: Record<string, string | null> = { web: 'web-1' }) => observed({ services });
const nobody = observed({ services: {} });
/** A Pod whose only Service leaves. */
const left = () => newPod(alone(), nobody);

test('a Pod whose only Service is away for 0.4 s waits for the proof of the one that comes back', () => {
  const pod = left().wait(400);
  expect(pod.state).toBe('gated.proving.asking');
  pod.asked();
  pod.take(alone({ web: 'web-2' }));
  expect(servicesAsked(pod)).toEqual(['web']);
  expect(toldWhy(pod).wait(60_000).state).toMatch('gated.proving');
  expect(pod.take(proven('web', { serviceUid: 'web-2' })).state).toBe('gated.marking.patching');
});

test('if none comes back it passes after two seconds, and says that nothing was verified', () => {
  const pod = left();
  expect(pod.wait(1_999).state).toMatch('gated.proving');
  pod.asked();
  expect(pod.wait(1).state).toBe('gated.marking.patching');
  expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'True', reason: 'NothingToVerify' }]);
});

test('nor does it wait for ever for one that comes and goes, or while it is told why', () => {
  const pod = newPod(alone());
  for (let n = 0; n < 20; n++)
    pod
      .take(nobody)
      .wait(300)
      .take(alone({ web: `web-${n}` }))
      .wait(300);
  toldWhy(pod).take(nobody);
  expect(pod.wait(2_000).state).toBe('gated.marking.patching');
});

test.each([
  ['never had a Service', () => newPod(nobody)],
  ['had one that cannot be asked', () => newPod(alone({ web: null }), nobody)],
  ['is looked at again by a person', () => left().take(recheck)],
  ['is another one under the name', () => left().take(observed({ uid: 'pod-2', services: {} }))],
  [
    'has lost one of several',
    () => newPod(alone({ api: 'api-1', web: 'web-1' }), proven('api'), alone({ api: 'api-1' })),
  ],
])('a Pod that %s is not kept waiting', (_, pod) => {
  expect(pod().state).toBe('gated.marking.patching');
});

test('a gate that holds what cannot be verified goes on holding', () => {
  const gate = { ...podFacts.gate, whenUnverifiable: 'hold' } as const;
  const pod = newPod(observed({ gate, services: { web: 'web-1' } }), observed({ gate, services: {} }));
  expect(pod.wait(60_000).state).toMatch('gated.proving');
});
