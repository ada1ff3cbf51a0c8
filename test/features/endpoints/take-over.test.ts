/** §7: beside Linkerd's controller, and after it: slices in its form, as `--take-over-slices` adopts them. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { slicePart } from '../../../src/features/endpoints/digest.ts';
import { ownSlices } from '../../../src/features/endpoints/interest.ts';
import { managedBy, managedByLabel, otherWriters } from '../../../src/features/endpoints/slice-labels.ts';
import { SliceApi } from './slice-api.ts';

const [linkerd] = otherWriters;

/**
 * An EndpointSlice as Linkerd's controller makes it: no name for a port without one, `terminating` always
 * there.
 */
function theirs(name: string, from: number, to: number): KubeObject {
  return {
    metadata: {
      name,
      namespace: 'shop',
      generateName: 'linkerd-external-web-',
      labels: { 'kubernetes.io/service-name': 'web', [managedByLabel]: linkerd },
      annotations: { 'mine.example.com/note': 'kept' },
      ownerReferences: [
        {
          ...{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'web-uid' },
          ...{ controller: true, blockOwnerDeletion: true },
        },
      ],
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: Array.from({ length: to - from }, (_, at) => from + at).map((n) => ({
      addresses: [`10.0.${n >> 8}.${n & 255}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'ExternalWorkload', namespace: 'shop', name: `vm-${n}`, uid: `vm-${n}-uid` },
    })),
  };
}

const listed = (api: SliceApi) => new Set(Object.values(api.stand()).flat());
const writers = (api: SliceApi) =>
  [...api.objects.values()].map(({ metadata }) => metadata.labels?.[managedByLabel]);

/** Fails if an endpoint is absent before any call. */
function watchful(api: SliceApi, count: number): void {
  api.before = () => expect(listed(api).size).toBe(count);
}

test('§7.2: they are relabelled and kept under their names; no endpoint is absent, annotations of others stay', async () => {
  const api = new SliceApi(250, linkerd);
  for (const at of [0, 1, 2])
    api.put(theirs(`linkerd-external-web-${at}`, at * 100, Math.min(at * 100 + 100, 250)));
  api.echo();
  watchful(api, 250);
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 3 });
  expect([...api.objects.keys()]).toEqual([0, 1, 2].map((at) => `linkerd-external-web-${at}`));
  expect(writers(api)).toEqual([managedBy, managedBy, managedBy]);
  expect(Object.values(api.stand()).map((one) => one.length)).toEqual([100, 100, 50]);
  const [first] = api.objects.values();
  expect(first?.metadata.annotations).toMatchObject({ 'mine.example.com/note': 'kept' });
  expect(await api.pass()).toMatchObject({ writes: 0 });
});

test('§7.2: where both have written, each endpoint stands once in the end, and is never absent', async () => {
  const before = new SliceApi(250);
  await before.pass();
  const api = new SliceApi(250, linkerd);
  for (const object of before.objects.values()) api.put(object);
  for (const at of [0, 1, 2])
    api.put(theirs(`linkerd-external-web-${at}`, at * 100, Math.min(at * 100 + 100, 250)));
  api.echo();
  watchful(api, 250);
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled' });
  expect(Object.values(api.stand()).flat()).toHaveLength(250);
  expect(listed(api).size).toBe(250);
  expect(new Set(writers(api))).toEqual(new Set([managedBy]));
});

test('§7.2: what the other controller left of a Service that no workload belongs to goes', async () => {
  const api = new SliceApi(0, linkerd);
  api.put(theirs('linkerd-external-web-0', 0, 10));
  api.echo();
  expect(api.index.isCalledFor('shop', 'web')).toBe(true);
  await api.pass();
  expect(api.objects.size).toBe(0);
});

test('§7.1: without the flag they are left alone, and it is known whose they are', async () => {
  const api = new SliceApi(10);
  const object = api.put(theirs('linkerd-external-web-0', 0, 10));
  expect(api.index.otherWriter('shop', 'web')).toBe('');
  api.echo();
  expect(api.index.otherWriter('shop', 'web')).toBe(linkerd);
  await api.pass();
  expect(api.objects.get('linkerd-external-web-0')).toBe(object);
  expect(api.objects.size).toBe(2);
  api.index.setSlice('shop', 'linkerd-external-web-0', null);
  expect(api.index.otherWriter('shop', 'web')).toBe('');
});

test('with the flag nobody else is told of', () => {
  const api = new SliceApi(10, linkerd);
  api.put(theirs('linkerd-external-web-0', 0, 10));
  api.echo();
  expect(api.index.otherWriter('shop', 'web')).toBe('');
  expect(api.index.isEmpty('shop', 'web')).toBe(false);
});

test('the world holds them apart from ours, so that a release that cannot adopt leaves them alone', () => {
  const part = slicePart(theirs('linkerd-external-web-0', 0, 1));
  expect(part).toMatchObject({ service: 'web', foreign: { writer: linkerd } });
  expect(part.managed).toBeUndefined();
  const digest = { kind: 'endpointslices', uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false };
  expect(ownSlices().wants('shop', 'x', { ...digest, labels: {}, ...part } as never)).toBe(true);
});

test('slices of controllers that are not for external workloads are nobody else\u2019s business', () => {
  const { metadata, ...rest } = theirs('web-abc', 0, 1);
  const labels = { ...metadata.labels, [managedByLabel]: 'endpointslice-controller.k8s.io' };
  expect(slicePart({ ...rest, metadata: { ...metadata, labels } })).toEqual({ service: 'web' });
});
