/**
 * One sentence for each state of a Pod, with the nouns in it; those of a Pod that is held back are its
 * condition's.
 */
import { describe, expect, test } from 'vitest';
import { toldOf } from '../told.ts';
import {
  allProven,
  lost,
  missed,
  newPod,
  observed,
  type PodDriver,
  patched,
  podFacts,
  proven,
  readyPod,
  recheck,
  refused,
  toldWhy,
  unverifiable,
  withdrawing,
} from './pod-script.ts';

const told = (pod: PodDriver) => toldOf('pod', pod);
const watchedPod = () => readyPod({ gate: withdrawing });
const moved = { ip: '10.0.0.2', family: 'IPv4' } as const;
const withLate = { ...podFacts.services, late: 'late-1' };

test.each<[string, PodDriver, string, string]>([
  [
    'ungated',
    newPod(observed({ gated: false })),
    'ok',
    'The Pod does not list example.com/routes in spec.readinessGates: RouteGate gate does not hold it back.',
  ],
  [
    'gated.notApplicable',
    newPod(observed({ groupResource: 'mismatch' })),
    'ok',
    "The object that owns the Pod's group does not match what RouteGate gate requires: that verifies nothing, and does not set example.com/routes.",
  ],
  [
    'gated.stranded',
    newPod(observed({ groupResource: 'mismatch' })).wait(300_000),
    'wrong',
    "The object that owns this Pod's group does not match what RouteGate gate requires (groupResource.require), so that verifies nothing, and does not set this condition to True. If the Pod is to become Ready, remove example.com/routes from spec.readinessGates of its template, or correct require.",
  ],
  [
    'gated.groupMissing.unsaid',
    newPod(
      observed({ groupResource: 'missing', owner: { kind: 'ProxyGroup', name: 'egress', label: 'group' } }),
    ),
    'wrong',
    "ProxyGroup egress, which owns this Pod's group by RouteGate gate, does not exist. Create it, or correct the Pod's label group.",
  ],
  [
    'gated.groupMissing.unsaid',
    newPod(
      observed({
        groupResource: 'missing',
        owner: { apiVersion: 'example.com/v1', kind: 'ProxyGroup', name: 'egress', label: 'group' },
      }),
    ),
    'wrong',
    "ProxyGroup egress (example.com/v1), which owns this Pod's group by RouteGate gate, does not exist. Create it, or correct the Pod's label group; if the cluster has no such kind, the RouteGate's groupResource.",
  ],
  [
    'gated.groupMissing.reported',
    newPod(observed({ groupResource: 'missing' }))
      .wait(4_000)
      .take(patched('False'))
      .wait(30_000),
    'wrong',
    "The object that owns this Pod's group, named by RouteGate gate, does not exist. A Warning Event on the Pod says so.",
  ],
  [
    'gated.marking.patching',
    newPod(observed({ services: {}, noService: { label: 'group', value: 'g9' } })),
    'waiting',
    "RouteGate gate found no Service for this Pod's group, which its serviceSelector selects and which has the label group=g9; no traffic was verified. The condition is being written.",
  ],
  [
    'gated.waitingForAddress.unsaid',
    newPod(observed({ address: null })),
    'waiting',
    'This Pod has no address yet (status.podIPs); if that lasts, kubectl describe pod says why.',
  ],
  [
    'gated.waitingForAddress.overdue.told',
    toldWhy(newPod(observed({ address: null }))).wait(296_000),
    'wrong',
    'This Pod has no address yet (status.podIPs); if that lasts, kubectl describe pod says why.',
  ],
  [
    'gated.invalid.unsaid',
    newPod(observed({ address: { invalid: '1.2.3' } })),
    'wrong',
    'The Pod\'s first address (status.podIPs), which its node\'s network sets, is no IP address: "1.2.3". No Service is probed until it is one.',
  ],
  [
    'gated.proving.asking',
    newPod(observed(), proven('api'), missed('web', 'answered by 10.0.0.7')),
    'waiting',
    '2 of 3 Services have not reached this Pod: web (answered by 10.0.0.7), www (no answer yet).',
  ],
  [
    'gated.proving.unsaid',
    newPod(observed(), proven('api'), proven('web')).wait(4_000).take(refused('error')),
    'waiting',
    '1 of 3 Services have not reached this Pod: www (no answer yet). The condition could not be written: it was error.',
  ],
  [
    'gated.proving.unsaid',
    newPod(observed(), proven('api'), proven('web')).wait(4_000).wait(30_000),
    'waiting',
    '1 of 3 Services have not reached this Pod: www (no answer yet). The condition could not be written: the condition patch timed out.',
  ],
  [
    'gated.marking.patching',
    newPod(observed(), ...allProven),
    'waiting',
    'Traffic through 3 of 3 Services reached this Pod. The condition is being written.',
  ],
  [
    'gated.marking.outdated',
    newPod(observed(), ...allProven, observed({ address: moved })),
    'waiting',
    "The Pod's address changed while its condition was being written; the condition is withdrawn once that write has landed.",
  ],
  [
    'gated.marking.retrying.backingOff',
    newPod(observed(), ...allProven, refused('error')),
    'wrong',
    'Traffic through 3 of 3 Services reached this Pod. The condition could not be written, once: it was error.',
  ],
  [
    'gated.marking.retrying.waitingForNews',
    newPod(observed(), ...allProven, refused('gone')),
    'waiting',
    'The Pod was missing, or had been replaced, when its condition was to be written; Orrery waits to see what happened to it.',
  ],
  [
    'gated.ready.proven',
    newPod(observed(), proven('api'), proven('web'), unverifiable('www'), patched()),
    'ok',
    'Traffic through 2 of 3 Services reached this Pod. Not verified: www (its answers carry no header).',
  ],
  [
    'gated.ready.proven',
    newPod(observed({ condition: 'True' })),
    'ok',
    'The condition was True when the Pod was first seen, which counts for 3 of 3 Services.',
  ],
  [
    'gated.ready.proven',
    readyPod().take(observed({ condition: 'True', services: withLate })),
    'ok',
    'The condition is True, and RouteGate gate says keep; 1 of 4 Services came later, were lost, or had not reached the Pod when somebody else set it.',
  ],
  [
    'gated.ready.doubted',
    watchedPod().take(lost('web')),
    'wrong',
    '1 of 3 Services have not reached this Pod: web (no answer yet). The condition is set to False unless they do so in time.',
  ],
  [
    'gated.lost.withdrawing',
    watchedPod().take(lost('web')).wait(30_000),
    'wrong',
    'Service web does not reach this Pod. The condition is being set to False.',
  ],
  [
    'gated.lost.backingOff',
    watchedPod().take(lost('web')).wait(30_000).take(refused('error')),
    'wrong',
    'Service web does not reach this Pod. The condition could not be set to False, once: it was error.',
  ],
  [
    'terminating',
    readyPod().take(observed({ condition: 'True', deleting: true })),
    'ok',
    'The Pod is being deleted or has ended; nothing more is asked or written.',
  ],
])('%s', (state, pod, health, text) => {
  expect([pod.state, told(pod).health, told(pod).text]).toEqual([state, health, text]);
});

