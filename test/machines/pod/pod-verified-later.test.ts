/** A Pod that passed because nothing could be verified, once something was: docs/features/routes.md §5.5. */
import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import {
  allProven,
  newPod,
  observed,
  patched,
  podFacts,
  proven,
  readyPod,
  withdrawing,
} from './pod-script.ts';

const withLate = { ...podFacts.services, late: 'late-1' };
const watched = (change: Partial<PodFacts> = {}) =>
  observed({ gate: withdrawing, condition: 'True', ...change });

describe('with whenRouteIsLost: withdraw', () => {
  const passed = { services: {}, saysUnverified: true } as const;
  const patches = (pod: ReturnType<typeof readyPod>) => pod.askedOf('pod-condition.patch');
  const late = () => readyPod({ gate: withdrawing, services: {} }).take(watched(passed));

  test('says so once Services that came later have reached it, with the same time, and in an Event', () => {
    const pod = late().take(watched({ ...passed, services: withLate }));
    pod.take(...allProven);
    expect(patches(pod)).toEqual([]);
    pod.take(proven('late'));
    expect(pod.state).toBe('gated.ready.proven');
    const asked = pod.asked();
    expect(asked).toContainEqual(
      expect.objectContaining({
        type: 'pod-condition.patch',
        status: 'True',
        reason: 'RoutesVerified',
        at: null,
      }),
    );
    expect(asked).toContainEqual(
      expect.objectContaining({ type: 'kube-event.write', reason: 'RoutesVerified' }),
    );
  });

  test('it is written once, whatever else comes, until the condition has said it', () => {
    const pod = late().take(watched({ ...passed, services: withLate }), ...allProven, proven('late'));
    expect(patches(pod)).toHaveLength(1);
    pod.take(patched(), watched({ ...passed, services: podFacts.services })).wait(3_600_000);
    expect(patches(pod)).toEqual([]);
    pod.take(watched(), watched({ saysUnverified: true }));
    expect(patches(pod)).toHaveLength(1);
  });

  test('what is only vouched for by the condition is not said to be verified', () => {
    const pod = newPod(watched({ saysUnverified: true })).wait(3_600_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(patches(pod)).toEqual([]);
  });

  test('another Pod under the name is another matter', () => {
    const pod = late().take(watched(), watched({ saysUnverified: true }), ...allProven);
    pod.asked();
    const uid = 'pod-2';
    pod.take(watched({ uid, services: {}, saysUnverified: true }), watched({ uid, saysUnverified: true }));
    pod.take(...['api', 'web', 'www'].map((name) => proven(name, { uid })));
    expect(patches(pod)).toMatchObject([{ uid, reason: 'RoutesVerified' }]);
  });
});
