/** The condition Ready of a workload: that one alone, of exactly that workload. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort, PatchOptions } from '../../../src/base/kube-port.ts';
import { patchWorkloadCondition } from '../../../src/features/endpoints/effects/workload-condition.ts';
import type { WorkloadConditionPatch } from '../../../src/machines/workload/workload-effects.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';

const effect: WorkloadConditionPatch = {
  type: 'workload-condition.patch',
  namespace: 'shop',
  name: 'vm',
  uid: 'vm-uid',
  status: 'True',
  reason: 'ProbeSucceeded',
  message: 'Every address answers the probe.',
  at: Date.parse('2026-03-04T05:06:07.890Z'),
};
const other = { type: 'Other', status: 'True' };

function stand(
  conditions: object[],
  refusals: OrreryError[] = [],
  { uid = 'vm-uid', annotations = { 'orrery.dev/probe': 'tcp://:5432' } as object } = {},
) {
  const patches: PatchOptions[] = [];
  const workload: KubeObject = {
    metadata: { name: 'vm', uid, resourceVersion: '7', annotations: { ...annotations } },
    status: { conditions },
  };
  const kube: KubePort = fakePort({
    get: async () => workload,
    patch: async (_, options) => {
      patches.push(options);
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      return workload;
    },
  });
  return { patches, run: () => patchWorkloadCondition(kube)(effect, context) };
}
const ready = (patches: readonly PatchOptions[]) =>
  (patches.at(-1)?.body as { status: { conditions: object[] } } | undefined)?.status.conditions;

test('the other conditions stay, and the workload must be in the version that was read', async () => {
  const { patches, run } = stand([
    other,
    { type: 'Ready', status: 'False', lastTransitionTime: '2020-01-01T00:00:00Z' },
  ]);
  expect(await run()).toEqual({ type: 'workload.marked', status: 'True' });
  expect(patches).toMatchObject([
    { subresource: 'status', body: { metadata: { uid: 'vm-uid', resourceVersion: '7' } } },
  ]);
  expect(ready(patches)).toEqual([
    other,
    {
      type: 'Ready',
      status: 'True',
      reason: 'ProbeSucceeded',
      message: 'Every address answers the probe.',
      lastProbeTime: '2026-03-04T05:06:07Z',
      lastTransitionTime: '2026-03-04T05:06:07Z',
    },
  ]);
});

test('I5: the time of the transition stays when the status was so already', async () => {
  const { patches, run } = stand([
    { type: 'Ready', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' },
  ]);
  await run();
  expect(ready(patches)).toMatchObject([{ lastTransitionTime: '2020-01-01T00:00:00Z' }]);
});

test('409: it is read again; not for ever', async () => {
  const conflict = () => new OrreryError('KUBE_CONFLICT', 'changed');
  expect(await stand([], [conflict(), conflict()]).run()).toEqual({
    type: 'workload.marked',
    status: 'True',
  });
  const { patches, run } = stand([], Array.from({ length: 10 }, conflict));
  expect(await run()).toEqual({ type: 'workload.unmarked', isGone: false, message: 'changed' });
  expect(patches).toHaveLength(5);
});

test('another workload of that name is not touched', async () => {
  const { patches, run } = stand([], [], { uid: 'another' });
  expect(await run()).toMatchObject({ type: 'workload.unmarked', isGone: true });
  expect(patches).toEqual([]);
});

test('one that asks no more to be probed is not touched, also if it did when the probe ran', async () => {
  const { patches, run } = stand([other], [], { annotations: {} });
  expect(await run()).toMatchObject({ type: 'workload.unmarked', isGone: false });
  expect(patches).toEqual([]);
});

test('a definition without the status subresource is written as a whole', async () => {
  const { patches, run } = stand([], [new OrreryError('KUBE_NOT_FOUND', 'no such path')]);
  expect(await run()).toEqual({ type: 'workload.marked', status: 'True' });
  expect(patches.map(({ subresource }) => subresource)).toEqual(['status', undefined]);
});
