/** What the kubelet stand-in writes into the status of a Pod, as a pure function. */
import { describe, expect, test } from 'vitest';
import { podStatusPatch, type RunFacts } from '../../packages/dev-cluster/nodes/pod-status.ts';
import type { Condition, PodObject } from '../../packages/dev-cluster/objects.ts';

const now = Date.parse('2026-01-01T00:00:10Z');
const facts: RunFacts = {
  ip: '10.80.0.2',
  hostIp: '127.0.0.1',
  phase: 'running',
  startedAt: now - 1_000,
  probesPass: true,
  waitingFor: undefined,
};
const pod = (conditions: Condition[], gates: string[] = [], status: object = {}): PodObject => ({
  metadata: { name: 'a', uid: 'u' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    readinessGates: gates.map((conditionType) => ({ conditionType })),
  },
  status: { conditions, ...status },
});
const ready = (patch: Record<string, unknown> | null) =>
  conditionsOf(patch).find(({ type }) => type === 'Ready');
const conditionsOf = (patch: Record<string, unknown> | null) =>
  (patch?.status as { conditions: Condition[] } | undefined)?.conditions ?? [];

describe('Ready', () => {
  test.each<[string, Condition[], string[], Partial<RunFacts>, string, string]>([
    ['containers ready, no gate', [], [], {}, 'True', ''],
    ['a gate without a condition', [], ['g'], {}, 'False', 'ReadinessGatesNotReady'],
    ['a gate that is False', [{ type: 'g', status: 'False' }], ['g'], {}, 'False', 'ReadinessGatesNotReady'],
    ['a gate that is True', [{ type: 'g', status: 'True' }], ['g'], {}, 'True', ''],
    [
      'one of two gates True',
      [{ type: 'g', status: 'True' }],
      ['g', 'h'],
      {},
      'False',
      'ReadinessGatesNotReady',
    ],
    [
      'a gate True, containers not',
      [{ type: 'g', status: 'True' }],
      ['g'],
      { probesPass: false },
      'False',
      'ContainersNotReady',
    ],
    ['not started', [], [], { phase: 'starting' }, 'False', 'ContainersNotReady'],
    ['ended', [], [], { phase: 'ended' }, 'False', 'PodCompleted'],
  ])('%s', (_, conditions, gates, extra, status, reason) => {
    expect(ready(podStatusPatch(pod(conditions, gates), { ...facts, ...extra }, now))).toMatchObject({
      status,
      reason,
    });
  });
});

test('the condition of a gate is in no patch', () => {
  const patch = podStatusPatch(pod([{ type: 'g', status: 'True' }], ['g']), facts, now);
  expect(
    conditionsOf(patch)
      .map(({ type }) => type)
      .sort(),
  ).toEqual(['ContainersReady', 'Initialized', 'PodScheduled', 'Ready']);
});

test('a Pod that says all of it already is not patched', () => {
  const first = podStatusPatch(pod([]), facts, now);
  const { conditions, ...rest } = (first ?? { status: {} }).status as { conditions: Condition[] };
  expect(podStatusPatch(pod(conditions, [], rest), facts, now + 5_000)).toBeNull();
});

test('the transition time of a condition changes only with its status', () => {
  const before = '2026-01-01T00:00:00Z';
  const held: Condition = { type: 'Ready', status: 'False', reason: 'Other', lastTransitionTime: before };
  const same = podStatusPatch(pod([held], ['g']), facts, now);
  expect(ready(same)).toMatchObject({ reason: 'ReadinessGatesNotReady', lastTransitionTime: before });
  const moved = podStatusPatch(pod([held]), facts, now);
  expect(ready(moved)?.lastTransitionTime).toBe('2026-01-01T00:00:10.000Z');
});

test('another address than before replaces the list of addresses', () => {
  const patch = podStatusPatch(pod([], [], { podIP: '10.81.0.9' }), facts, now);
  expect(patch?.status).toMatchObject({ podIPs: [{ ip: '10.80.0.2' }, { $patch: 'replace' }] });
});
