/**
 * The pod chart: proving and marking. What must hold is docs/features/routes.md §3; tests in quotes say it in
 * short.
 */
import { describe, expect, test } from 'vitest';
import type { PodEvent } from '../../../src/machines/pod/pod-events.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import {
  allProven,
  newPod,
  observed,
  patched,
  podFacts,
  proven,
  readyPod,
  refused,
  servicesAsked,
  toldWhy,
  unverifiable,
} from './pod-script.ts';

describe('“proving: wants a proof from every Service of the group”', () => {
  test('each Service is asked, and the Pod is marked only when the last of them has proven it', () => {
    const pod = newPod(observed());
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
    expect(pod.take(proven('www')).state).toBe('gated.proving.asking');
    expect(pod.take(proven('api')).state).toBe('gated.proving.asking');
    expect(pod.take(proven('web')).state).toBe('gated.marking.patching');
  });

  test('“No Services → marking at once.”', () => {
    expect(newPod(observed({ services: {} })).state).toBe('gated.marking.patching');
  });

  test('“A Service without the named port counts as proven.”', () => {
    const pod = newPod(observed({ services: { web: 'web-1', plain: null } }));
    expect(servicesAsked(pod)).toEqual(['web']);
    expect(pod.take(proven('web')).state).toBe('gated.marking.patching');
  });

  test('a Service that cannot tell its Pods apart counts as proven', () => {
    const pod = newPod(observed(), unverifiable('api'), proven('web'), unverifiable('www'));
    expect(pod.state).toBe('gated.marking.patching');
  });

  test.each<[string, ReturnType<typeof proven>]>([
    ['another Pod that had the name', proven('web', { uid: 'pod-0' })],
    ['an address that the Pod does not have', proven('web', { ip: '10.0.0.9' })],
    ['another Service that had the name', proven('web', { serviceUid: 'web-0' })],
    ['a Service of another group', proven('stranger')],
    ['a verdict on another Service that had the name', unverifiable('web', 'web-0')],
  ])('what is said of %s proves nothing', (_, event) => {
    const pod = newPod(observed(), proven('api'), proven('www'), event);
    expect(pod.state).toBe('gated.proving.asking');
    expect(Object.keys(pod.context.proofs)).toEqual(['api', 'www']);
  });

  test('a question that was lost is asked again, of those alone that owe an answer, each minute', () => {
    const pod = toldWhy(newPod(observed(), proven('api')));
    const began = pod.now - 4_000;
    pod.asked();
    const pauses: number[] = [];
    for (let n = 0, last = began; n < 3; n++) {
      pod.wait(pod.patience ?? 0);
      pauses.push(pod.now - last);
      last = pod.now;
      expect(servicesAsked(pod)).toEqual(['web', 'www']);
    }
    expect(pauses).toEqual([60_000, 60_000, 60_000]);
  });
});

describe('“A proof is kept per (Service, Pod uid, IP) until one of the three changes”', () => {
  const half = () => {
    const pod = newPod(observed(), proven('api'), proven('web'));
    pod.asked();
    return pod;
  };

  test.each<[string, Partial<PodFacts>]>([
    ['the condition', { condition: 'False' }],
    ['the RouteGate', { gate: { ...podFacts.gate, name: 'another' } }],
    ['the group resource, which is found', { groupResource: 'found' }],
  ])('“nothing proven is probed again”: a change of %s asks nobody and keeps every proof', (_, change) => {
    const pod = half().take(observed(change));
    expect(servicesAsked(pod)).toEqual([]);
    expect(pod.take(proven('www')).state).toBe('gated.marking.patching');
  });

  test('another Service under the name has to prove it again, and only that one', () => {
    const pod = half().take(observed({ services: { ...podFacts.services, web: 'web-2' } }));
    expect(servicesAsked(pod)).toEqual(['web']);
    expect(pod.take(proven('www')).state).toBe('gated.proving.asking');
    expect(pod.take(proven('web', { serviceUid: 'web-2' })).state).toBe('gated.marking.patching');
  });

  test('another address has to be proven by every Service', () => {
    const pod = half().take(observed({ address: { ip: '10.0.0.2', family: 'IPv4' } }));
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
    pod.take(...allProven);
    expect(pod.state).toBe('gated.proving.asking');
    pod.take(...['api', 'web', 'www'].map((service) => proven(service, { ip: '10.0.0.2' })));
    expect(pod.state).toBe('gated.marking.patching');
  });

  test('another Pod under the name has to be proven by every Service', () => {
    const pod = half().take(observed({ uid: 'pod-2' }));
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
    expect(pod.take(...allProven).state).toBe('gated.proving.asking');
  });

  test('an address that is gone for a while and comes back is proven anew: it may have been another Pod’s', () => {
    const pod = half().take(observed({ address: null }));
    expect(pod.state).toBe('gated.waitingForAddress.unsaid');
    pod.asked();
    expect(servicesAsked(pod.take(observed()))).toEqual(['api', 'web', 'www']);
  });

  test('a group resource that is missing for a while costs no proof', () => {
    const pod = half().take(observed({ groupResource: 'missing' }));
    pod.asked();
    pod.take(observed({ groupResource: 'found' }));
    expect(servicesAsked(pod)).toEqual(['www']);
  });
});

