/**
 * The pod chart: what it decides at first sight and at each change. What must hold is docs/features/routes.md
 * §2; tests in quotes say it in short.
 */
import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import {
  allProven,
  forgotten,
  newPod,
  observed,
  patched,
  podFacts,
  proven,
  recheck,
  servicesAsked,
  toldWhy,
} from './pod-script.ts';

describe('“ungated: the Pod has no readiness gate of that condition type”', () => {
  test('“nothing is done”: no message, no patch, no Event, no deadline', () => {
    const pod = newPod(observed({ gated: false }));
    expect(pod.state).toBe('ungated');
    expect(pod.asked()).toEqual([]);
    expect(pod.patience).toBeNull();
  });

  test('“but a change is followed”: with the gate it is verified', () => {
    const pod = newPod(observed({ gated: false }), observed());
    expect(pod.state).toBe('gated.proving.asking');
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
  });

  test.each<[string, Partial<PodFacts>]>([
    ['gated.groupMissing', { groupResource: 'missing' }],
    ['gated.notApplicable', { groupResource: 'mismatch' }],
    ['gated.waitingForAddress', { address: null }],
    ['gated.invalid', { address: { invalid: 'x' } }],
    ['gated.proving.asking', {}],
    ['gated.ready.proven', { condition: 'True' }],
  ])('a Pod in %s follows when the gate is taken from it', (state, change) => {
    const pod = newPod(observed(change));
    expect(pod.state.replace('.unsaid', '')).toBe(state);
    expect(pod.take(observed({ ...change, gated: false })).state).toBe('ungated');
  });

  test('a Pod that loses its gate while it is marked asks for no patch any more', () => {
    const pod = newPod(observed(), ...allProven);
    pod.asked();
    expect(pod.take(observed({ gated: false })).wait(600_000).state).toBe('ungated');
    expect(pod.askedOf('pod-condition.patch')).toEqual([]);
  });
});

describe('“groupResource: not found → groupMissing”', () => {
  test('a group with too many Services holds the Pod back likewise, and says so in condition and Event', () => {
    const refused = { reason: 'TooManyServices', message: 'This group has more than 500 Services.' };
    const pod = newPod(observed({ groupResource: 'missing', services: {}, refused }));
    expect(pod.wait(4_000).askedOf('pod-condition.patch')).toMatchObject([{ status: 'False', ...refused }]);
    const [note] = pod.take(patched('False')).wait(30_000).askedOf('kube-event.write');
    expect(note).toMatchObject({ eventType: 'Warning', reason: 'TooManyServices', note: refused.message });
    expect(pod.take(observed(), ...allProven).state).toBe('gated.marking.patching');
  });

  test('“woken by its creation”, at once and without an Event', () => {
    const pod = toldWhy(newPod(observed({ groupResource: 'missing' })));
    expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'False', reason: 'GroupMissing' }]);
    expect(pod.wait(25_999).state).toBe('gated.groupMissing.patient');
    expect(pod.asked()).toEqual([]);
    expect(pod.take(observed({ groupResource: 'found' })).wait(1).state).toBe('gated.proving.asking');
    expect(pod.askedOf('kube-event.write')).toEqual([]);
  });

  test('“Warning Event after 30 s”: one, about this Pod, naming the RouteGate; and it still wakes', () => {
    const pod = toldWhy(newPod(observed({ groupResource: 'missing' })));
    pod.asked();
    expect(pod.wait(1_800_000).asked()).toEqual([
      expect.objectContaining({
        type: 'kube-event.write',
        eventType: 'Warning',
        reason: 'GroupResourceMissing',
        regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web-0', uid: 'pod-1' },
        note: expect.stringContaining('gate'),
        at: 1_700_000_030_000,
      }),
    ]);
    expect(pod.take(observed({ groupResource: 'found' })).state).toBe('gated.proving.asking');
  });

  test('a group resource that is deleted holds back a Pod that still proves, and asks for nothing', () => {
    const pod = newPod(observed());
    pod.asked();
    expect(pod.take(observed({ groupResource: 'missing' })).state).toBe('gated.groupMissing.unsaid');
    expect(servicesAsked(pod)).toEqual([]);
    expect(pod.take(...allProven).state).toBe('gated.groupMissing.unsaid');
  });

  test('“a require mismatch → notApplicable”, and a change of it is followed in both directions', () => {
    const pod = newPod(observed({ groupResource: 'mismatch' }));
    expect(pod.state).toBe('gated.notApplicable');
    expect(pod.asked()).toEqual([]);
    expect(pod.take(observed({ groupResource: 'missing' })).state).toBe('gated.groupMissing.unsaid');
    expect(pod.take(observed({ groupResource: 'mismatch' })).state).toBe('gated.notApplicable');
    expect(pod.take(observed({ groupResource: 'found' })).state).toBe('gated.proving.asking');
  });
});

