/** What clients of a private CA trust, `ca.crt`, on an API server: docs/features/certificates.md §8.6. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { namespaces } from '../../../packages/dev-cluster/resources.ts';
import { type KubeApi, startKubeApi } from '../../../packages/kube-api/server.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { systemRandom as random } from '../../../src/base/random.ts';
import { trustedOf, verifies } from '../../../src/features/certificates/acme/trust.ts';
import { createAuthorities } from '../../../src/features/certificates/effects/certificate-authorities.ts';
import {
  inspectCertificate,
  shortFingerprint,
} from '../../../src/features/certificates/effects/certificate-inspect.ts';
import { writePending } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { storeCertificate } from '../../../src/features/certificates/effects/certificate-store.ts';
import { secrets } from '../../../src/features/certificates/resources.ts';
import { readPublicPart } from '../../../src/features/certificates/stored-certificate.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';
import type { CertificateStore } from '../../../src/machines/domain/domain-effects.ts';
import { effectRun } from './certificate-samples.ts';
import { Openssl } from './openssl-authority.ts';
import { makeAuthority, type TestAuthority } from './test-authority.ts';

const { signal } = new AbortController();
const host = 'app.example.com';
const target = { namespace: 'shop', secretName: 'app' };
const base64 = (text: string) => Buffer.from(text).toString('base64');
const dir = mkdtempSync(join(tmpdir(), 'orrery-trust-'));
let api: KubeApi;
let kube: KubeConnection;
let [one, two]: readonly [TestAuthority, TestAuthority] = [] as never;

beforeAll(async () => {
  api = await startKubeApi({ serviceCidr: '127.98.0.0/16', clock, random, log: silentLog });
  writeFileSync(join(dir, 'kubeconfig'), api.kubeconfig());
  kube = connectKube({ kubeconfig: join(dir, 'kubeconfig'), clock, random });
  for (const name of ['shop', 'branch', 'ca']) await kube.create(namespaces, { metadata: { name } }, signal);
  [one, two] = [await makeAuthority('one'), await makeAuthority('two')];
});
afterAll(async () => {
  kube?.close();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  for (const namespace of ['shop', 'branch', 'ca'])
    for (const { metadata } of (await kube.list(secrets, { namespace }, signal)).items)
      await kube.delete(secrets, namespace, metadata.name, {}, signal);
});

/** The Issuer's own Secret. */
async function useAuthority({ pem, keyPem }: TestAuthority, roots?: string): Promise<void> {
  await kube.delete(secrets, 'ca', 'ca', {}, signal).catch(() => {});
  const data = {
    'tls.crt': base64(pem),
    'tls.key': base64(keyPem),
    ...(roots === undefined ? {} : { 'ca.crt': base64(roots) }),
  };
  await kube.create(secrets, { metadata: { name: 'ca', namespace: 'ca' }, type: 'Opaque', data }, signal);
}

let runs = 0;
function store(change: Partial<CertificateStore> = {}, kind: 'ca' | 'acme' = 'ca') {
  const ca = { secret: { namespace: 'ca', name: 'ca' }, lifetimeMs: 86_400_000 };
  const spec = { domains: ['**'], acme: null, budget: null, ca: kind === 'ca' ? ca : null };
  const issuerOf = () => ({ uid: 'u', version: 'v', spec });
  const authorities = createAuthorities({ kube, clock, issuerOf });
  const effect = {
    type: 'certificate.store',
    host,
    issuer: 'acme',
    attempt: 1,
    from: 'ca',
    targets: [target],
    at: target,
    owner: 'shop',
    ...change,
  } as const;
  const run = { ...effectRun, signal, key: `run/${++runs}` };
  return storeCertificate({ kube, clock, authorities })(effect, run);
}

/** A certificate of a public authority that waits to be stored. */
async function issued(authority: TestAuthority): Promise<Partial<CertificateStore>> {
  const { chain, key } = await authority.issue(host);
  await writePending(kube, { host, at: target, source: null }, { order: 'o', key, chain }, signal);
  return { from: 'pending', fingerprint: shortFingerprint(readPublicPart(chain)) };
}

async function dataOf(namespace = 'shop'): Promise<Readonly<Record<string, string>>> {
  const { data } = await kube.get(secrets, namespace, 'app', signal);
  const texts = Object.entries((data ?? {}) as Record<string, string>);
  return Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
}

const squeezed = (pem: string | undefined) => pem?.replaceAll(/\s/g, '');

async function setCa(text: string, namespace = 'shop'): Promise<void> {
  const body = { data: { 'ca.crt': base64(text) } };
  await kube.patch(secrets, { namespace, name: 'app', type: 'merge', body }, signal);
}

const certificateOf = (data: Readonly<Record<string, string>>) =>
  shortFingerprint(readPublicPart(data['tls.crt'] ?? ''));

