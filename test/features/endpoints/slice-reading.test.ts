/** §6.5: what is listed of an API server's EndpointSlices, for whom, how often. */
import { expect, test } from 'vitest';
import type { KubePort, ListOptions } from '../../../src/base/kube-port.ts';
import { sliceDigest } from '../../../src/features/endpoints/digest.ts';
import {
  createReadTurns,
  createSliceReading,
} from '../../../src/features/endpoints/effects/slice-reading.ts';
import { ownerReferences } from '../../../src/features/endpoints/packing/slices.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../../src/features/endpoints/slice-labels.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { SliceApi, service } from './slice-api.ts';

const { signal } = new AbortController();
const always = () => true;

/** An API server whose lists take 100 ms; the calls that it got. */
function slow(api: SliceApi) {
  const lists: Array<{ readonly options: ListOptions; readonly at: number }> = [];
  const kube: KubePort = fakePort({
    list: async (resource, options) => {
      lists.push({ options, at: api.clock.monotonic() });
      const answer = await api.port().list(resource, options, signal);
      await new Promise<void>((resolve) => void api.clock.after(100, resolve));
      return answer;
    },
  });
  return {
    lists,
    reading: createSliceReading({ kube, clock: api.clock, scene: () => api.index, takeOver: null }),
  };
}

function slice(name: string, owner = 'web') {
  const frame = { labels: {}, owner: { name: owner, uid: `${owner}-uid` } };
  const labels = { [serviceNameLabel]: owner, [managedByLabel]: managedBy };
  const metadata = { name, uid: `uid-${name}`, labels, ownerReferences: ownerReferences(frame) };
  return { metadata, addressType: 'IPv4', ports: [], endpoints: [] };
}

test('Services of one namespace that ask before a read begins share it; who comes later gets another', async () => {
  const api = new SliceApi();
  const { lists, reading } = slow(api);
  const names = Array.from({ length: 500 }, (_, n) => `web-${n}`);
  const ask = (name: string) => reading.read({ namespace: 'shop', name }, always, signal);
  const reads = names.map(ask);
  await api.clock.advance(50);
  expect(lists).toHaveLength(1);
  const late = [ask('late'), ask('later')];
  await api.clock.advance(300);
  await Promise.all([...reads, ...late]);
  expect(lists).toHaveLength(2);
});

test('five hundred Services of one namespace that ask one after the other cost a read at a time, not one each', async () => {
  const api = new SliceApi();
  const { lists, reading } = slow(api);
  const reads: Promise<void>[] = [];
  for (let n = 0; n < 500; n++) {
    reads.push(reading.read({ namespace: 'shop', name: `web-${n}` }, always, signal));
    await api.clock.advance(1);
  }
  await api.clock.advance(300);
  await Promise.all(reads);
  expect(lists.length).toBeLessThanOrEqual(7);
  expect(lists.slice(1).every(({ at }, n) => at - (lists[n]?.at ?? 0) >= 100)).toBe(true);
});

test('a read that fails holds up nobody who asks later', async () => {
  const api = new SliceApi();
  let isAway = true;
  const kube: KubePort = fakePort({
    list: async (resource, options) => {
      if (isAway) throw new Error('away');
      return api.port().list(resource, options, signal);
    },
  });
  const reading = createSliceReading({ kube, clock: api.clock, scene: () => api.index, takeOver: null });
  await expect(reading.read({ namespace: 'shop', name: 'web' }, always, signal)).rejects.toThrow('away');
  isAway = false;
  await reading.read({ namespace: 'shop', name: 'web' }, always, signal);
});

test('it is made in pages', async () => {
  const api = new SliceApi();
  for (let n = 0; n < 1_200; n++) api.put(slice(`s-${n}`));
  const { lists, reading } = slow(api);
  const read = reading.read({ namespace: 'shop', name: 'web' }, always, signal);
  await api.clock.advance(1_000);
  await read;
  expect(lists.map(({ options }) => [options.limit, options.continue])).toEqual([
    [500, undefined],
    [500, '500'],
    [500, '1000'],
  ]);
  expect(api.index.read('shop', 'web')?.slices).toHaveLength(1_200);
});

test('where the picture has caught up before its turn, nothing is read', async () => {
  const api = new SliceApi();
  const { lists, reading } = slow(api);
  let isBehind = true;
  const read = reading.read({ namespace: 'shop', name: 'web' }, () => isBehind, signal);
  isBehind = false;
  await api.clock.advance(10);
  await read;
  expect(lists).toEqual([]);
});

test('100 reads at once, then 10 a second, whatever the namespaces', async () => {
  const api = new SliceApi();
  const { lists, reading } = slow(api);
  for (let n = 0; n < 130; n++)
    void reading.read({ namespace: `ns-${n}`, name: 'web' }, always, signal).catch(() => {});
  await api.clock.advance(10);
  expect(lists).toHaveLength(100);
  await api.clock.advance(1_000);
  expect(lists).toHaveLength(110);
  await api.clock.advance(2_000);
  expect(lists).toHaveLength(130);
});

test('turns that were not taken are not saved up beyond what may be taken at once', async () => {
  const api = new SliceApi();
  const turns = createReadTurns(api.clock, { perSecond: 10, atOnce: 5 });
  await api.clock.advance(60_000);
  let taken = 0;
  for (let n = 0; n < 20; n++) void turns.take(signal).then(() => taken++);
  await api.clock.advance(1);
  expect(taken).toBe(5);
});

test('what is not in the list is taken out; what was made after it stays', async () => {
  const api = new SliceApi();
  await api.pass();
  const [gone = ''] = api.objects.keys();
  api.objects.delete(gone);
  const { reading } = slow(api);
  const read = reading.read({ namespace: 'shop', name: 'web' }, always, signal);
  await api.clock.advance(50);
  const made = api.put(slice('made'));
  api.index.setService('shop', 'web', service);
  api.index.put('shop', 'made', sliceDigest(made));
  await api.clock.advance(100);
  await read;
  expect(api.index.read('shop', 'web')?.slices.map(({ name }) => name)).toEqual(['made']);
});

test('whoever gives up does not take the read away from the others', async () => {
  const api = new SliceApi();
  const { lists, reading } = slow(api);
  const impatient = new AbortController();
  const first = reading.read({ namespace: 'shop', name: 'web' }, always, impatient.signal);
  const second = reading.read({ namespace: 'shop', name: 'api' }, always, signal);
  impatient.abort(new Error('over'));
  await expect(first).rejects.toThrow('over');
  await api.clock.advance(200);
  await second;
  expect(lists).toHaveLength(1);
});
