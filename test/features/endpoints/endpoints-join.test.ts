/** Who is told what about EndpointSlices: the triggers, and what is no trigger. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { AnyDigest } from '../../../src/base/digests.ts';
import type {
  EndpointSliceDigest,
  ServiceDigest,
  WorkloadDigest,
} from '../../../src/features/endpoints/digests.ts';
import { createEndpointsJoin, type EndpointsJoin } from '../../../src/features/endpoints/endpoints-join.ts';
import { ownerReferences } from '../../../src/features/endpoints/packing/slices.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../../src/features/endpoints/slice-labels.ts';
import type { EndpointsFacts } from '../../../src/machines/service/slices-events.ts';
import type { WorkloadFacts } from '../../../src/machines/workload/workload-facts.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { service, workload } from './slice-api.ts';

const needed = ['services', 'endpointslices', 'workload.linkerd.io/v1beta1/ExternalWorkload'];
let clock: VirtualClock;
let synced: Set<string>;
let join: EndpointsJoin;
const held = new Map<string, AnyDigest>();
/** Who was told again, though the world had not changed. */
let lapsed: string[];

beforeEach(() => {
  lapsed = [];
  clock = new VirtualClock();
  synced = new Set(needed);
  held.clear();
  join = begin();
});

function begin(settings: { readonly endpointsPerSlice?: number } = {}): EndpointsJoin {
  const statement = (name: string) =>
    synced.has(name) ? ({ kind: 'synced', gates: [], resource: name } as const) : null;
  const world = { statement, isWhole: true, whole: async () => {} };
  return createEndpointsJoin({ world, clock, ...settings, onLapsed: (id) => lapsed.push(id) });
}

/** Puts an object into the world. @returns who has to look again */
function put(resource: string, name: string, digest: AnyDigest | null): string[] {
  const before = held.get(`${resource}/${name}`) ?? null;
  if (digest === null) held.delete(`${resource}/${name}`);
  else held.set(`${resource}/${name}`, digest);
  return [...join.fold({ resource, namespace: 'shop', name, digest }, before)].sort();
}
const putService = (
  name: string,
  selector: Record<string, string> | null,
  change: Partial<ServiceDigest> = {},
) => {
  const { selecting, ...rest } = service;
  return put('services', name, {
    ...rest,
    uid: `${name}-uid`,
    ...(selector === null || selecting === undefined ? {} : { selecting: { ...selecting, selector } }),
    ...change,
  });
};
const putWorkload = (n: number, labels: Record<string, string>, change: Partial<WorkloadDigest> = {}) =>
  put('externalworkloads.workload.linkerd.io', `vm-${n}`, workload(n, { labels, ...change }));
const servicesIn = (ids: readonly string[]) =>
  ids.filter((id) => id.startsWith('service/')).map((id) => id.split('/')[2]);
const facts = (name: string) =>
  join.observe('service', 'shop', name)?.facts as EndpointsFacts | null | undefined;

function slice(name: string, owner: string, change: Partial<EndpointSliceDigest> = {}): EndpointSliceDigest {
  return {
    kind: 'endpointslices',
    uid: `${name}-uid`,
    resourceVersion: '5',
    createdAt: 0,
    deleting: false,
    labels: { [serviceNameLabel]: owner, [managedByLabel]: managedBy },
    service: owner,
    managed: {
      addressType: 'IPv4',
      ports: [],
      endpoints: [],
      ownerReferences: ownerReferences({ labels: {}, owner: { name: owner, uid: `${owner}-uid` } }),
    },
    ...change,
  };
}

