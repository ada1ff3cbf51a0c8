/** When a Pod that is held back needs a look. */
import { describe, expect, test } from 'vitest';
import { podChart } from '../../../src/machines/pod/pod.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import { stateWords } from '../../../src/machines/tell.ts';
import { toldOf } from '../told.ts';
import {
  missed,
  newPod,
  observed,
  type PodDriver,
  patched,
  podFacts,
  proven,
  refused,
  toldWhy,
} from './pod-script.ts';

const holding: PodFacts['gate'] = { ...podFacts.gate, whenUnverifiable: 'hold' };
const patches = (pod: PodDriver) => pod.askedOf('pod-condition.patch');

describe('docs/features/routes.md §7.16: a Pod that is held back for long needs a look', () => {
  const minutes = (pod: PodDriver, count: number) => {
    for (const end = pod.now + count * 60_000; pod.now < end; ) {
      pod.wait(Math.min(pod.patience ?? 60_000, end - pod.now));
      if (patches(pod).length > 0) pod.take(patched('False'));
    }
    return stateWords(podChart, pod.state).health;
  };

  test.each<[string, Partial<PodFacts>]>([
    ['a Service does not select it', { deadlocks: { www: ['unselected'] } }],
    ['its gate finds no Service', { services: {}, gate: holding }],
    ['a Service cannot be probed', { services: { api: null }, gate: holding }],
  ])('after a minute if %s', (_, facts) => {
    const pod = newPod(observed(facts), proven('api'), proven('web'));
    expect(minutes(pod, 0.9)).toBe('waiting');
    expect(minutes(pod, 0.2)).toBe('wrong');
    expect(pod.state).toBe('gated.proving.overdue.told');
  });

  test('after five minutes whatever the reason, until it is proven; its condition stays up to date', () => {
    const pod = newPod(observed(), proven('api'), proven('web'));
    expect(minutes(pod, 4.9)).toBe('waiting');
    expect(minutes(pod, 0.2)).toBe('wrong');
    pod.take(missed('www', 'answered by 10.0.0.7')).wait(pod.patience ?? 0);
    expect(patches(pod)).toMatchObject([{ message: expect.stringContaining('answered by 10.0.0.7') }]);
    pod.take(patched('False'));
    expect(pod.state).toBe('gated.proving.overdue.told');
    expect(pod.take(proven('www')).state).toBe('gated.marking.patching');
  });

  test('what hinders it comes to be known later: a minute after that at most', () => {
    const pod = newPod(observed(), proven('api'), proven('web'));
    expect(minutes(pod, 2.5)).toBe('waiting');
    pod.take(observed({ deadlocks: { www: ['unselected'] } }));
    expect(minutes(pod, 1)).toBe('wrong');
  });

  test('so does one whose gate does not apply, until somebody sets its condition', () => {
    const pod = newPod(observed({ groupResource: 'mismatch' }));
    expect(minutes(pod, 4.9)).toBe('ok');
    expect(minutes(pod, 0.2)).toBe('wrong');
    const set = observed({ groupResource: 'mismatch', condition: 'True' });
    expect(pod.take(set).state).toBe('gated.notApplicable');
    expect(minutes(pod, 12)).toBe('ok');
    pod.take(observed({ groupResource: 'mismatch', condition: 'False' }));
    expect(minutes(pod, 4.9)).toBe('ok');
    expect(minutes(pod, 0.2)).toBe('wrong');
  });

  test('so does one without an address; a write that is under way then is heard, and repeated if refused', () => {
    const waiting = { address: null, condition: 'False' } as const;
    const pod = toldWhy(newPod(observed({ address: null })));
    pod.take(observed(waiting)).wait(295_000).asked();
    for (const state of ['gated.waitingForAddress.telling', 'gated.waitingForAddress.overdue.telling']) {
      // Somebody removes the condition, so it is written again.
      pod.take(observed({ address: null })).wait(0);
      expect([pod.state, patches(pod).length]).toEqual([state, 1]);
      pod.wait(2_000).take(refused('error')).wait(30_000);
      expect(patches(pod)).toHaveLength(1);
      expect(pod.take(patched('False')).state).toBe('gated.waitingForAddress.overdue.told');
      pod.take(observed(waiting)).wait(268_000);
    }
  });

  test('§7.17: so does one that its RouteGate does not select, with an Event, again each half hour', () => {
    const unselected = { groupResource: 'mismatch', services: {}, unselected: { lacks: null } } as const;
    const pod = newPod(observed(unselected));
    expect(toldOf('pod', pod.wait(299_000)).health).toBe('ok');
    expect(pod.asked()).toEqual([]);
    pod.wait(1_000);
    const why =
      'RouteGate gate does not select this Pod (spec.podSelector), nor does another one for this condition, so that nothing sets this condition to True unless another program does. If the Pod is to become Ready, correct its labels in its template or the RouteGate, or remove example.com/routes from spec.readinessGates of its template.';
    const event = { type: 'kube-event.write', eventType: 'Warning', reason: 'NotSelected', note: why };
    expect(pod.asked()).toMatchObject([event]);
    expect(toldOf('pod', pod)).toMatchObject({ health: 'wrong', text: why });
    pod.wait(30 * 60_000);
    expect([pod.asked().length, pod.state]).toEqual([1, 'gated.stranded']);
    pod.take(observed({ ...unselected, unselected: { lacks: 'group' } }));
    expect(toldOf('pod', pod).text).toContain('holds no Pod without the label group (spec.group.podLabel)');
    // Its labels are corrected.
    expect(pod.take(observed()).state).toBe('gated.proving.asking');
  });

  test('§7.17: what its condition said before, when it was selected, is corrected', () => {
    const pod = toldWhy(newPod(observed()));
    pod.take(observed({ condition: 'False' }));
    patches(pod);
    const unselected = { groupResource: 'mismatch', services: {}, unselected: { lacks: null } } as const;
    pod.take(observed({ ...unselected, condition: 'False' })).wait(30_000);
    expect(patches(pod)).toMatchObject([{ status: 'False', reason: 'NotSelected' }]);
  });
});
