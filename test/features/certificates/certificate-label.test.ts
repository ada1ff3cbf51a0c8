/** A Secret of ours whose label somebody changed (docs/features/certificates.md §3.6). */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { inspectCertificate } from '../../../src/features/certificates/effects/certificate-inspect.ts';
import { encoded } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { storeCertificate } from '../../../src/features/certificates/effects/certificate-store.ts';
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
