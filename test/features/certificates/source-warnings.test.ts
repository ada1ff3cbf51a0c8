/** What asks for certificates in a way that cannot be understood is told so. */
import { expect, test } from 'vitest';
import type { WorldEntry } from '../../../src/base/digests.ts';
import { silentLog } from '../../../src/base/log.ts';
import { type SourceWarning, SourceWarnings } from '../../../src/features/certificates/source-warnings.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const since = '2025-01-01T00:00:00Z';
const base = { uid: 'uid-1', resourceVersion: '7', createdAt: 0, deleting: false, labels: {} };
const broken: WorldEntry = {
  resource: 'domains.orrery.dev',
  namespace: 'shop',
  name: 'bad',
  digest: { ...base, kind: 'domains', generation: 2, spec: { invalid: 'spec.host: no' } } as never,
};

test('of a Domain that was told already, by another replica, the time of the transition stays', async () => {
  const warned: SourceWarning[] = [];
  const bodies: unknown[] = [];
  const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: since }];
  const held = { metadata: { name: 'bad' }, status: { conditions } };
  const clock = new VirtualClock();
  const warnings = new SourceWarnings({
    kube: fakePort({
      get: async () => held,
      patch: async (_resource, { body }) => {
        bodies.push(body);
        return held;
      },
    }),
    world: { entries: (resource) => (resource === broken.resource ? [broken] : []), onChange: () => {} },
    warn: async (warning) => void warned.push(warning),
    clock,
    log: silentLog,
  });
  warnings.start();
  await clock.advance(10);
  warnings.stop();
  expect(warned).toMatchObject([
    { reason: 'InvalidSpec', note: 'spec.host: no', regarding: { kind: 'Domain' } },
  ]);
  const ready = { status: 'False', reason: 'InvalidSpec', lastTransitionTime: since, observedGeneration: 2 };
  expect(bodies).toMatchObject([{ metadata: { uid: 'uid-1' }, status: { conditions: [ready] } }]);
});
