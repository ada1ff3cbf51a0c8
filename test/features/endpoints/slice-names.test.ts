/** The names of new slices: a repeated pass finds what it made, and what is another's is passed over. */
import { expect, test } from 'vitest';
import { managedByLabel } from '../../../src/features/endpoints/slice-labels.ts';
import { SliceApi, workload } from './slice-api.ts';

test('I5: a pass that is made again after a crash finds the slice that it had made', async () => {
  const api = new SliceApi();
  await api.pass({ series: 7 });
  // Another replica, which knows nothing of it: its picture lags behind.
  const other = new SliceApi();
  for (const object of api.objects.values()) other.objects.set(object.metadata.name, object);
  const outcome = await other.pass({ series: 7 });
  expect(outcome).toMatchObject({ type: 'slices.reconciled', writes: 0 });
  expect(Object.values(other.stand())).toEqual([['vm-0', 'vm-1', 'vm-2']]);
});

test('a slice whose name a new one would have is passed over', async () => {
  const api = new SliceApi(100);
  await api.pass({ series: 9 });
  for (let n = 100; n < 150; n++) api.index.setWorkload('shop', `vm-${n}`, workload(n), true);
  api.calls.length = 0;
  expect(await api.pass({ series: 9 })).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect(api.calls).toHaveLength(1);
});

test('names that slices of others have are passed over, however many, whatever pass wants them', async () => {
  const api = new SliceApi();
  for (let taken = 0; taken < 9; taken++) {
    expect(await api.pass({ series: 1 })).toMatchObject({ type: 'slices.reconciled', writes: 1 });
    const [made] = [...api.objects.values()].slice(-1);
    if (made === undefined) throw new Error('a pass makes a slice');
    const { name, labels } = made.metadata;
    api.put({ ...made, metadata: { ...made.metadata, labels: { ...labels, [managedByLabel]: 'somebody' } } });
    api.index.setSlice('shop', name, null);
    await api.clock.advance(60_000);
  }
  expect(api.objects.size).toBe(9);
});