describe('a workload’s update', () => {
  beforeEach(() => {
    putService('one', { app: 'one' });
    putService('two', { app: 'two' });
    putService('zoned', { tier: 'db' });
    putWorkload(1, { app: 'one', tier: 'db' });
  });

  test('labels: the Services that match exactly one of old and new', () => {
    expect(servicesIn(putWorkload(1, { app: 'two', tier: 'db' }))).toEqual(['one', 'two']);
  });

  test('labels: also those that match both, if a label that shows in the slice changed', () => {
    const labels = { app: 'one', tier: 'db', 'topology.kubernetes.io/zone': 'north' };
    expect(servicesIn(putWorkload(1, labels))).toEqual(['one', 'zoned']);
  });

  test('labels that do not show are no work', () => {
    expect(servicesIn(putWorkload(1, { app: 'one', tier: 'db', note: 'x' }))).toEqual([]);
  });

  test.each([
    ['readiness', { ready: 'False' }],
    ['deletion', { deleting: true }],
    ['an address', { addresses: [] }],
    ['a port', { ports: [] }],
  ] as const)('%s: the union of old and new', (_, change) => {
    expect(servicesIn(putWorkload(1, { app: 'two', tier: 'db' }, change))).toEqual(['one', 'two', 'zoned']);
  });

  test('nothing that shows: no work', () => {
    const change = { readyAt: 7, resourceVersion: '9', probe: null };
    expect(servicesIn(putWorkload(1, { app: 'one', tier: 'db' }, change))).toEqual([]);
  });

  test('ready Unknown is as False', () => {
    putWorkload(1, { app: 'one' }, { ready: 'False' });
    expect(servicesIn(putWorkload(1, { app: 'one' }, { ready: 'Unknown' }))).toEqual([]);
  });
});

describe('what a Service is told', () => {
  test('nothing, until workloads and slices are listed', () => {
    putService('one', { app: 'one' });
    putWorkload(1, { app: 'one' });
    for (const resource of needed) {
      synced = new Set(needed.filter((one) => one !== resource));
      expect(join.observe('service', 'shop', 'one')).toBe(null);
    }
    synced = new Set(needed);
    expect(facts('one')).toMatchObject({ uid: 'one-uid', selects: true, empty: true });
  });

  test('§7.1: who else writes slices for it, as long as they do', () => {
    putService('one', { app: 'one' });
    putWorkload(1, { app: 'one' });
    const { managed, ...rest } = slice('theirs', 'one');
    const foreign = { writer: 'linkerd-external-workloads-controller', content: managed };
    expect(servicesIn(put('endpointslices', 'theirs', { ...rest, foreign } as EndpointSliceDigest))).toEqual([
      'one',
    ]);
    expect(facts('one')?.otherWriter).toBe('linkerd-external-workloads-controller');
    expect(servicesIn(put('endpointslices', 'theirs', null))).toEqual(['one']);
    expect(facts('one')?.otherWriter).toBe('');
  });

  test('null, if no workload matches and no slice of ours is left', () => {
    putService('one', { app: 'one' });
    expect(facts('one')).toBe(null);
    expect(facts('nobody')).toBe(null);
    put('endpointslices', 'left', slice('left', 'one'));
    expect(facts('one')).toMatchObject({ empty: false });
  });

  test('§2.16: with another number of endpoints in a slice, every Service wants another look', () => {
    const wantedWith = (endpointsPerSlice?: number) => {
      join = begin(endpointsPerSlice === undefined ? {} : { endpointsPerSlice });
      held.clear();
      putService('one', { app: 'vm' });
      putWorkload(1, { app: 'vm' });
      return facts('one')?.wanted;
    };
    expect(wantedWith(100)).toBe(wantedWith());
    expect(wantedWith(50)).not.toBe(wantedWith(100));
    expect(wantedWith(50)).toBe(wantedWith(50));
  });

  test('the same wanted token in whatever order things came', () => {
    putWorkload(1, { app: 'one' });
    putWorkload(2, { app: 'one' });
    putService('one', { app: 'one' });
    const before = facts('one')?.wanted;
    putWorkload(2, { app: 'else' });
    expect(facts('one')?.wanted).not.toBe(before);
    putWorkload(2, { app: 'one' });
    expect(facts('one')?.wanted).toBe(before);
  });

  test('another standing token for each difference, and the same for a newer version that says the same', () => {
    putService('one', { app: 'one' });
    put('endpointslices', 's', slice('s', 'one'));
    const before = facts('one')?.standing;
    put('endpointslices', 's', slice('s', 'one', { labels: { other: 'x' } }));
    expect(facts('one')?.standing).not.toBe(before);
    put('endpointslices', 's', slice('s', 'one', { resourceVersion: '6' }));
    expect(facts('one')?.standing).toBe(before);
  });
});

