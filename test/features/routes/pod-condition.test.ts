/** The condition that opens a Pod's gate: exactly that one, of exactly that Pod. */
import { expect, test } from 'vitest';
import { type ErrorCode, OrreryError } from '../../../src/base/errors.ts';
import type { KubePort, PatchOptions } from '../../../src/base/kube-port.ts';
import { patchPodCondition } from '../../../src/features/routes/effects/pod-condition.ts';
import type { PodConditionPatch } from '../../../src/machines/pod/pod-effects.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';

const effect: PodConditionPatch = {
  type: 'pod-condition.patch',
  namespace: 'shop',
  name: 'web-0',
  uid: 'uid-1',
  conditionType: 'example.com/routes',
  status: 'True',
  reason: 'RoutesVerified',
  message: '3 Services reach it',
  at: Date.parse('2025-03-04T05:06:07.890Z'),
};

/** A patch that is refused with the code, and what a look at the Pod then finds. */
function refused(code: ErrorCode, status: number, found?: string | OrreryError): KubePort {
  return fakePort({
    patch: () => Promise.reject(new OrreryError(code, `it was ${code}`, { facts: { status } })),
    get: async () => {
      if (found instanceof OrreryError) throw found;
      if (found === undefined) throw new OrreryError('KUBE_NOT_FOUND', 'there is none');
      return { metadata: { name: 'web-0', uid: found } };
    },
  });
}

test('the status is patched with one condition, merged by its type, and the uid as precondition', async () => {
  const patches: PatchOptions[] = [];
  const kube = fakePort({
    patch: async (_, options) => {
      patches.push(options);
      return { metadata: { name: 'web-0' } };
    },
  });
  expect(await patchPodCondition(kube)(effect, context)).toEqual({
    type: 'condition.patched',
    uid: 'uid-1',
    status: 'True',
  });
  expect(patches).toEqual([
    {
      namespace: 'shop',
      name: 'web-0',
      subresource: 'status',
      type: 'strategic',
      body: {
        metadata: { uid: 'uid-1' },
        status: {
          conditions: [
            {
              type: 'example.com/routes',
              status: 'True',
              reason: 'RoutesVerified',
              message: '3 Services reach it',
              lastTransitionTime: '2025-03-04T05:06:07Z',
            },
          ],
        },
      },
    },
  ]);
});

test('run twice, it asks for the same', async () => {
  const bodies: string[] = [];
  const kube = fakePort({
    patch: async (_, options) => {
      bodies.push(JSON.stringify(options));
      return { metadata: { name: 'web-0' } };
    },
  });
  await patchPodCondition(kube)(effect, context);
  await patchPodCondition(kube)(effect, context);
  expect(bodies[0]).toBe(bodies[1]);
});

test.each([
  ['there is no such Pod', refused('KUBE_NOT_FOUND', 404), 'gone'],
  ['a Pod of another uid, told as a conflict', refused('KUBE_CONFLICT', 409, 'uid-2'), 'gone'],
  ['a Pod of another uid, told as an invalid field', refused('KUBE_REFUSED', 422, 'uid-2'), 'gone'],
  ['a conflict, and then no Pod any more', refused('KUBE_CONFLICT', 409), 'gone'],
  ['a conflict about this very Pod', refused('KUBE_CONFLICT', 409, 'uid-1'), 'conflict'],
] as const)('%s', async (_, kube, reason) => {
  expect(await patchPodCondition(kube)(effect, context)).toMatchObject({
    ...{ type: 'condition.refused', uid: effect.uid, reason },
  });
});

test.each([
  ['the API server is away', refused('KUBE_UNREACHABLE', 0)],
  ['it asks to wait', refused('KUBE_THROTTLED', 429)],
  ['it fails', refused('KUBE_SERVER', 500)],
  ['we may not', refused('KUBE_REFUSED', 403)],
  ['the patch of this very Pod is invalid', refused('KUBE_REFUSED', 422, 'uid-1')],
  [
    'a conflict, and the look at the Pod fails',
    refused('KUBE_CONFLICT', 409, new OrreryError('KUBE_SERVER', 'no')),
  ],
])('%s: it is reported as an error, and tried again by the chart', async (_, kube) => {
  await expect(patchPodCondition(kube)(effect, context)).rejects.toBeInstanceOf(OrreryError);
});
