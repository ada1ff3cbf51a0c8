/** Admission webhooks and policies that change what a pass writes. */
import { expect, test } from 'vitest';
import { SliceApi, service } from './slice-api.ts';

test('§2.17: labels that admission adds or changes stay, and cost no write', async () => {
  const api = new SliceApi();
  const extra = { cost: 'x', team: 'theirs' };
  api.admit = ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, labels: { ...metadata.labels, ...extra } },
  });
  api.index.setService('shop', 'web', { ...service, labels: { team: 'ours' } });
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 0 });
  api.echo();
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 0 });
  api.index.setService('shop', 'web', { ...service, labels: { team: 'ours', tier: 'a' } });
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect([...api.objects.values()][0]?.metadata.labels).toMatchObject({ ...extra, tier: 'a' });
  // What somebody else writes there is reverted.
  for (const held of api.objects.values())
    api.put({ ...held, metadata: { ...held.metadata, labels: { ...held.metadata.labels, foreign: 'y' } } });
  api.echo();
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect([...api.objects.values()][0]?.metadata.labels).not.toHaveProperty('foreign');
});

test('§2.17: admission that changes endpoints is told as such', async () => {
  const api = new SliceApi();
  api.admit = (object) => ({ ...object, endpoints: [] });
  expect(await api.pass()).toMatchObject({
    type: 'slices.failed',
    message: expect.stringContaining('look for an admission webhook or policy'),
  });
});
