/** The next step of a rolling update, as pure functions. */
import { describe, expect, test } from 'vitest';
import { planRollout } from '../../packages/dev-cluster/controllers/deployments.ts';
import { templateHash } from '../../packages/dev-cluster/controllers/pod-template.ts';
import { planStatefulSet } from '../../packages/dev-cluster/controllers/statefulsets.ts';
import type { PodObject, WorkloadObject } from '../../packages/dev-cluster/objects.ts';

/** `2*` is Ready by the new revision, `2` by the old one; `!` not Ready, `-` being deleted, `x` ended. */
function pods(text: string): PodObject[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => ({
      metadata: {
        name: `web-${Number.parseInt(word, 10)}`,
        labels: { 'controller-revision-hash': word.includes('*') ? 'new' : 'old' },
        ...(word.includes('-') ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      },
      status: {
        phase: word.includes('x') ? 'Failed' : 'Running',
        conditions: [{ type: 'Ready', status: /[!x]/.test(word) ? 'False' : 'True' }],
      },
    }));
}

describe('a StatefulSet', () => {
  const plan = (text: string, spec: object = {}) => {
    const set: WorkloadObject = { metadata: { name: 'web' }, spec: { replicas: 3, ...spec } };
    const { create, remove } = planStatefulSet(set, pods(text), 'new');
    return [
      ...create.map((ordinal) => `+${ordinal}`),
      ...remove.map((pod) => `-${pod.metadata.name.slice(4)}`),
    ].join(' ');
  };
  const partition = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } };

  test.each<[string, string, string, object?]>([
    ['begins with ordinal 0', '', '+0'],
    ['waits for a Pod that is not Ready', '0*!', ''],
    ['goes on when it is', '0*', '+1'],
    ['is content', '0* 1* 2*', ''],
    ['replaces the highest outdated one', '0 1 2', '-2'],
    ['waits while it is being deleted', '0 1 2-', ''],
    ['makes it again', '0 1', '+2'],
    ['waits until its successor is Ready', '0 1 2*!', ''],
    ['then takes the next', '0 1 2*', '-1'],
    ['replaces an outdated one that is not Ready', '0* 1! 2*', '-1'],
    ['removes one that has ended', '0* 1*x 2*', '-1'],
    ['removes the highest surplus one', '0* 1* 2* 3* 4*', '-4'],
    ['removes surplus only while the others are Ready', '0* 1*! 2* 3*', ''],
    ['leaves those below the partition', '0 1 2*', '', partition],
    ['replaces none with OnDelete', '0 1 2', '', { updateStrategy: { type: 'OnDelete' } }],
    ['makes all at once in parallel', '1*', '+0 +2', { podManagementPolicy: 'Parallel' }],
  ])('%s: %j → %j', (_, text, expected, spec) => {
    expect(plan(text, spec)).toBe(expected);
  });
});

describe('a Deployment', () => {
  const set = (replicas: number, availableReplicas: number): WorkloadObject => ({
    metadata: { name: 'rs' },
    spec: { replicas },
    status: { availableReplicas },
  });
  const plan = (strategy: object, current: WorkloadObject, old: WorkloadObject[], oldPods = 0) => {
    const deployment: WorkloadObject = { metadata: { name: 'd' }, spec: { replicas: 4, strategy } };
    const rest = Array.from({ length: oldPods }, (): PodObject => ({ metadata: { name: 'p' } }));
    const next = new Map(planRollout(deployment, current, old, rest));
    return [current, ...old].map((each) => next.get(each) ?? each.spec?.replicas);
  };
  const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
    rollingUpdate: { maxSurge, maxUnavailable },
  });

  test.each<[string, object, [number, number], [number, number], [number, number]]>([
    ['grows by the surge and shrinks by the unavailable', rolling(1, 1), [0, 0], [4, 4], [1, 3]],
    ['waits for new Pods to be available', rolling(1, 0), [1, 0], [4, 4], [1, 4]],
    ['goes on when they are', rolling(1, 0), [1, 1], [4, 4], [1, 3]],
    ['removes unhealthy old ones first', rolling(0, 1), [0, 0], [4, 2], [0, 3]],
    ['ends with none of the old', rolling(1, 1), [4, 4], [1, 1], [4, 0]],
    ['rounds percentages: surge up, unavailable down', rolling('25%', '25%'), [0, 0], [4, 4], [1, 3]],
    ['never stands still with nothing allowed', rolling(0, 0), [0, 0], [4, 4], [0, 3]],
  ])('%s', (_, strategy, current, old, expected) => {
    expect(plan(strategy, set(...current), [set(...old)])).toEqual(expected);
  });

  test('with Recreate the new Pods wait until the old ones are gone', () => {
    expect(plan({ type: 'Recreate' }, set(0, 0), [set(4, 4)], 4)).toEqual([0, 0]);
    expect(plan({ type: 'Recreate' }, set(0, 0), [set(0, 0)], 1)).toEqual([0, 0]);
    expect(plan({ type: 'Recreate' }, set(0, 0), [set(0, 0)], 0)).toEqual([4, 0]);
  });
});

test('templates that differ in the order of fields alone have one hash', () => {
  const a = templateHash({ metadata: { labels: { a: '1', b: '2' } }, spec: { nodeName: 'n' } });
  const b = templateHash({ spec: { nodeName: 'n' }, metadata: { labels: { b: '2', a: '1' } } });
  expect(a).toBe(b);
  expect(templateHash({ metadata: { labels: { a: '1' } } })).not.toBe(a);
});
