/** How an object's status is written, by features of the program and by `kubernetes.status` alike. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, PatchOptions } from '../../../src/base/kube-port.ts';
import { coreResource } from '../../../src/kube/api/resources.ts';
import { writeStatus } from '../../../src/kube/effects/object-edit.ts';
import { fakePort } from './fake-port.ts';

const things = coreResource('things', 'Thing');
const since = '2026-01-01T00:00:00Z';
const ready = { type: 'Ready', status: 'True', reason: 'Done', message: '' } as const;
const other = { type: 'Other', status: 'False' };

function stand(status: object, refusals: OrreryError[] = []) {
  const patches: PatchOptions[] = [];
  const thing: KubeObject = { metadata: { name: 'a', uid: 'u', resourceVersion: '7' }, status };
  const kube = fakePort({
    get: async () => thing,
    patch: async (_, options) => {
      patches.push(options);
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      return thing;
    },
  });
  const write = (uid = 'u') => {
    const at = { namespace: 'shop', name: 'a', uid };
    const news = { at, now: Date.UTC(2026, 5, 1), observedGeneration: 3, conditions: [ready] };
    return writeStatus(kube, things, { ...news, fields: { left: 2 } }, new AbortController().signal);
  };
  return { patches, write };
}

test('conditions of others stay in their places, and the object must be as it was read', async () => {
  const { patches, write } = stand({ conditions: [{ ...ready, lastTransitionTime: since }, other] });
  expect(await write()).toEqual({ changed: true });
  expect(patches).toEqual([
    {
      ...{ namespace: 'shop', name: 'a', subresource: 'status', type: 'merge' },
      body: {
        metadata: { uid: 'u', resourceVersion: '7' },
        status: {
          left: 2,
          observedGeneration: 3,
          conditions: [{ ...ready, observedGeneration: 3, lastTransitionTime: since }, other],
        },
      },
    },
  ]);
});

test.each(['none', { conditions: 'none' }, { conditions: [null, 7, { type: 7 }] }])(
  'what somebody wrote there that is no condition gives way: %j',
  async (status) => {
    const { patches, write } = stand(status as object);
    await write();
    const conditions = [{ ...ready, observedGeneration: 3, lastTransitionTime: expect.any(String) }];
    expect(patches).toMatchObject([{ body: { status: { conditions } } }]);
  },
);

test('a status that says the same is not written', async () => {
  const conditions = [{ ...ready, observedGeneration: 3, lastTransitionTime: since }];
  const { patches, write } = stand({ left: 2, observedGeneration: 3, conditions });
  expect(await write()).toEqual({ changed: false });
  expect(patches).toEqual([]);
});

test('whoever comes between is not overwritten: it is read again; not for ever', async () => {
  const conflict = () => new OrreryError('KUBE_CONFLICT', 'changed');
  const once = stand({}, [conflict()]);
  expect(await once.write()).toEqual({ changed: true });
  expect(once.patches).toHaveLength(2);
  const always = stand({}, Array.from({ length: 10 }, conflict));
  await expect(always.write()).rejects.toThrow('changed');
  expect(always.patches).toHaveLength(5);
});

test('another object of that name is left alone', async () => {
  const { patches, write } = stand({});
  await expect(write('of-before')).rejects.toThrow(expect.objectContaining({ code: 'KUBE_NOT_FOUND' }));
  expect(patches).toEqual([]);
});