describe('“Services may come and go while proving.”', () => {
  test('one that comes is asked at once, and has to prove', () => {
    const pod = newPod(observed(), proven('api'), proven('web'));
    pod.asked();
    pod.take(observed({ services: { ...podFacts.services, late: 'late-1' } }));
    expect(servicesAsked(pod)).toEqual(['late']);
    expect(pod.take(proven('www')).state).toBe('gated.proving.asking');
    expect(pod.take(proven('late')).state).toBe('gated.marking.patching');
  });

  test('one that goes owes nothing any more', () => {
    const pod = newPod(observed(), proven('api'), proven('web'));
    expect(pod.take(observed({ services: { api: 'api-1', web: 'web-1' } })).state).toBe(
      'gated.marking.patching',
    );
  });

  test.each<[string, Record<string, string | null>]>([
    ['goes', { api: 'api-1', web: 'web-1' }],
    ['loses its port', { api: 'api-1', web: 'web-1', www: null }],
  ])('one that %s and comes back has forgotten the question, and is asked again at once', (_, services) => {
    const pod = newPod(observed(), proven('api'));
    pod.asked();
    pod.take(observed({ services }), observed());
    expect(servicesAsked(pod)).toEqual(['www']);
  });

  test('one that is replaced before it has answered is asked again at once', () => {
    const pod = newPod(observed());
    pod.asked();
    pod.take(observed({ services: { ...podFacts.services, www: 'www-2' } }));
    expect(servicesAsked(pod)).toEqual(['www']);
  });

  test('one that comes while the condition is being written is not asked for: the patch says what was proven when it was sent', () => {
    const pod = newPod(observed(), ...allProven);
    pod.asked();
    pod.take(observed({ services: { ...podFacts.services, late: 'late-1' } }));
    expect(pod.state).toBe('gated.marking.patching');
    expect(pod.take(patched()).state).toBe('gated.ready.proven');
    expect(servicesAsked(pod)).toEqual([]);
  });

  test('one that comes while the patch fails is proven before it is written again', () => {
    const pod = newPod(observed(), ...allProven, refused('error'));
    pod.take(observed({ services: { ...podFacts.services, late: 'late-1' } }));
    expect(pod.state).toBe('gated.proving.asking');
    expect(pod.take(proven('late')).state).toBe('gated.marking.patching');
  });

  test('an address that changes while the condition is being written: what landed is taken back, and proven anew', () => {
    const elsewhere = { address: { ip: '10.0.0.2', family: 'IPv4' } } as const;
    const pod = newPod(observed(), ...allProven, observed(elsewhere));
    expect(pod.state).toBe('gated.marking.outdated');
    pod.asked();
    expect(pod.take(patched()).askedOf('pod-condition.patch')).toMatchObject([{ status: 'False' }]);
    expect(servicesAsked(pod.take(patched('False')))).toEqual(['api', 'web', 'www']);
  });
});

