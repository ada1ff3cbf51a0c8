/**
 * Whose Leases an Election may contend for (docs/features/elections.md §7.1): it acts with Orrery's rights,
 * not with its author's.
 */
import { describe, expect, test } from 'vitest';
import type { NamespaceGrants } from '../../../src/base/config-values.ts';
import type { ElectionDigest } from '../../../src/features/elections/election-digest.ts';
import { createElectionJoin } from '../../../src/features/elections/election-join.ts';
import type { ElectionObserved } from '../../../src/machines/election/election-events.ts';
import { defaultTiming } from '../../../src/machines/election/lease-record.ts';
import { ElectionScene } from './nats-scene.ts';

const elsewhere = { namespace: 'kube-system', name: 'kube-scheduler' };

function told(granted: NamespaceGrants, invalid: string | null = null) {
  const spec = { place: elsewhere, timing: defaultTiming, releaseOnCancel: true, invalid };
  const base = { uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {}, generation: 1 };
  const digest: ElectionDigest = { kind: 'elections', ...base, spec };
  const world = { get: () => digest, entries: () => [] } as unknown as Parameters<
    typeof createElectionJoin
  >[0];
  const event = createElectionJoin(world, granted).observe('election', 'evil', 'x') as ElectionObserved;
  return event.facts;
}

describe('a Lease of another namespace', () => {
  test('is refused, with the reason LeaseNotAllowed and what the operator may do', () => {
    expect(told({})).toMatchObject({
      reason: 'LeaseNotAllowed',
      invalid: expect.stringContaining('--election-namespaces evil=kube-system'),
    });
  });

  test('is refused where the operator granted another one, or another Election’s namespace', () => {
    expect(told({ evil: ['shop'], shop: ['kube-system'] })?.reason).toBe('LeaseNotAllowed');
    expect(told(JSON.parse('{"__proto__": ["kube-system"]}'))?.reason).toBe('LeaseNotAllowed');
  });

  test('is allowed where the operator says so', () => {
    expect(told({ evil: ['shop', 'kube-system'] })).toMatchObject({ invalid: null, place: elsewhere });
    expect(told({ evil: ['kube-system'] })?.reason).toBeUndefined();
  });

  test('what is of a wrong form is told first', () => {
    expect(told({}, 'no times')).toMatchObject({ invalid: 'no times' });
    expect(told({}, 'no times')?.reason).toBeUndefined();
  });
});

test('no Lease is touched for it, however silent its holder, and the status says why', async () => {
  const scene = await ElectionScene.start(1, []);
  scene.kube.set('kube-scheduler', { holder: 'scheduler-1', durationSeconds: 1 }, 'kube-system');
  await scene.election('worker', { place: elsewhere });
  expect(await scene.campaign('a')).toMatchObject({
    leading: false,
    reason: expect.stringContaining('kube-system'),
  });
  await scene.advance(60_000);
  expect(scene.kube.ours).toEqual([]);
  expect(scene.kube.record('kube-scheduler', 'kube-system')?.holder).toBe('scheduler-1');
  expect(scene.statuses.at(-1)).toMatchObject({ holder: null, reason: 'LeaseNotAllowed' });
});

/** Of the scene's Elections, and a moment. */
const leaseMs = 16_000;

test('once the operator allows it, it is held; when that is taken back, its Lease is given back', async () => {
  const scene = await ElectionScene.start(1, []);
  await scene.election('worker', { place: elsewhere, invalid: 'not allowed' });
  await scene.campaign('a', 600_000);
  await scene.election('worker', { place: elsewhere });
  await scene.advance(500);
  expect(scene.statuses.at(-1)).toMatchObject({ holder: null, reason: 'LeaseNotAllowed' });
  await scene.election('worker');
  await scene.campaign('a', 600_000);
  await scene.advance(500);
  expect(scene.kube.record('worker')).toMatchObject({ holder: 'a' });
  await scene.election('worker', { place: elsewhere });
  // Not before the leader's time is over: it was told that it leads so long.
  await scene.advance(500);
  expect(scene.kube.record('worker')).toMatchObject({ holder: 'a' });
  await scene.advance(leaseMs);
  expect(scene.kube.record('worker')).toMatchObject({ holder: '' });
  expect(scene.kube.record('kube-scheduler', 'kube-system')).toBeNull();
});
