/** When the status of a RouteGate is written, after docs/features/routes.md, "What people are told". */
import { expect, test } from 'vitest';
import type { WorldEntry } from '../../../src/base/digests.ts';
import { silentLog } from '../../../src/base/log.ts';
import { GateStatusKeeper } from '../../../src/features/routes/gate-status.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const digest = {
  kind: 'routegates',
  uid: 'gate-1',
  labels: {},
  generation: 1,
  spec: { invalid: 'no selector' },
};
const gate = { resource: 'routegates', namespace: 'shop', name: 'web', digest } as unknown as WorldEntry;

test('a statement that begins to count has it written, though no object changes', async () => {
  const clock = new VirtualClock();
  const written: string[] = [];
  const stated: Array<(mirror: string) => void> = [];
  const keeper = new GateStatusKeeper({
    kube: fakePort({
      get: async () => ({ metadata: { name: 'web', namespace: 'shop' } }) as never,
      patch: async (_, { namespace, name }) => {
        written.push(`${namespace}/${name}`);
        return {} as never;
      },
    }),
    world: {
      entries: (resource) => (resource === 'routegates' ? [gate] : []),
      get: () => gate.digest,
      onChange: () => {},
      onStatement: (callback) => void stated.push(callback),
    },
    groupsOfGate: () => [],
    isComplete: () => true,
    warn: async () => {},
    clock,
    log: silentLog,
  });
  keeper.start();
  await clock.advance(10);
  expect(written).toEqual(['shop/web']);
  digest.generation = 2;
  await clock.advance(60_000);
  expect(written).toHaveLength(1);
  for (const tell of stated) tell('services');
  await clock.advance(2_000);
  expect(written).toEqual(['shop/web', 'shop/web']);
  keeper.stop();
});
