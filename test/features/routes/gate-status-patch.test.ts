/** The effect that writes the status of a RouteGate. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { patchGateStatus } from '../../../src/features/routes/effects/gate-status.ts';
import type { RouteGateStatusPatch } from '../../../src/machines/routegate/routegate-effects.ts';
import { statusOf } from '../../../src/machines/routegate/routegate-status.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';
import { findings, gateFacts } from '../../machines/routegate/routegate-script.ts';

const effect: RouteGateStatusPatch = {
  type: 'routegate-status.patch',
  namespace: 'shop',
  name: 'gate',
  uid: 'gate-1',
  status: statusOf(gateFacts, findings, 0),
  at: Date.UTC(2026, 0, 2),
};
const since = '2026-01-01T00:00:00Z';
const stored = (uid: string): KubeObject => ({
  metadata: { name: 'gate', namespace: 'shop', uid },
  status: {
    conditions: [
      { type: 'Valid', status: 'True', lastTransitionTime: since },
      { type: 'Verifying', status: 'False', lastTransitionTime: since },
    ],
  },
});

async function run(get: KubePort['get']) {
  const patches: unknown[] = [];
  const kube = fakePort({
    get,
    patch: async (_, { body }) => {
      patches.push(body);
      return stored('gate-1');
    },
  });
  return { outcome: await patchGateStatus(kube)(effect, context), patches };
}

test('writes counts and conditions on that very object; a time changes only with the status', async () => {
  const { outcome, patches } = await run(async () => stored('gate-1'));
  expect(outcome).toEqual({ type: 'routegate.reported' });
  expect(patches).toMatchObject([
    {
      metadata: { uid: 'gate-1' },
      status: {
        pods: 3,
        ready: 3,
        verified: 3,
        observedGeneration: 4,
        conditions: [
          { type: 'Valid', status: 'True', observedGeneration: 4, lastTransitionTime: since },
          { type: 'Verifying', status: 'True', lastTransitionTime: expect.stringMatching(/^2026-01-02/) },
        ],
      },
    },
  ]);
});

test.each<[string, KubePort['get']]>([
  ['is gone', () => Promise.reject(new OrreryError('KUBE_NOT_FOUND', 'no such object'))],
  ['is another one', async () => stored('gate-2')],
])('an object that %s is not written', async (_, get) => {
  const { outcome, patches } = await run(get);
  expect(outcome).toMatchObject({ type: 'routegate.refused', reason: 'gone' });
  expect(patches).toEqual([]);
});

test('what may pass is thrown, and the chart hears of it', async () => {
  await expect(run(() => Promise.reject(new OrreryError('KUBE_SERVER', '500')))).rejects.toThrow('500');
});