describe('slices of ours', () => {
  beforeEach(() => {
    putService('one', { app: 'one' });
    putWorkload(1, { app: 'one' });
  });

  test('an own write counts at once, and its echo changes nothing', () => {
    join.index.put('shop', 's', slice('s', 'one', { resourceVersion: '8' }));
    const written = facts('one')?.standing;
    expect(facts('one')?.empty).toBe(false);
    put('endpointslices', 's', slice('s', 'one', { resourceVersion: '8' }));
    expect(facts('one')?.standing).toBe(written);
  });

  test('the picture that lags behind an own write does not undo it', () => {
    join.index.put('shop', 's', slice('s', 'one', { resourceVersion: '10', labels: { mine: 'x' } }));
    const written = facts('one')?.standing;
    put('endpointslices', 's', slice('s', 'one', { resourceVersion: '9' }));
    expect(facts('one')?.standing).toBe(written);
  });

  test('one that was deleted is gone, even if a late answer to a write tells of it', () => {
    put('endpointslices', 's', slice('s', 'one'));
    put('endpointslices', 's', null);
    join.index.put('shop', 's', slice('s', 'one', { resourceVersion: '99' }));
    expect(facts('one')?.empty).toBe(true);
  });

  test('a world that forgot everything and was told it again takes own writes as before', () => {
    put('endpointslices', 's', slice('s', 'one'));
    put('endpointslices', 's', null);
    put('endpointslices', 's', slice('s', 'one'));
    const before = facts('one')?.standing;
    join.index.put('shop', 's', slice('s', 'one', { resourceVersion: '9', labels: { mine: 'x' } }));
    expect(facts('one')?.standing).not.toBe(before);
  });

  test('an own write that the world never shows lapses, and its Service is told: somebody took the slice first', async () => {
    join.index.put('shop', 's', slice('s', 'one', { resourceVersion: '10' }));
    await clock.advance(20_000);
    join.index.put('shop', 't', slice('t', 'two', { resourceVersion: '11' }));
    join.index.put('shop', 'u', slice('u', 'one', { resourceVersion: '12' }));
    put('endpointslices', 'u', slice('u', 'one', { resourceVersion: '12' }));
    await clock.advance(9_999);
    expect(lapsed).toEqual([]);
    await clock.advance(2);
    expect(lapsed).toEqual(['service/shop/one']);
    put('endpointslices', 'u', null);
    expect(facts('one')?.empty).toBe(true);
    await clock.advance(60_000);
    expect(lapsed).toEqual(['service/shop/one', 'service/shop/two']);
  });

  test('so does a deletion that the world never shows', async () => {
    put('endpointslices', 's', slice('s', 'one'));
    join.index.remove('shop', 's', 's-uid');
    expect(facts('one')?.empty).toBe(true);
    await clock.advance(30_001);
    expect(lapsed).toEqual(['service/shop/one']);
    expect(facts('one')?.empty).toBe(false);
  });

  test('what somebody else manages now is not ours; a label that is changed does not hide whose it is', () => {
    put('endpointslices', 's', slice('s', 'one'));
    expect(servicesIn(put('endpointslices', 's', slice('s', 'one', { service: 'two' })))).toEqual(['one']);
    expect(facts('one')?.empty).toBe(false);
    const { managed: _, ...foreign } = slice('s', 'one', { resourceVersion: '7' });
    expect(servicesIn(put('endpointslices', 's', foreign))).toEqual(['one']);
    expect(facts('one')?.empty).toBe(true);
  });

  test('an owner that somebody added does not hide whose it is: the label and the controller say so', () => {
    const [own = {}] = ownerReferences({ labels: {}, owner: { name: 'one', uid: 'one-uid' } });
    const other = { apiVersion: 'v1', kind: 'Service', name: 'ghost', uid: 'ghost-uid' };
    const knative = { ...other, apiVersion: 'serving.knative.dev/v1' };
    const owned = (service: string, ...owners: readonly object[]) => {
      const mine = slice('s', 'one', { service });
      return { ...mine, managed: { ...mine.managed, ownerReferences: owners } } as EndpointSliceDigest;
    };
    for (const one of [
      owned('one', other, own),
      owned('one', knative, own),
      owned('one', knative),
      owned('elsewhere', other, own),
    ])
      expect(servicesIn(put('endpointslices', 's', one)).filter((name) => name === 'one')).not.toEqual([]);
    expect(facts('one')?.empty).toBe(false);
  });

  test('one that is being deleted does not count as standing', () => {
    put('endpointslices', 's', slice('s', 'one'));
    put('endpointslices', 's', slice('s', 'one', { resourceVersion: '6', deleting: true }));
    expect(facts('one')?.empty).toBe(true);
  });
});

