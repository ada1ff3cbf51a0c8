/** What asks for certificates in a way that cannot be understood is told so. */
import { expect, test } from 'vitest';
import type { AnyDigest, WorldEntry } from '../../../src/base/digests.ts';
import { OrreryError } from '../../../src/base/errors.ts';
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
  const held = { metadata: { name: 'bad', generation: 2 }, status: { conditions } };
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

/** A world whose Domain changes, and an API server that shows it and can be away. */
function stage() {
  const clock = new VirtualClock();
  const written: Array<Record<string, unknown>> = [];
  const warned: string[] = [];
  const api = { isUp: true, takesEvents: true, generation: 1 };
  let tell: (entry: WorldEntry, before: AnyDigest | null) => void = () => {};
  const answer = () => {
    if (!api.isUp) throw new OrreryError('KUBE_UNREACHABLE', 'it is away');
    return { metadata: { name: 'bad', generation: api.generation, resourceVersion: '1' } };
  };
  const warnings = new SourceWarnings({
    kube: fakePort({
      get: async () => answer(),
      patch: async (_resource, { body }) => {
        written.push((body as { status: Record<string, unknown> }).status);
        return answer();
      },
    }),
    world: {
      entries: () => [],
      onChange: (callback) => {
        tell = callback;
      },
    },
    warn: async ({ note }) => {
      if (!api.takesEvents) throw new OrreryError('KUBE_REFUSED', 'no Events here');
      warned.push(note);
    },
    clock,
    log: silentLog,
  });
  warnings.start();
  let before: AnyDigest | null = null;
  const put = (spec: object, uid = 'uid-1') => {
    const digest = { ...base, uid, kind: 'domains', generation: api.generation, spec } as never as AnyDigest;
    tell({ ...broken, digest }, before);
    before = digest;
  };
  return { clock, api, written, warned, put };
}
const invalid = { invalid: 'spec.host: no' };

test('§9.2: another generation that is wrong in the same way is told, and so is another object of the name', async () => {
  const { clock, api, written, put } = stage();
  put(invalid);
  await clock.advance(10);
  api.generation = 2;
  put(invalid);
  await clock.advance(10);
  expect(written.map(({ observedGeneration }) => observedGeneration)).toEqual([1, 2]);
  put(invalid, 'uid-2');
  await clock.advance(10);
  expect(written).toHaveLength(3);
});

test('what could not be told while the API server was away is told when it is back, however late', async () => {
  const { clock, api, written, put } = stage();
  api.isUp = false;
  put(invalid);
  await clock.advance(3_600_000);
  api.isUp = true;
  await clock.advance(60_000);
  expect(written).toMatchObject([{ state: 'invalid' }]);
});

test('a complaint that could not be written is not written over what was mended meanwhile', async () => {
  const { clock, api, written, put } = stage();
  api.isUp = false;
  put(invalid);
  await clock.advance(1_000);
  api.isUp = true;
  api.generation = 2;
  put({ host: 'app.example.com', secretName: 'app', issuer: null });
  await clock.advance(60_000);
  expect(written).toEqual([]);
});

test('the status is written where no Events are taken', async () => {
  const { clock, api, written, put } = stage();
  api.takesEvents = false;
  put(invalid);
  await clock.advance(10);
  expect(written).toMatchObject([{ state: 'invalid' }]);
});
