/** What the status of a RouteGate says of its Pods. */
import { expect, test } from 'vitest';
import type { PodDigest, RouteGateDigest } from '../../../src/features/routes/digests.ts';
import { gateStatus } from '../../../src/features/routes/gate-status.ts';
import { gateSpec, pod } from '../../actors/harness.ts';

const gate: RouteGateDigest = {
  kind: 'routegates',
  uid: 'gate-uid',
  resourceVersion: '1',
  createdAt: 0,
  deleting: false,
  labels: {},
  generation: 4,
  spec: gateSpec,
};
const ready = { conditions: { 'example.com/routes': 'True' } } as const;

function statusOf(pods: PodDigest[], held: PodDigest[] = pods) {
  return gateStatus(gate, pods, held, 60_000);
}

test('counts gated Pods, those that wait and those that are ready, and tells the longest wait', () => {
  const pods = [pod(0, ready), pod(1, { createdAt: 20_000 }), pod(2, { createdAt: 45_500 })];
  expect(statusOf(pods)).toMatchObject({
    pods: 3,
    ready: 1,
    waiting: 2,
    longestWaitSeconds: 40,
    observedGeneration: 4,
  });
});

test('a Pod without the gate and one that is being deleted wait for nothing', () => {
  const pods = [pod(0, { readinessGates: [] }), pod(1, { deleting: true })];
  expect(statusOf(pods)).toMatchObject({ pods: 0, waiting: 0, longestWaitSeconds: 0 });
});

test('a specification that cannot be used is told with what is wrong', () => {
  const invalid = { ...gate, spec: { invalid: 'probe.path must begin with "/"' } };
  expect(gateStatus(invalid, [], [], 0).valid).toEqual({
    status: 'False',
    reason: 'InvalidSpec',
    message: 'probe.path must begin with "/"',
  });
});

test('Pods that an older RouteGate holds are told', () => {
  expect(statusOf([pod(0), pod(1)], [pod(0)]).valid).toMatchObject({
    status: 'True',
    reason: 'Overlaps',
    message: '1 of the selected Pods are held by an older RouteGate',
  });
});