describe('what a workload is told', () => {
  const told = (n: number) => join.observe('workload', 'shop', `vm-${n}`)?.facts as WorkloadFacts | null;

  test('nothing calls for one that is in order and asks for no probe', () => {
    putWorkload(1, { app: 'one' });
    expect(told(1)).toBe(null);
    expect([...join.members()]).toEqual([]);
  });

  test('so nobody asks again when it changes, comes or goes: its Service alone is told', () => {
    putService('one', { app: 'one' });
    const changes = [{}, { ready: 'False' as const }, { deleting: true }];
    for (const change of changes)
      expect(putWorkload(1, { app: 'one' }, change)).toEqual(['service/shop/one']);
    expect(put('externalworkloads.workload.linkerd.io', 'vm-1', null)).toEqual(['service/shop/one']);
  });

  test('one that had a reason is asked again when the reason goes', () => {
    putWorkload(1, {}, { probe: 'tcp://:80' });
    expect(putWorkload(1, {}, { probe: null })).toEqual(['workload/shop/vm-1']);
    putWorkload(1, {}, { invalid: ['127.0.0.1'] });
    expect(put('externalworkloads.workload.linkerd.io', 'vm-1', null)).toEqual(['workload/shop/vm-1']);
  });

  test('one with an address that cannot be published hears of it, and is not probed', () => {
    putWorkload(1, { app: 'one' }, { invalid: ['127.0.0.1'], probe: 'tcp://:80' });
    expect(told(1)).toMatchObject({ addresses: [], problems: [expect.stringContaining('127.0.0.1')] });
    expect([...join.members()]).toEqual(['workload/shop/vm-1']);
  });

  test.each([
    ['127.0.0.2', 'a loopback address'],
    ['fe80::1', 'link-local'],
    ['::', 'no host’s address'],
    ['239.1.2.3', 'a multicast address'],
    ['255.255.255.255', 'a broadcast address'],
    ['fd00::1%eth0', 'an address with a zone'],
    ['010.1.0.7', 'malformed'],
  ])('§2.3: why the address %s cannot be published: it is %s', (ip, why) => {
    putWorkload(1, {}, { invalid: [ip] });
    expect(told(1)?.problems).toEqual([`address "${ip}" cannot be published: it is ${why}`]);
  });

  test('§2.3: one without an address hears that no Service publishes it', () => {
    putWorkload(1, { app: 'one' }, { addresses: [] });
    expect(told(1)).toMatchObject({
      addresses: [],
      problems: ['the workload has no address (spec.workloadIPs)'],
    });
    expect([...join.members()]).toEqual(['workload/shop/vm-1']);
  });

  test('one whose name is no hostname hears which headless Services list it, and not of those of the other family (§2.11)', () => {
    const ofFamily = (family: 'IPv4' | 'IPv6') => {
      if (service.selecting === undefined) throw new Error('the Service selects nothing');
      return {
        selecting: { ...service.selecting, selector: { app: 'one' }, headless: true, families: [family] },
      };
    };
    putService('four', null, ofFamily('IPv4'));
    putService('six', null, ofFamily('IPv6'));
    put('externalworkloads.workload.linkerd.io', 'vm.1', workload(1, { labels: { app: 'one' } }));
    expect(join.observe('workload', 'shop', 'vm.1')?.facts).toMatchObject({
      problems: [expect.stringMatching(/^headless Service four lists/)],
    });
  });

  test('one that asks for a probe is told its addresses and its condition', () => {
    putWorkload(1, { app: 'one' }, { probe: 'tcp://:80' });
    expect(told(1)).toMatchObject({
      probe: 'tcp://:80',
      ready: 'True',
      problems: [],
      addresses: [{ ip: '10.0.0.1' }],
    });
  });
});
