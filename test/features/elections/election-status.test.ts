/** The status of an Election, as it is written. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, PatchOptions } from '../../../src/base/kube-port.ts';
import { patchElectionStatus } from '../../../src/features/elections/effects/election-status.ts';
import type { ElectionStatusPatch } from '../../../src/machines/election/election-effects.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';

const before = '2025-01-01T00:00:00Z';
const effect: ElectionStatusPatch = {
  type: 'election-status.patch',
  namespace: 'shop',
  name: 'leader',
  uid: 'uid-1',
  status: {
    holder: 'a',
    term: 3,
    acquireTime: null,
    renewTime: null,
    transitions: 2,
    candidates: ['a', 'b'],
    observedGeneration: 4,
    invalid: null,
  },
  at: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
};

async function written(status: string): Promise<object> {
  const bodies: PatchOptions[] = [];
  const conditions = [{ type: 'Valid', status, lastTransitionTime: before }];
  const held: KubeObject = { metadata: { name: 'leader', uid: 'uid-1' }, status: { conditions } };
  const kube = fakePort({
    get: async () => held,
    patch: async (_resource, options) => {
      bodies.push(options);
      return held;
    },
  });
  expect(await patchElectionStatus(kube)(effect, context)).toEqual({
    type: 'election-status.patched',
    uid: 'uid-1',
  });
  expect(bodies).toMatchObject([{ namespace: 'shop', name: 'leader', subresource: 'status', type: 'merge' }]);
  return bodies[0]?.body as object;
}

test('the condition Valid keeps the time of its last transition while the election stays as usable as it was', async () => {
  expect(await written('True')).toMatchObject({
    metadata: { uid: 'uid-1' },
    status: { holder: 'a', conditions: [{ status: 'True', lastTransitionTime: before }] },
  });
  expect(await written('False')).toMatchObject({
    status: { conditions: [{ status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }] },
  });
});

test('an Election that is gone has nothing to be told; an API server that is away is asked again', async () => {
  const failing = (code: 'KUBE_NOT_FOUND' | 'KUBE_UNREACHABLE') =>
    fakePort({
      get: async () => {
        throw new OrreryError(code, 'no');
      },
    });
  const patched = patchElectionStatus(failing('KUBE_NOT_FOUND'))(effect, context);
  expect(await patched).toEqual({ type: 'election-status.patched', uid: 'uid-1' });
  await expect(patchElectionStatus(failing('KUBE_UNREACHABLE'))(effect, context)).rejects.toThrow('no');
});

test('a conflict is no end of the matter: another write came between, and the status is written again', async () => {
  const patch = async (): Promise<KubeObject> => {
    throw new OrreryError('KUBE_CONFLICT', 'the object has been modified', { facts: { status: 409 } });
  };
  const kube = fakePort({ get: async () => ({ metadata: { name: 'leader', uid: 'uid-1' } }), patch });
  await expect(patchElectionStatus(kube)(effect, context)).rejects.toThrow('modified');
  const another = fakePort({ get: async () => ({ metadata: { name: 'leader', uid: 'uid-2' } }), patch });
  expect(await patchElectionStatus(another)(effect, context)).toEqual({
    type: 'election-status.patched',
    uid: 'uid-1',
  });
});