describe('of a private CA', () => {
  test('is in the Secret, from the CA’s own, whatever a tenant has written there', async () => {
    await useAuthority(one);
    await store();
    expect(squeezed((await dataOf())['ca.crt'])).toBe(squeezed(one.pem));
    await setCa(two.pem);
    await store();
    expect(squeezed((await dataOf())['ca.crt'])).toBe(squeezed(one.pem));
  });

  test('is that of the new CA once a new CA signed the certificate', async () => {
    await useAuthority(one);
    await store();
    await useAuthority(two);
    await store();
    const data = await dataOf();
    expect(squeezed(data['ca.crt'])).toBe(squeezed(two.pem));
    expect(verifies(data['ca.crt'] ?? '', data['tls.crt'] ?? '')).toBe(true);
  });

  test('is both of two roots while the CA’s Secret names both', async () => {
    await useAuthority(two, `${one.pem}\n${two.pem}`);
    await store();
    expect(squeezed((await dataOf())['ca.crt'])).toBe(squeezed(one.pem + two.pem));
  });

  test('is in a copy, too, and there not from the Secret that is copied', async () => {
    await useAuthority(one);
    await store();
    await setCa(two.pem);
    const targets = [target, { namespace: 'branch', secretName: 'app' }];
    await store({ from: 'stored', targets, fingerprint: certificateOf(await dataOf()) });
    expect(squeezed((await dataOf('branch'))['ca.crt'])).toBe(squeezed(one.pem));
  });

  test('is not in a copy of what a former CA signed, or whose CA is gone', async () => {
    await useAuthority(one);
    await store();
    await useAuthority(two);
    const fingerprint = certificateOf(await dataOf());
    const targets = [target, { namespace: 'branch', secretName: 'app' }];
    await store({ from: 'stored', targets, fingerprint });
    expect((await dataOf('branch'))['ca.crt']).toBeUndefined();
    await kube.delete(secrets, 'ca', 'ca', {}, signal);
    await kube.delete(secrets, 'branch', 'app', {}, signal);
    await store({ from: 'stored', targets, fingerprint });
    expect(certificateOf(await dataOf('branch'))).toBe(fingerprint);
  });

  test('need not be in a Secret that an earlier release wrote: that is good, and gets it with the next', async () => {
    await useAuthority(one);
    await store();
    const body = { data: { 'ca.crt': null } };
    await kube.patch(secrets, { namespace: 'shop', name: 'app', type: 'merge', body }, signal);
    const look = { type: 'certificate.inspect', host, attempt: 2, targets: [target], at: null } as const;
    const run = { ...effectRun, signal };
    expect(await inspectCertificate(kube)({ ...look, owner: 'shop' }, run)).toMatchObject({ missing: [] });
    await store();
    expect(squeezed((await dataOf())['ca.crt'])).toBe(squeezed(one.pem));
  });
});

describe('of a public authority', () => {
  test('there is none', async () => {
    await store(await issued(one), 'acme');
    expect(Object.keys(await dataOf()).sort()).toEqual(['tls.crt', 'tls.key']);
  });

  test('a former CA’s is removed with its certificate', async () => {
    await useAuthority(one);
    await store();
    await store(await issued(two), 'acme');
    expect((await dataOf())['ca.crt']).toBeUndefined();
  });

  test('what somebody else keeps there stays', async () => {
    await store(await issued(one), 'acme');
    const { pem } = await makeAuthority('clients');
    await setCa(pem);
    await store(await issued(two), 'acme');
    expect((await dataOf())['ca.crt']).toBe(pem);
  });
});

describe('what is trusted', () => {
  const openssl = new Openssl();
  afterAll(() => openssl.stop());

  test('is the root given beside an intermediate, or without it the intermediate', () => {
    const { chain, root } = openssl.intermediate('p256', 'sha1');
    expect(squeezed(trustedOf(chain, root))).toBe(squeezed(root));
    expect(squeezed(trustedOf(chain, ''))).toBe(squeezed(chain));
    expect(squeezed(trustedOf(`${chain}\n${root}`, ''))).toBe(squeezed(root));
  });

  test('is never a root of something else, a key, or a whole store of roots', () => {
    const { chain, key, root } = openssl.root('p256', 'sha1');
    expect(squeezed(trustedOf(chain, one.pem))).toBe(squeezed(root));
    expect(squeezed(trustedOf(chain, `${root}\n${key}`))).toBe(squeezed(root));
    expect(squeezed(trustedOf(chain, `${root}\n`.repeat(40)))).toBe(squeezed(root));
    expect(trustedOf('no certificate', 'nothing')).toBe('');
  });

  test('verifies what it signed and nothing else', async () => {
    const { chain } = await one.issue(host);
    expect(verifies(one.pem, chain)).toBe(true);
    expect(verifies(two.pem, chain)).toBe(false);
    // Certificates that stand beside the chain prove nothing.
    expect(verifies(two.pem, `${chain}\n${two.pem}`)).toBe(false);
    expect(verifies('', chain)).toBe(false);
    expect(verifies(one.pem, 'no certificate')).toBe(false);
  });
});
