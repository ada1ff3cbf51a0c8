/**
 * Whose a Secret is, by its label: one that somebody changed, and one of another host
 * (docs/features/certificates.md §3.6, §3.7).
 */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { inspectCertificate } from '../../../src/features/certificates/effects/certificate-inspect.ts';
import { encoded } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { storeCertificate } from '../../../src/features/certificates/effects/certificate-store.ts';
import { discardPending } from '../../../src/features/certificates/effects/pending-discard.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { effectRun as run } from './certificate-samples.ts';
import { makeAuthority } from './test-authority.ts';

const host = 'app.example.com';
const target = { namespace: 'shop', secretName: 'app' };

test('gets it back, with the certificate that it holds: nothing is ordered', async () => {
  const { chain, key } = await (await makeAuthority('label')).issue(host);
  let secret: KubeObject = {
    metadata: {
      ...{ name: 'app', namespace: 'shop', uid: 'u', resourceVersion: '7' },
      labels: { 'orrery.dev/domain': 'other.example.com' },
      annotations: { 'orrery.dev/host': host },
    },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': encoded(chain), 'tls.key': encoded(key) },
  };
  const kube = fakePort({
    get: async () => secret,
    patch: async (_, { body }) => {
      secret = body as KubeObject;
      return secret;
    },
  });
  const look = () =>
    inspectCertificate(kube)(
      { type: 'certificate.inspect', host, attempt: 1, targets: [target], at: null, owner: 'shop' },
      run,
    );
  const seen = await look();
  expect(seen).toMatchObject({ good: { fingerprint: expect.any(String) }, missing: [target], foreign: [] });
  const { fingerprint } = (seen as unknown as { good: { fingerprint: string } }).good;
  const wish = {
    type: 'certificate.store',
    host,
    issuer: 'ca',
    attempt: 2,
    targets: [target],
    at: target,
  } as const;
  const authorities = {
    of: async () => {
      throw new OrreryError('CERTIFICATE_UNUSABLE', 'an ACME Issuer has no CA');
    },
  };
  const store = storeCertificate({ kube, clock: { now: () => 0 } as never, authorities } as never);
  await expect(store({ ...wish, from: 'stored', fingerprint }, run)).resolves.toMatchObject({
    type: 'certificate.stored',
    certificate: { fingerprint },
  });
  expect(secret.metadata.labels).toEqual({ 'orrery.dev/domain': host });
  await expect(look()).resolves.toMatchObject({ good: { fingerprint }, missing: [] });
});

test('§3.7: a pending key is removed by the host that it is for, and not by the one that was there before', async () => {
  const removed: string[] = [];
  const labels = { 'orrery.dev/pending-domain': host };
  const kube = fakePort({
    get: async (_, namespace, name) => ({ metadata: { namespace, name, uid: 'u', labels } }) as KubeObject,
    delete: async (_, namespace, name) => void removed.push(`${namespace}/${name}`),
  });
  const discard = (of: string) =>
    discardPending(kube)({ type: 'pending.discard', host: of, at: target }, run);
  await discard('former.example.com');
  expect(removed).toEqual([]);
  await discard(host);
  expect(removed).toEqual(['shop/app-next']);
});