test('the words of a Pod that is held back are those of its condition', () => {
  const pod = newPod(observed(), missed('web', 'answered by 10.0.0.7')).wait(4_000);
  const [patch] = pod.askedOf('pod-condition.patch');
  expect(told(pod).text).toBe(patch?.message);
});

describe('what happens next', () => {
  test('Services are asked again', () => {
    const pod = newPod(observed());
    expect(told(pod).next).toEqual({ text: 'the Services are asked again', at: pod.now + 60_000 });
    pod.wait(4_000).take(patched('False')).wait(56_000);
    expect(told(pod).next).toEqual({ text: 'the Services are asked again', at: pod.now + 60_000 });
  });

  test('a route that is owed costs the condition 30 s after it was seen last', () => {
    const pod = watchedPod();
    const since = pod.now - 10_000;
    pod.take(lost('web', ['pod-1'], 'web-1', since));
    expect(told(pod).next).toEqual({ text: 'the condition is set to False', at: since + 30_000 });
  });

  test('nothing, of a Pod that is ready', () => {
    expect(told(readyPod()).next).toBeNull();
    expect(told(readyPod().take(recheck)).text).not.toBe('');
  });
});

test('its facts are what one looks for first', () => {
  const pod = newPod(observed(), proven('api'), unverifiable('web'));
  expect(told(pod).facts).toEqual({
    RouteGate: 'gate',
    Condition: 'example.com/routes unset',
    Address: '10.0.0.1',
    Services: 3,
    Proven: 1,
    'Not verified': 1,
    Missing: 'www',
    'Held since': 1_700_000_000_000,
  });
});
