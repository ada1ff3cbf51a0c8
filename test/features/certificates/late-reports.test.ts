/** A status that is written late: docs/features/certificates.md §9.6. */
import { expect, test } from 'vitest';
import { jsonPatch } from '../../../packages/kube-api/patching/json-patch.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { reportDomain } from '../../../src/features/certificates/effects/certificate-reports.ts';
import type { DomainReport } from '../../../src/machines/domain/domain-effects.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';

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
        throw new OrreryError('KUBE_REFUSED', 'the test failed', { facts: { status: 422 } });
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
  const write = reportDomain({ kube: api.kube, replica: 'a' });
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
  await reportDomain({ kube: api.kube, replica: 'a' })(report(3), context);
  expect(api.now().status).toEqual(status);
});
