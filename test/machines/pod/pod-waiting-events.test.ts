/** What a busy Pod takes in one step: the words of several Services. */
import { describe, expect, test } from 'vitest';
import type { PodEvent } from '../../../src/machines/pod/pod-events.ts';
import { mergedForPod, patienceOfPod } from '../../../src/machines/pod/pod-waiting-events.ts';
import { confirmed, lost, missed, newPod, observed, proven, recheck, withdrawing } from './pod-script.ts';

function joint(...events: readonly PodEvent[]): PodEvent {
  return events.reduce((waiting, next) => {
    const both = mergedForPod(waiting, next) as PodEvent | null;
    if (both === null) throw new Error('the events cannot be joined');
    return both;
  });
}

describe('joint proofs', () => {
  test('count as if each had come alone', () => {
    const pod = newPod(observed(), joint(proven('api'), proven('web'), proven('www')));
    expect(pod.state).toBe('gated.marking.patching');
    expect(pod.context.proofs).toEqual({ api: 'api-1', web: 'web-1', www: 'www-1' });
    expect(pod.context.asked).toEqual([]);
  });

  test('of another Pod, another address or another Service among them prove nothing', () => {
    const others = [
      proven('api', { uid: 'pod-0' }),
      proven('web', { ip: '10.0.0.9' }),
      proven('www', { serviceUid: 'www-0' }),
    ];
    const pod = newPod(observed(), joint(...others, proven('web')));
    expect(pod.context.proofs).toEqual({ web: 'web-1' });
  });

  test('that are all of others change nothing', () => {
    const pod = newPod(observed());
    const before = pod.context;
    pod.take(joint(proven('api', { uid: 'pod-0' }), proven('web', { uid: 'pod-0' })));
    expect(pod.context).toEqual(before);
  });
});

test('joint answers are told of each Service that still owes a proof', () => {
  const pod = newPod(observed(), proven('api'));
  pod.take(joint(missed('api', 'x'), missed('web', 'y'), missed('www', 'z', ['10.0.0.1'])));
  expect(pod.context.answers).toEqual({ web: 'y', www: 'this Pod answered, but not with status 200' });
});

describe('what is never joined', () => {
  test.each<[string, PodEvent, PodEvent]>([
    ['different words', proven('api'), missed('web', 'x')],
    ['a loss with a loss', lost('api'), lost('web')],
    ['a loss with a proof', lost('api'), proven('api')],
    ['observations', observed(), observed()],
    ['what people say', recheck, recheck],
  ])('%s', (_, waiting, next) => {
    expect(mergedForPod(waiting, next)).toBeNull();
  });

  test('more than 24 words', () => {
    const many = Array.from({ length: 24 }, (_, n) => proven(`s${n}`));
    expect(mergedForPod(joint(...many), proven('last'))).toBeNull();
  });
});

describe('the words of Services that watch', () => {
  const watched = () => newPod(observed({ gate: withdrawing, condition: 'True' }));

  test('count together as if each had come alone', () => {
    const pod = watched().take(joint(confirmed('api'), confirmed('web'), confirmed('www')));
    expect(pod.context.watches).toEqual({ api: true, web: true, www: true });
  });

  test('wait for each other, but less than it takes to be told again', () => {
    const { context } = watched();
    const standing = { states: ['gated.ready.proven'], context };
    expect(patienceOfPod(standing, [confirmed('api')])).toBeLessThan(5_000);
    expect(patienceOfPod(standing, [confirmed('api')])).toBeGreaterThan(0);
    expect(patienceOfPod(standing, ['api', 'web', 'www'].map(confirmed))).toBe(0);
    expect(patienceOfPod(standing, [confirmed('api'), lost('api')])).toBe(0);
  });
});