describe('marking', () => {
  test('what became of the patch for the Pod before it under the name says nothing of this one', () => {
    const other = (service: string) => proven(service, { uid: 'pod-2' });
    const again = () =>
      newPod(observed(), ...allProven, observed({ uid: 'pod-2' }), other('api'), other('web'), other('www'));
    expect(again().state).toBe('gated.marking.patching');
    for (const late of [patched(), refused('gone'), refused('error')]) {
      expect([late, again().take({ ...late, uid: 'pod-1' } as PodEvent).state]).toEqual([
        late,
        'gated.marking.patching',
      ]);
      expect(again().take({ ...late, uid: 'pod-2' } as PodEvent).state).not.toBe('gated.marking.patching');
    }
  });

  test('“patch status of the Pod with the condition (type, status True, reason RoutesVerified, message with the count, lastTransitionTime), with the uid as precondition”', () => {
    const pod = toldWhy(newPod(observed())).wait(234);
    pod.asked();
    pod.take(...allProven);
    expect(pod.askedOf('pod-condition.patch')).toEqual([
      {
        type: 'pod-condition.patch',
        namespace: 'shop',
        name: 'web-0',
        uid: 'pod-1',
        conditionType: 'example.com/routes',
        status: 'True',
        reason: 'RoutesVerified',
        message: expect.stringMatching(/\b3 of 3 Services\b/),
        at: 1_700_000_004_234,
      },
    ]);
  });

  test('written, it is ready, and an Event tells people', () => {
    const pod = newPod(observed(), ...allProven);
    pod.asked();
    pod.take(patched());
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([
      expect.objectContaining({ type: 'kube-event.write', eventType: 'Normal', reason: 'RoutesVerified' }),
    ]);
    expect(pod.take(observed({ condition: 'True' })).state).toBe('gated.ready.proven');
    expect(pod.wait(300_000).asked()).toEqual([]);
    expect(pod.patience).toBeNull();
  });

  test('written and never seen, it is written again: somebody may have taken it away in between', () => {
    const pod = newPod(observed(), ...allProven, patched());
    pod.asked();
    expect(pod.wait(300_000).askedOf('pod-condition.patch')).toMatchObject([{ status: 'True' }]);
    expect(pod.take(observed({ condition: 'True' })).state).toBe('gated.ready.proven');
  });

  test('written and never seen, it is not written again before a Service that came meanwhile has proven its route (docs/features/routes.md §3.1)', () => {
    const services = { ...podFacts.services, late: 'late-1' };
    const pod = newPod(observed(), ...allProven, patched(), observed({ services }));
    pod.asked();
    pod.wait(300_000);
    expect(pod.state).toBe('gated.proving.asking');
    expect(servicesAsked(pod)).toEqual(['late']);
    expect(pod.take(proven('late')).state).toBe('gated.marking.patching');
  });

  test('“404 → gone”: nothing is patched until it is observed what became of the Pod', () => {
    const pod = newPod(observed(), ...allProven, refused('gone'));
    pod.asked();
    pod.wait(60_000);
    expect(pod.asked()).toEqual([]);
    pod.take(observed({ uid: 'pod-2' }));
    expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
  });

  test.each(['conflict', 'error'] as const)(
    '“%s → back-off”: it is tried again for ever, at first soon, then every 30 s, and proofs are kept',
    (reason) => {
      const pod = newPod(observed(), ...allProven);
      pod.asked();
      const pauses: number[] = [];
      for (let n = 0; n < 10; n++) {
        pod.take(refused(reason));
        expect(pod.state).toBe('gated.marking.retrying.backingOff');
        expect(pod.context.lastError).toBe(`it was ${reason}`);
        pauses.push(pod.patience ?? 0);
        pod.wait(pod.patience ?? 0);
        expect(pod.askedOf('pod-condition.patch')).toHaveLength(1);
      }
      expect(pauses.slice(0, 3)).toEqual([500, 1_000, 2_000]);
      expect(pauses.at(-1)).toBe(30_000);
      expect(pod.take(patched()).state).toBe('gated.ready.proven');
      expect(pod.context.lastError).toBeNull();
    },
  );

  test('a patch without an outcome is tried again (I4)', () => {
    const pod = newPod(observed(), ...allProven);
    pod.asked();
    expect(pod.wait(30_000).state).toBe('gated.marking.retrying.backingOff');
    pod.wait(1_000);
    expect(pod.askedOf('pod-condition.patch')).toHaveLength(1);
  });

  test('the patch is not asked for before each Service has proven this Pod, in whatever order they answer', () => {
    const services = ['api', 'web', 'www'];
    for (const first of services) {
      for (const second of services.filter((one) => one !== first)) {
        const pod = newPod(observed(), proven(first), proven(second), proven(first));
        expect([first, second, pod.askedOf('pod-condition.patch')]).toEqual([first, second, []]);
      }
    }
  });
});

describe('the condition is taken back by somebody', () => {
  test.each(['False', 'Unknown', null] as const)(
    '%s instead of True: it is written again from the proofs that there are, nothing is probed again',
    (condition) => {
      const pod = readyPod().take(observed({ condition }));
      expect(pod.state).toBe('gated.marking.patching');
      expect(pod.asked().map(({ type }) => type)).toEqual(['pod-condition.patch']);
    },
  );

  test('a condition that was True at first sight proves nothing once it is taken back: “With False or Unknown → it is verified like a missing one.”', () => {
    for (const gate of [podFacts.gate, { ...podFacts.gate, whenRouteIsLost: 'withdraw' as const }]) {
      const pod = newPod(observed({ gate, condition: 'True' }));
      pod.asked();
      pod.take(observed({ gate, condition: 'False' }));
      expect([gate, pod.state]).toEqual([gate, 'gated.proving.asking']);
      expect(servicesAsked(pod)).toEqual(['api', 'web', 'www']);
      expect(pod.take(proven('api'), proven('web')).state).toBe('gated.proving.asking');
      expect(pod.take(proven('www')).state).toBe('gated.marking.patching');
    }
  });

  test('our own patch that the picture does not show yet is not taken for its loss', () => {
    const pod = newPod(observed(), ...allProven, patched());
    pod.asked();
    pod.take(observed({ groupResource: 'found' }), observed({ groupResource: 'found', condition: 'True' }));
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([]);
  });
});
