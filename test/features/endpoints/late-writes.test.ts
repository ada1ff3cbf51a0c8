/** A pass over the slices of a Service whose requests take long: docs/features/endpoints.md §5.1. */
import { expect, test } from 'vitest';
import { SliceApi, workload } from './slice-api.ts';

test('a write that waited long for another takes nothing out that is wanted again by then', async () => {
  const api = new SliceApi();
  api.max = 2;
  await api.pass();
  api.echo();
  // One slice has to change, and the other to go.
  await api.clock.advance(1);
  api.index.setWorkload('shop', 'vm-0', workload(9), true);
  const [alone] = Object.entries(api.stand()).find(([, members]) => members.length === 1) ?? [];
  const [last = ''] = Object.values(api.stand()).find((members) => members.length === 1) ?? [];
  const number = Number(last.slice('vm-'.length));
  api.index.setWorkload('shop', last, null, true);
  api.before = (operation) => {
    if (operation !== 'patch') return;
    api.before = () => {};
    api.clock.spend(25_000);
    api.index.setWorkload('shop', last, workload(number), true);
  };
  api.calls.length = 0;
  const outcome = await api.pass();
  expect(api.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
  expect(api.stand()[alone ?? '']).toEqual([last]);
  expect(outcome).toMatchObject({ type: 'slices.reconciled' });
  // The next pass has nothing left to do.
  api.echo();
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 0 });
});
