/** Leases as elections need them. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { elections } from '../../../src/features/elections/feature.ts';
import { createLeaseStore, leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { leases } from '../../../src/features/elections/resources.ts';
import type { LeaseRecord } from '../../../src/machines/election/lease-record.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { LeaseKube } from './lease-kube.ts';

const place = { namespace: 'shop', name: 'worker' };
const { signal } = new AbortController();
const record: LeaseRecord = {
  holder: 'a',
  durationSeconds: 15,
  acquireTime: '2026-01-01T00:00:00.000000Z',
  renewTime: '2026-01-01T00:00:00.000000Z',
  transitions: 0,
  strategy: '',
  preferredHolder: '',
};

function scene() {
  const clock = new VirtualClock();
  const kube = new LeaseKube(clock);
  return { clock, kube, store: createLeaseStore({ kube, clock }), notAfter: clock.now() + 1_000 };
}

test('a Lease that does not exist is null', async () => {
  expect(await scene().store.read(place, signal)).toBeNull();
});

test('what is written is what is read', async () => {
  const { store, notAfter } = scene();
  const written = await store.write(place, { record, resourceVersion: null, notAfter }, signal);
  expect(await store.read(place, signal)).toEqual(written);
  expect(written.record).toEqual(record);
});

test('the feature is granted the writes that a Lease takes, and no others', async () => {
  const { kube, store, notAfter } = scene();
  const { resourceVersion } = await store.write(place, { record, resourceVersion: null, notAfter }, signal);
  await store.write(place, { record, resourceVersion, notAfter }, signal);
  expect(kube.writes.map(({ by }) => by)).toEqual(['create', 'replace']);
  const needs = elections().needs.filter(({ resources }) => resources.includes('leases'));
  expect(needs.flatMap(({ verbs }) => verbs)).toEqual(['get', 'list', 'watch', 'create', 'update']);
});

test('what the Lease has beside the election’s fields stays', async () => {
  const { kube, store, notAfter } = scene();
  const spec = { holderIdentity: 'go', foreign: 'field' };
  const sent: KubeObject[] = [];
  const replace = kube.replace;
  kube.replace = (resource, object, on) => {
    sent.push(object);
    return replace(resource, object, on);
  };
  const { metadata } = kube.put(leases, 'shop', 'worker', { spec, labels: { team: 'till' } });
  await store.write(place, { record, resourceVersion: metadata.resourceVersion ?? '', notAfter }, signal);
  expect(sent[0]?.metadata).toMatchObject({ labels: { team: 'till' }, uid: metadata.uid });
  expect(sent[0]?.spec).toMatchObject({ foreign: 'field', holderIdentity: 'a' });
});

describe('a write is refused as a conflict', () => {
  test.each<[string, string | null]>([
    ['when the Lease has another version', '999'],
    ['when there is one where none was thought', null],
  ])('%s', async (_, resourceVersion) => {
    const { kube, store, notAfter } = scene();
    kube.set('worker', { holder: 'go' });
    const writing = store.write(place, { record, resourceVersion, notAfter }, signal);
    await expect(writing).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
    expect(kube.record('worker')?.holder).toBe('go');
  });

  test('when it was deleted meanwhile', async () => {
    const { kube, store, notAfter } = scene();
    const { metadata } = kube.set('worker', { holder: 'go' });
    kube.remove(leases, 'shop', 'worker');
    const resourceVersion = metadata.resourceVersion ?? '';
    const writing = store.write(place, { record, resourceVersion, notAfter }, signal);
    await expect(writing).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
  });
});

test('a write that comes too late is not sent, though it was asked for in time', async () => {
  const { clock, kube, store, notAfter } = scene();
  const { metadata } = kube.set('worker', { holder: 'a' });
  const resourceVersion = metadata.resourceVersion ?? '';
  await clock.advance(2_000);
  const writing = store.write(place, { record, resourceVersion, notAfter }, signal);
  await expect(writing).rejects.toMatchObject({ code: 'LEASE_LATE' });
  expect(kube.ours).toEqual([]);
});

test('a coordinated election’s fields are told and taken out again', async () => {
  const { kube, store, notAfter } = scene();
  const { metadata } = kube.set('worker', {
    holder: '',
    strategy: 'OldestEmulationVersion',
    preferredHolder: 'a',
  });
  const seen = await store.read(place, signal);
  expect(seen?.record).toMatchObject({ strategy: 'OldestEmulationVersion', preferredHolder: 'a' });
  const resourceVersion = metadata.resourceVersion ?? '';
  const next = { ...record, strategy: 'OldestEmulationVersion' };
  await store.write(place, { record: next, resourceVersion, notAfter }, signal);
  expect(kube.all(leases).get('shop/worker')?.spec).not.toHaveProperty('preferredHolder');
});

test('fields of a wrong type count as absent', () => {
  const spec = { holderIdentity: 7, leaseTransitions: 'x' };
  expect(leaseRecordOf({ metadata: { name: 'a' }, spec })).toMatchObject({ holder: '', transitions: 0 });
});
