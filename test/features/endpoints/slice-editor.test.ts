/** Who edits our slices, by `managedFields` (docs/features/endpoints.md §5.9). */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { sliceDigest } from '../../../src/features/endpoints/digest.ts';
import { SliceApi } from './slice-api.ts';

const entry = (manager: string, time: string, fieldsV1: Readonly<Record<string, unknown>>) => ({
  manager,
  operation: 'Update',
  time,
  fieldsV1,
});
const ours = entry('orrery', '2026-01-01T00:00:02Z', { 'f:endpoints': {}, 'f:metadata': { 'f:labels': {} } });

function editorOf(...managedFields: ReturnType<typeof entry>[]): string | undefined {
  const labels = { 'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints' };
  return sliceDigest({
    metadata: { name: 's', uid: 'u', resourceVersion: '1', labels, managedFields },
  } as KubeObject).editor;
}

test.each([
  ['nobody', [ours], undefined],
  [
    'who wrote the endpoints',
    [ours, entry('kubectl-edit', '2026-01-01T00:00:03Z', { 'f:endpoints': {} })],
    'kubectl-edit',
  ],
  [
    'who wrote a label',
    [entry('fleet', '2026-01-01T00:00:03Z', { 'f:metadata': { 'f:labels': {} } }), ours],
    'fleet',
  ],
  [
    'the last of two',
    [
      entry('a', '2026-01-01T00:00:04Z', { 'f:ports': {} }),
      entry('b', '2026-01-01T00:00:03Z', { 'f:endpoints': {} }),
    ],
    'a',
  ],
  [
    'not who keeps an annotation',
    [entry('notes', '2026-01-01T00:00:03Z', { 'f:metadata': { 'f:annotations': {} } })],
    undefined,
  ],
])('%s', (_, managedFields, editor) => {
  expect(editorOf(...managedFields)).toBe(editor);
});

test('a pass says whose edit it reverts', async () => {
  const api = new SliceApi();
  await api.pass();
  const [slice] = api.objects.values();
  if (slice === undefined) throw new Error('no slice was written');
  const managedFields = [entry('kubectl-edit', '2026-01-01T00:00:03Z', { 'f:endpoints': {} })];
  api.put({ ...slice, endpoints: [], metadata: { ...slice.metadata, managedFields } });
  api.echo();
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1, editor: 'kubectl-edit' });
});
