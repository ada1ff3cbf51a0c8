/** A status that is written late: docs/features/certificates.md §9.6. */
import { expect, test } from 'vitest';
import { jsonPatch } from '../../../packages/kube-api/patching/json-patch.ts';
import { patchRejected } from '../../../packages/kube-api/status.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log-port.ts';
import { reportDomain } from '../../../src/features/certificates/effects/certificate-reports.ts';
import { unlessAnother } from '../../../src/kube/api/absent.ts';
import { refusalError } from '../../../src/kube/api/refusals.ts';
import type { DomainReport } from '../../../src/machines/domain/domain-effects.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';
import { until } from '../../until.ts';

let now = 0;
const clock = { monotonic: () => now };

const report = (generation: number): DomainReport => ({
  type: 'domain.report',
  host: 'app.example.com',
  sources: [{ kind: 'Domain', namespace: 'shop', name: 'app', uid: 'uid-1', generation }],
  refused: [],
  status: {
    ...{ state: 'authorizing', failures: 0, lastError: null, nextAttempt: null },
    ...{ notBefore: null, notAfter: null, renewAt: null, conditions: [] },
  },
  notice: null,
  at: 0,
});

/** The API server holds one Domain. */
function serving(object: KubeObject): { readonly kube: KubePort; now(): KubeObject } {
  let held = object;
  const kube = fakePort({
    patch: async (_resource, { type, body }) => {
      expect(type).toBe('json');
      try {
        held = jsonPatch(held as never, body as never) as unknown as KubeObject;
      } catch {
        throw refusalError({ request: 'PATCH', status: 422, body: patchRejected().status() }, 0);
      }
      return held;
    },
  });
  return { kube, now: () => held };
}

const metadata = { name: 'app', namespace: 'shop', uid: 'uid-1', generation: 3 };
const status = { state: 'valid', observedGeneration: 3 };

test('a report of an earlier specification, run again by the next owner of that host, replaces nothing', async () => {
  const api = serving({ metadata, status });
  const write = reportDomain({ kube: api.kube, clock, replica: 'a' });
  const settled = { type: 'effect.settled', effect: 'domain.report', error: null };
  expect(await write(report(2), context)).toEqual(settled);
  expect(api.now().status).toEqual(status);
  expect(await write(report(3), context)).toEqual(settled);
  expect(api.now().status).toEqual({
    ...{ state: 'authorizing', failures: 0, conditions: [], observedGeneration: 3 },
  });
});

test('nor does a report on another object of its name', async () => {
  const api = serving({ metadata: { ...metadata, uid: 'uid-2' }, status });
  await reportDomain({ kube: api.kube, clock, replica: 'a' })(report(3), context);
  expect(api.now().status).toEqual(status);
});

/** As a ValidatingAdmissionPolicy that names no reason refuses: with 422, like a patch that does not fit. */
const denied = refusalError(
  {
    request: 'PATCH',
    status: 422,
    body: {
      reason: 'Invalid',
      message:
        "domains.orrery.dev \"app\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: frozen",
      details: { causes: [{ message: "ValidatingAdmissionPolicy 'freeze' denied request: frozen" }] },
    },
  },
  0,
);

test('a status that an admission policy refuses is not taken for written: it is told, and follows', async () => {
  const kube = fakePort({ patch: () => Promise.reject(denied) });
  const said: unknown[] = [];
  const log = { ...silentLog, warn: (facts: object) => void said.push(facts) };
  const write = reportDomain({ kube, clock, replica: 'a', log });
  expect(await write(report(3), context)).toMatchObject({
    error: expect.stringContaining('denied request: frozen'),
  });
  expect(said).toEqual([{ actor: context.actor, error: denied.message }]);
  // However many Domains it is refused for, and however often.
  for (let n = 0; n < 100; n++) await write(report(3), { ...context, actor: `domain/_/${n}.example.com` });
  expect(said).toHaveLength(1);
  now += 10_000;
  for (let n = 0; n < 100; n++) await write(report(3), context);
  expect(said).toHaveLength(2);
});

test('nor is what it refuses taken for another object', async () => {
  await expect(unlessAnother(Promise.reject(denied))).rejects.toBe(denied);
  const message = 'Domain.orrery.dev "app" is invalid: metadata.uid: Invalid value: "a": field is immutable';
  const body = { reason: 'Invalid', message };
  await unlessAnother(Promise.reject(refusalError({ request: 'PATCH', status: 422, body }, 0)));
});

test('a report that a later one overtakes says so: nothing was written, and nothing refused', async () => {
  const asked: (() => void)[] = [];
  const patch = () => new Promise<KubeObject>((resolve) => asked.push(() => resolve({ metadata })));
  const write = reportDomain({ kube: fakePort({ patch }), clock, replica: 'a' });
  const first = write(report(1), context);
  await until(() => asked.length > 0, { what: 'the first request' });
  const later = [write(report(2), context), write(report(3), context)];
  asked.shift()?.();
  await until(() => asked.length > 0, { what: 'the last request' });
  asked.shift()?.();
  const settled = { type: 'effect.settled', effect: 'domain.report', error: null };
  const ends = await Promise.all([first, ...later]);
  expect(ends).toEqual([settled, { ...settled, overtaken: true }, settled]);
});
