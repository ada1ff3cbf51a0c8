/** One object of a bundle, applied while others write to it (docs/features/releases.md §3.4). */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, PatchOptions } from '../../../src/base/kube-port.ts';
import { bundleLabel, labelled } from '../../../src/features/releases/bundle.ts';
import { applyObject } from '../../../src/features/releases/release-apply.ts';
import { coreResource } from '../../../src/kube/api/resources.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';

const configMaps = coreResource('configmaps', 'ConfigMap');
const metadata = { namespace: 'default', name: 'settings', labels: {} };
const manifest = labelled({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: '1' } }, 'ours');
const liveOf = (owner: string, resourceVersion: string): KubeObject => ({
  metadata: { ...metadata, uid: 'u', resourceVersion, labels: { [bundleLabel]: owner } },
});

/** @param lives the object at each look, null: none; a patch of any but the last is a conflict */
async function applied(lives: ReadonlyArray<KubeObject | null>) {
  const patches: PatchOptions[] = [];
  let looks = 0;
  const conflict = new OrreryError('KUBE_CONFLICT', 'the object has been modified', {
    facts: { status: 409 },
  });
  const kube = fakePort({
    get: async () => {
      const live = lives[Math.min(looks++, lives.length - 1)];
      if (live) return live;
      throw new OrreryError('KUBE_NOT_FOUND', 'there is none');
    },
    patch: async (_resource, options) => {
      patches.push(options);
      const { resourceVersion } = (options.body as KubeObject).metadata;
      if (resourceVersion !== lives.at(-1)?.metadata.resourceVersion) throw conflict;
      return { metadata };
    },
  });
  const outcome = await applyObject({ kube, joined: new Set() }, configMaps, manifest, context.signal).catch(
    (thrown) => thrown,
  );
  return { patches, outcome };
}

test('an object that becomes another bundle’s between the look and the write is left alone', async () => {
  const { patches, outcome } = await applied([liveOf('ours', '1'), liveOf('theirs', '2')]);
  expect(outcome).toMatchObject({ code: 'KUBE_REFUSED', message: expect.stringContaining('theirs') });
  expect(patches).toHaveLength(1);
});

test('one that somebody only wrote to meanwhile is looked at again and applied in the same round', async () => {
  const { patches, outcome } = await applied([liveOf('ours', '1'), liveOf('ours', '2')]);
  expect(outcome).toMatchObject({ isReplaced: false });
  expect(patches).toHaveLength(2);
});

test('one that somebody creates between the look and the write keeps the fields that its creator set', async () => {
  const { patches, outcome } = await applied([null, { metadata: { ...metadata, resourceVersion: '1' } }]);
  expect(outcome).toMatchObject({
    code: 'KUBE_REFUSED',
    message: expect.stringContaining('without the label'),
  });
  expect(patches).toMatchObject([{ type: 'apply', force: false }]);
});