describe('the address', () => {
  test('“waitingForAddress: no status.podIPs”: nothing is asked until there is one', () => {
    const pod = toldWhy(newPod(observed({ address: null })));
    expect(pod.state).toBe('gated.waitingForAddress.told');
    expect(pod.asked()).toMatchObject([{ type: 'pod-condition.patch', reason: 'WaitingForAddress' }]);
    expect(pod.wait(3_600_000).asked()).toEqual([]);
    pod.take(observed());
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
  });

  test('“invalid: podIPs[0] does not parse → Warning Event, no HTTP, woken by a Pod change”', () => {
    const pod = toldWhy(newPod(observed({ address: { invalid: '10.0.0.256' } }))).wait(1_700_000);
    expect(pod.state).toBe('gated.invalid.told');
    expect(pod.asked()).toEqual([
      expect.objectContaining({
        type: 'kube-event.write',
        eventType: 'Warning',
        reason: 'InvalidAddress',
        note: expect.stringContaining('10.0.0.256'),
      }),
      expect.objectContaining({ type: 'pod-condition.patch', status: 'False', reason: 'InvalidAddress' }),
    ]);
    expect(pod.take(observed()).state).toBe('gated.proving.asking');
  });

  test('an invalid address that goes away is waited for', () => {
    const pod = newPod(observed({ address: { invalid: 'x' } }), observed({ address: null }));
    expect(pod.state).toBe('gated.waitingForAddress.unsaid');
  });

  test.each([[{ ip: '10.0.0.1', family: 'IPv4' }], [{ ip: 'fd00::1', family: 'IPv6' }]] as const)(
    '“Family = that of podIPs[0]”: a proof is wanted for %o',
    (address) => {
      const pod = newPod(observed({ address }));
      expect(pod.askedOf('message.send')).toEqual([
        expect.objectContaining({
          event: {
            ...{ type: 'route.wanted', pod: 'pod/shop/web-0', uid: 'pod-1', ...address, curious: true },
            spokenAt: pod.now,
          },
        }),
      ]);
    },
  );
});

test('“onlyIfEnv”: a Pod that cannot be verified “counts as proven for every Service”', () => {
  const pod = newPod(observed({ verifiable: false }));
  expect(pod.state).toBe('gated.marking.patching');
  expect(servicesAsked(pod)).toEqual([]);
});

describe('“A condition that exists with status True at first sight → ready, no probing.”', () => {
  test('it is ready; nothing is asked and nothing is written', () => {
    const pod = newPod(observed({ condition: 'True' })).wait(3_600_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([]);
  });

  test.each(['False', 'Unknown'] as const)('“With %s it is verified like a missing one.”', (condition) => {
    const pod = newPod(observed({ condition }));
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
    expect(pod.take(proven('api'), proven('web')).state).toBe('gated.proving.asking');
    expect(pod.take(proven('www')).state).toBe('gated.marking.patching');
  });

  test('a new Pod under an old name is looked at anew, whatever the old one had', () => {
    const pod = newPod(observed({ condition: 'True' }), observed({ uid: 'pod-2' }));
    expect(pod.state).toBe('gated.proving.asking');
    expect(pod.take(...allProven).state).toBe('gated.proving.asking');
  });
});

describe('“terminating, gone from anywhere”', () => {
  const anywhere: Array<[string, Partial<PodFacts>]> = [
    ['ungated', { gated: false }],
    ['gated.groupMissing.unsaid', { groupResource: 'missing' }],
    ['gated.notApplicable', { groupResource: 'mismatch' }],
    ['gated.waitingForAddress.unsaid', { address: null }],
    ['gated.invalid.unsaid', { address: { invalid: 'x' } }],
    ['gated.proving.asking', {}],
    ['gated.marking.patching', { services: {} }],
    ['gated.ready.proven', { condition: 'True' }],
  ];

  test.each(anywhere)('from %s a Pod that is being deleted asks and writes nothing more', (state, change) => {
    const pod = newPod(observed(change));
    expect(pod.state).toBe(state);
    pod.asked();
    pod.take(observed({ ...change, deleting: true })).wait(600_000);
    expect(pod.state).toBe('terminating');
    expect(pod.asked().filter(({ type }) => type !== 'message.send')).toEqual([]);
    expect(pod.take(...allProven, patched()).state).toBe('terminating');
  });

  test.each(anywhere)('from %s a Pod that does not exist any more is gone', (state, change) => {
    const pod = newPod(observed(change));
    expect(pod.state).toBe(state);
    pod.take(forgotten);
    expect(pod.state).toBe('gone');
    expect(pod.isOver).toBe(true);
    expect(pod.patience).toBeNull();
  });

  test('a Pod that terminates takes back what it asked for, once, from those that owe it', () => {
    const pod = newPod(observed(), proven('web'));
    pod.asked();
    pod.take(observed({ deleting: true }));
    expect(servicesAsked(pod, 'route.unwanted')).toEqual(['api', 'www']);
    pod.take(observed({ deleting: true, condition: 'False' })).wait(600_000);
    expect(pod.asked()).toEqual([]);
  });

  test('another Pod of the name, or another condition, that asks for nothing takes back what the former asked for', () => {
    const gate = { ...podFacts.gate, conditionType: 'example.com/other' };
    for (const event of [observed({ uid: 'pod-2', gated: false }), observed({ gated: false, gate })]) {
      const pod = newPod(observed(), proven('web'));
      pod.asked();
      pod.take(event);
      expect([event, servicesAsked(pod, 'route.unwanted')]).toEqual([event, ['api', 'www']]);
    }
  });

  test('also a Pod that vanishes, or ceases to be provable, takes back what it asked for', () => {
    for (const event of [forgotten, observed({ gated: false }), observed({ groupResource: 'missing' })]) {
      const pod = newPod(observed(), proven('web'));
      pod.asked();
      pod.take(event);
      expect([event, servicesAsked(pod, 'route.unwanted')]).toEqual([event, ['api', 'www']]);
    }
  });
});

test('a recheck “looks again, as if the actor had just been made”: proofs are asked for anew', () => {
  const pod = newPod(observed(), proven('api'), proven('web'));
  pod.asked();
  pod.take(recheck);
  expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
  expect(pod.take(proven('www')).state).toBe('gated.proving.asking');
});
