/** What the sampler is told of EndpointSlices, and of the Pods that have an address. */
import { describe, expect, test } from 'vitest';
import type { EndpointSliceDigest } from '../../../src/features/routes/digests.ts';
import { Groups } from '../../../src/features/routes/groups/groups.ts';
import { listingOf } from '../../../src/features/routes/start.ts';
import { gateSpec, pod, service } from '../../actors/harness.ts';

const slice = (...readyAddresses: string[]): EndpointSliceDigest => ({
  kind: 'endpointslices',
  ...{ uid: 'slice', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
  ...{ service: 'svc-0', readyAddresses },
});
const at = (ip: string) => ({ address: { ip, family: 'IPv4' } }) as const;

function startGroup() {
  const groups = new Groups();
  groups.setGate('shop', 'gate', {
    namespace: 'shop',
    name: 'gate',
    version: '1',
    createdAt: 0,
    spec: gateSpec,
  });
  groups.setService('shop', 'svc-0', service(0));
  const put = (n: number, change: object) => groups.setPod('shop', `web-${n}`, pod(n, change));
  return { groups, put, listing: listingOf(groups) };
}

const podAt = ({ listing }: ReturnType<typeof startGroup>, ip: string, since: number) =>
  listing.podAt('shop/svc-0', ip, since);

describe('whose an answer is', () => {
  test('of the Pod that has had the address since before the call', () => {
    const stage = startGroup();
    stage.put(1, { uid: 'one', ...at('10.0.0.1') });
    const since = stage.listing.moment();
    stage.put(2, { uid: 'two', ...at('10.0.0.2') });
    expect(podAt(stage, '10.0.0.1', since)).toBe('one');
    expect(podAt(stage, '10.0.0.2', since)).toBeUndefined();
    expect(podAt(stage, '10.0.0.2', stage.listing.moment())).toBe('two');
  });

  test('of nobody known while the address goes from one to another, or two have it', () => {
    const stage = startGroup();
    stage.put(1, { uid: 'one', ...at('10.0.0.1') });
    const since = stage.listing.moment();
    stage.put(1, { uid: 'another', ...at('10.0.0.1') });
    expect(podAt(stage, '10.0.0.1', since)).toBeUndefined();
    stage.put(2, { uid: 'two', ...at('10.0.0.1') });
    expect(podAt(stage, '10.0.0.1', stage.listing.moment())).toBeUndefined();
  });

  test('of the Pod that has the address of one that has ended, and was not cleaned up', () => {
    const stage = startGroup();
    stage.put(1, { uid: 'evicted', ...at('10.0.0.1'), finished: true });
    expect(podAt(stage, '10.0.0.1', stage.listing.moment())).toBeUndefined();
    stage.put(2, { uid: 'two', ...at('10.0.0.1') });
    expect(podAt(stage, '10.0.0.1', stage.listing.moment())).toBe('two');
  });

  test('of nobody who is being deleted, or is gone', () => {
    const stage = startGroup();
    stage.put(1, { uid: 'one', ...at('10.0.0.1'), deleting: true });
    expect(podAt(stage, '10.0.0.1', stage.listing.moment())).toBeUndefined();
    stage.groups.setPod('shop', 'web-1', null);
    expect(podAt(stage, '10.0.0.1', stage.listing.moment())).toBeUndefined();
  });

  test('a change that is none of its place leaves it what it was', () => {
    const stage = startGroup();
    stage.put(1, { uid: 'one', ...at('10.0.0.1') });
    const since = stage.listing.moment();
    stage.put(1, { uid: 'one', resourceVersion: '9', ...at('10.0.0.1') });
    expect(podAt(stage, '10.0.0.1', since)).toBe('one');
  });
});

test('who is held back is each listed Pod whose condition is not True, until it ends', () => {
  const { put, groups, listing } = startGroup();
  const { conditionType } = gateSpec;
  put(1, { uid: 'one', ...at('10.0.0.1') });
  put(2, { uid: 'two', ...at('10.0.0.2') });
  put(3, { uid: 'open', ...at('10.0.0.3'), conditions: { [conditionType]: 'True' } });
  put(4, { uid: 'ends', ...at('10.0.0.4'), deleting: true });
  expect([...listing.heldAt('shop/svc-0')]).toEqual([]);
  groups.setSlice('shop', 'a', 'svc-0', slice('10.0.0.1', '10.0.0.3', '10.0.0.4'));
  expect([...listing.heldAt('shop/svc-0')]).toEqual([['10.0.0.1', 'one']]);
});

test('what slices list is known of all slices of the Service together, and a change is told', () => {
  const { groups, listing } = startGroup();
  let changes = 0;
  const end = listing.onChange('shop/svc-0', () => changes++);
  groups.setSlice('shop', 'a', 'svc-0', slice('10.0.0.1'));
  groups.setSlice('shop', 'b', 'svc-0', slice('10.0.0.2'));
  expect([...(listing.addressesOf('shop/svc-0') ?? [])]).toEqual(['10.0.0.1', '10.0.0.2']);
  groups.setSlice('shop', 'a', 'svc-0', null);
  expect([...(listing.addressesOf('shop/svc-0') ?? [])]).toEqual(['10.0.0.2']);
  expect(changes).toBe(3);
  end();
  groups.setSlice('shop', 'b', 'svc-0', null);
  expect(changes).toBe(3);
});

test('Pods are expected until they are listed: those without an address as well, those that end not', () => {
  const { groups, put, listing } = startGroup();
  put(1, { uid: 'one', ...at('10.0.0.1') });
  put(2, { uid: 'two', address: null });
  put(3, { uid: 'three', ...at('10.0.0.3'), finished: true });
  expect(listing.comingTo('shop/svc-0')).toBe(2);
  groups.setSlice('shop', 'a', 'svc-0', slice('10.0.0.1'));
  expect(listing.comingTo('shop/svc-0')).toBe(1);
});

test('a Pod that gets its address after the slices have listed it is a change as well', () => {
  const { groups, put, listing } = startGroup();
  put(1, { uid: 'one', address: null });
  groups.setSlice('shop', 'a', 'svc-0', slice('10.0.0.1'));
  const coming: number[] = [];
  listing.onChange('shop/svc-0', () => coming.push(listing.comingTo('shop/svc-0')));
  put(1, { uid: 'one', ...at('10.0.0.1') });
  expect(coming).toEqual([0]);
});
