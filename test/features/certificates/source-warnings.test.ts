/** What asks for certificates in a way that cannot be understood is told so. */
import { describe, expect, test } from 'vitest';
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
  const held = { metadata: { name: 'bad', uid: 'uid-1', generation: 2 }, status: { conditions } };
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

test('an Ingress hears that the Secret of an entry with several hosts is not written', async () => {
  const warned: SourceWarning[] = [];
  const clock = new VirtualClock();
  const facts = { issuer: 'acme', generation: 1, hosts: [], invalid: null, unwritten: ['web-tls'] };
  const web: WorldEntry = {
    resource: 'ingresses.networking.k8s.io',
    namespace: 'shop',
    name: 'web',
    digest: { ...base, kind: 'ingresses', ...facts } as never,
  };
  const warnings = new SourceWarnings({
    kube: fakePort({}),
    world: { entries: (resource) => (resource === web.resource ? [web] : []), onChange: () => {} },
    warn: async (warning) => void warned.push(warning),
    clock,
    log: silentLog,
  });
  warnings.start();
  await clock.advance(10);
  warnings.stop();
  expect(warned).toMatchObject([{ reason: 'SecretNotWritten', regarding: { kind: 'Ingress', name: 'web' } }]);
  expect(warned[0]?.note).toMatch('spec.tls: not written: web-tls. A Secret has the certificate of one host');
});

/** A world whose Domain changes, and an API server that shows it and can be away. */
function stage() {
  const clock = new VirtualClock();
  const written: Array<Record<string, unknown>> = [];
  const warned: string[] = [];
  const api = { isUp: true, takesEvents: true, generation: 1, uid: 'uid-1', status: {} };
  let tell: (entry: WorldEntry, before: AnyDigest | null) => void = () => {};
  const answer = () => {
    if (!api.isUp) throw new OrreryError('KUBE_UNREACHABLE', 'it is away');
    const { generation, uid, status } = api;
    return { metadata: { name: 'bad', uid, generation, resourceVersion: '1' }, status };
  };
  const warnings = new SourceWarnings({
    kube: fakePort({
      get: async () => answer(),
      patch: async (_resource, { body }) => {
        const { status } = body as { status: Record<string, unknown> };
        written.push(status);
        api.status = { ...api.status, ...status };
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
  /** The world shows the Domain with this specification, and its status as it is. */
  const put = (spec: object, uid = 'uid-1') => {
    if (api.uid !== uid) Object.assign(api, { uid, status: {} });
    const said = JSON.stringify(api.status);
    const shown = { kind: 'domains', generation: api.generation, spec, said };
    const digest = { ...base, uid, ...shown } as never as AnyDigest;
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

describe('§9.5: a status that somebody wrote over', () => {
  /** A Domain that was told that it is invalid, and somebody who then writes into its status. */
  async function told() {
    const at = stage();
    at.put(invalid);
    await at.clock.advance(10);
    at.put(invalid);
    const overwrite = (state: string) => {
      at.api.status = { ...at.api.status, state };
      at.put(invalid);
    };
    return { ...at, overwrite };
  }

  test('is written again, and the Event is not', async () => {
    const { clock, written, warned, overwrite } = await told();
    overwrite('valid');
    await clock.advance(31_000);
    expect(written.map(({ state }) => state)).toEqual(['invalid', 'invalid']);
    expect(warned).toHaveLength(1);
  });

  test('amid the look at what was written before is looked at again', async () => {
    const { clock, api, written, overwrite } = await told();
    overwrite('valid');
    api.isUp = false;
    await clock.advance(31_000);
    overwrite('pending');
    api.isUp = true;
    await clock.advance(6_000);
    overwrite('valid');
    await clock.advance(31_000);
    expect(written).toHaveLength(3);
    expect(api.status).toMatchObject({ state: 'invalid' });
  });

  test('is fought over once in half a minute', async () => {
    const { clock, written, put, overwrite } = await told();
    for (let n = 0; n < 60; n++) {
      overwrite('valid');
      await clock.advance(5_000);
      put(invalid);
    }
    expect(written.length).toBeLessThanOrEqual(11);
  });

  test('is left alone as long as it is as it should be, and of an object that is not the one that was told', async () => {
    const { clock, api, written, put } = await told();
    await clock.advance(60_000);
    expect(written).toHaveLength(1);
    api.status = { state: 'valid' };
    put(invalid);
    api.uid = 'uid-2';
    await clock.advance(60_000);
    expect(written).toHaveLength(1);
  });
});
