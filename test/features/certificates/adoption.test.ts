/**
 * Moving in from cert-manager, on the development API with kinds shaped like cert-manager's: what is written,
 * what cannot be, and that nothing is ordered.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureDefinitions, readManifests } from '../../../packages/dev-cluster/manifests.ts';
import { customResourceDefinitions, namespaces } from '../../../packages/dev-cluster/resources.ts';
import { type KubeApi, startKubeApi } from '../../../packages/kube-api/server.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { systemRandom as random } from '../../../src/base/random.ts';
import {
  readSolver,
  solverFor,
  theirCertificates,
  theirClusterIssuers,
  theirIssuers,
} from '../../../src/features/certificates/adoption/foreign-objects.ts';
import { inspectCertificate } from '../../../src/features/certificates/effects/certificate-inspect.ts';
import { readIssuerSpec } from '../../../src/features/certificates/issuer-spec.ts';
import { domains, issuers, secrets } from '../../../src/features/certificates/resources.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';
import { orrery } from '../../cli/command.ts';
import { until } from '../../until.ts';
import { base64 } from './stage.ts';
import { makeAuthority, type TestAuthority } from './test-authority.ts';

const { signal } = new AbortController();
const crds = join(import.meta.dirname, '../../../deploy/crds');
let cwd: string;
let api: KubeApi;
let kube: KubeConnection;
let authority: TestAuthority;
let env: Record<string, string>;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'orrery-adopt-'));
  api = await startKubeApi({ serviceCidr: '127.97.0.0/16', clock, random, log: silentLog });
  writeFileSync(join(cwd, 'kubeconfig'), api.kubeconfig());
  env = { KUBECONFIG: join(cwd, 'kubeconfig') };
  kube = connectKube({ kubeconfig: join(cwd, 'kubeconfig'), clock, random });
  authority = await makeAuthority('theirs');
  await ensureDefinitions(kube, await readManifests(crds), clock, signal);
  for (const name of ['shop', 'empty']) await make(namespaces, { metadata: { name } });
});
afterAll(async () => {
  kube?.close();
  await api?.stop();
  rmSync(cwd, { recursive: true, force: true });
});

const make = (resource: KubeResource, object: KubeObject) => kube.create(resource, object, signal);

async function define({ group, plural, kind, namespaced }: KubeResource): Promise<void> {
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: anything } } };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const spec = { group, scope: namespaced ? 'Namespaced' : 'Cluster', names, versions };
  await make(customResourceDefinitions, { metadata: { name: `${plural}.${group}` }, spec });
}

const certificate = (name: string, spec: Record<string, unknown>) => {
  const issuerRef = { kind: 'ClusterIssuer', name: 'letsencrypt' };
  const full = {
    secretName: `${name}-tls`,
    issuerRef,
    privateKey: { algorithm: 'ECDSA', size: 256 },
    ...spec,
  };
  return make(theirCertificates, { metadata: { name, namespace: 'shop' }, spec: full });
};

async function secretOf(name: string, host: string, ownerUid?: string): Promise<void> {
  const { chain, key } = await authority.issue(host);
  const owner = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name, uid: ownerUid ?? '' };
  await make(secrets, {
    metadata: {
      name: `${name}-tls`,
      namespace: 'shop',
      ...(ownerUid === undefined ? {} : { ownerReferences: [owner] }),
    },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(chain), 'tls.key': base64(key) },
  });
}

const adopt = (...more: string[]) =>
  orrery(['adopt', 'certificates', '--from', 'cert-manager', '-n', 'shop', ...more], { cwd, env });

describe('a namespace', () => {
  test('of a cluster without cert-manager cannot be taken over, and that is said', async () => {
    const { code, err } = await adopt();
    expect([code, err]).toEqual([1, expect.stringContaining('cert-manager.io/v1')]);
  });

  test('passes over with its keys: the same lines with and without --dry-run, nothing written by the first', async () => {
    await Promise.all([theirCertificates, theirIssuers, theirClusterIssuers].map(define));
    await until(
      () =>
        kube.list(theirCertificates, {}, signal).then(
          () => true,
          () => false,
        ),
      { what: 'Certificates' },
    );
    await prepare();
    const dry = await adopt('--dry-run');
    expect((await kube.list(domains, {}, signal)).items).toEqual([]);
    const { code, out } = await adopt();
    expect(code).toBe(0);
    expect(dry.out).toBe(`${out}nothing was written (--dry-run)\n`);
    expect(
      out
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ).toEqual(expected);
  });

  test('has Issuers of ours that can be read, one for each way of proof', async () => {
    const { items } = await kube.list(issuers, {}, signal);
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([
      'letsencrypt',
      'letsencrypt-2',
      'shop-internal',
    ]);
    for (const { spec } of items) expect(readIssuerSpec(spec)).not.toHaveProperty('invalid');
    const byName = new Map(items.map((one) => [one.metadata.name, one.spec]));
    expect(byName.get('letsencrypt')).toMatchObject({
      acme: {
        accountSecret: { name: 'le-account', namespace: 'cert-manager' },
        challenge: { http01: { ingress: { className: 'nginx' } } },
      },
    });
    expect(byName.get('letsencrypt-2')).toMatchObject({
      domains: ['*.wild.example.com'],
      acme: {
        challenge: {
          dns01: { rfc2136: { server: 'ns1.example.com', keyName: 'k', algorithm: 'hmac-sha512' } },
        },
      },
    });
    expect(byName.get('shop-internal')).toMatchObject({
      allowedNamespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } },
      ca: { secret: { name: 'ca-pair', namespace: 'shop' } },
    });
  });

  test('has Secrets that count as ours as they stand: no order, and nothing that takes them away', async () => {
    const targets = [{ namespace: 'shop', secretName: 'app-tls' }];
    const effect = {
      type: 'certificate.inspect',
      host: 'app.example.com',
      attempt: 1,
      targets,
      at: null,
      known: [],
      owner: 'shop',
    } as const;
    const context = { key: 'k', actor: 'domain/_/app.example.com', signal, emit: () => {} } as const;
    const outcome = await inspectCertificate(kube)(effect, context);
    expect(outcome).toMatchObject({
      type: 'certificate.inspected',
      good: { notAfter: expect.any(Number) },
      missing: [],
      foreign: [],
    });
    const { metadata } = await kube.get(secrets, 'shop', 'app-tls', signal);
    expect(metadata.ownerReferences ?? []).toEqual([]);
  });

  test('taken over again changes nothing', async () => {
    const versions = async () =>
      (await kube.list(secrets, { namespace: 'shop' }, signal)).items.map(
        ({ metadata }) => metadata.resourceVersion,
      );
    const before = await versions();
    const { code, out } = await adopt();
    expect(code).toBe(0);
    expect(out).not.toMatch(/^(create|take over|extend)/m);
    expect(await versions()).toEqual(before);
  });

  test('of which more is taken over later extends the Issuer that is there', async () => {
    await certificate('late', { dnsNames: ['late.example.com'] });
    const { out } = await adopt();
    expect(out).toContain('extend    Issuer letsencrypt by late.example.com');
    const { spec } = await kube.get(issuers, undefined, 'letsencrypt', signal);
    expect(spec).toMatchObject({ domains: ['app.example.com', 'late.example.com'] });
  });

  test('without Certificates says so', async () => {
    const { code, out } = await orrery(['adopt', 'certificates', '--from', 'cert-manager', '-n', 'empty'], {
      cwd,
      env,
    });
    expect([code, out]).toEqual([0, 'there are no Certificates in namespace empty\n']);
  });
});

async function prepare(): Promise<void> {
  const acme = {
    server: 'https://acme.example.com/directory',
    email: 'ops@example.com',
    privateKeySecretRef: { name: 'le-account' },
    solvers: [
      { http01: { ingress: { ingressClassName: 'nginx' } } },
      {
        selector: { dnsZones: ['wild.example.com'] },
        dns01: {
          rfc2136: {
            ...{ nameserver: 'ns1.example.com', tsigKeyName: 'k', tsigAlgorithm: 'HMACSHA512' },
            tsigSecretSecretRef: { name: 'tsig', key: 'secret' },
          },
        },
      },
      { selector: { dnsZones: ['cloud.example.com'] }, dns01: { route53: { region: 'eu-west-1' } } },
    ],
  };
  await make(theirClusterIssuers, { metadata: { name: 'letsencrypt' }, spec: { acme } });
  await make(theirIssuers, {
    metadata: { name: 'internal', namespace: 'shop' },
    spec: { ca: { secretName: 'ca-pair' } },
  });
  await make(theirIssuers, {
    metadata: { name: 'vault', namespace: 'shop' },
    spec: { vault: { path: 'pki' } },
  });
  const app = await certificate('app', { dnsNames: ['app.example.com'] });
  await secretOf('app', 'app.example.com', app.metadata.uid);
  await certificate('wild', { dnsNames: ['*.wild.example.com'], commonName: '*.wild.example.com' });
  await secretOf('wild', '*.wild.example.com');
  await certificate('ca', {
    dnsNames: ['db.shop.local'],
    issuerRef: { name: 'internal' },
    privateKey: undefined,
    renewBefore: '24h',
  });
  await certificate('both', { dnsNames: ['a.example.com', 'b.example.com'] });
  await certificate('cloud', { dnsNames: ['x.cloud.example.com'] });
  await certificate('vaulted', { dnsNames: ['v.example.com'], issuerRef: { name: 'vault' } });
  await certificate('lost', { dnsNames: ['l.example.com'], issuerRef: { name: 'nowhere' } });
}

const expected = [
  'create    Issuer letsencrypt (from ClusterIssuer letsencrypt) for app.example.com',
  'create    Issuer shop-internal (from Issuer shop/internal) for db.shop.local',
  'create    Issuer letsencrypt-2 (from ClusterIssuer letsencrypt) for *.wild.example.com',
  'take over Secret shop/app-tls for app.example.com, with its certificate; nothing is ordered',
  'create    Domain shop/app: app.example.com by Issuer letsencrypt',
  'note      Secret shop/ca-tls does not exist: a certificate is ordered',
  'create    Domain shop/ca: db.shop.local by Issuer shop-internal',
  'note      Certificate shop/ca: the next renewal creates an ECDSA P-256 key instead of RSA',
  'note      Certificate shop/ca: its renewBefore is left out: renewal is at two thirds of the lifetime, or when the authority suggests it',
  'take over Secret shop/wild-tls for *.wild.example.com, with its certificate; nothing is ordered',
  'create    Domain shop/wild: *.wild.example.com by Issuer letsencrypt-2',
  'skipped   Certificate shop/both: it is for 2 hosts (a.example.com, b.example.com): a Domain has one; make one for each',
  'skipped   Certificate shop/cloud: the solver of ClusterIssuer letsencrypt: there is no route53 here: use RFC 2136 or a webhook',
  'skipped   Certificate shop/lost: there is no Issuer nowhere',
  'skipped   Certificate shop/vaulted: Issuer shop/vault is vault: only acme and ca can be taken over',
  'then      delete these, or cert-manager goes on renewing the same Secrets: kubectl delete certificates.cert-manager.io -n shop app ca wild',
];

describe('solvers', () => {
  const refusal = (solver: object) => readSolver(solver, 'ns').refusal;

  test('that cannot be expressed say why', () => {
    expect(refusal({ dns01: { rfc2136: { nameserver: 'n', tsigKeyName: 'k' } } })).toContain(
      'HMACMD5 is too weak',
    );
    expect(refusal({ selector: { matchLabels: { a: 'b' } }, http01: { ingress: {} } })).toContain('by label');
    expect(refusal({ http01: { gatewayHTTPRoute: {} } })).toContain('parentRefs');
    expect(refusal({})).toContain('neither');
  });

  test('are chosen as cert-manager does: a name, then the longest zone, then the one for everybody', () => {
    const solver = (selector: object, className: string) =>
      readSolver({ selector, http01: { ingress: { class: className } } }, 'ns');
    const solvers = [
      solver({}, 'all'),
      solver({ dnsZones: ['example.com'] }, 'zone'),
      solver({ dnsZones: ['b.example.com'] }, 'longer'),
      solver({ dnsNames: ['a.b.example.com'] }, 'name'),
    ];
    const chosen = (host: string) => JSON.stringify(solverFor(solvers, host)?.challenge);
    expect(chosen('a.b.example.com')).toContain('name');
    expect(chosen('c.b.example.com')).toContain('longer');
    expect(chosen('c.example.com')).toContain('zone');
    expect(chosen('c.example.org')).toContain('all');
  });

  test('over HTTP are passed over for a wildcard, as cert-manager does', () => {
    const http = readSolver({ selector: { dnsNames: ['*.example.com'] }, http01: { ingress: {} } }, 'ns');
    const webhook = { groupName: 'acme.example.com', solverName: 'dns' };
    const dns = readSolver({ dns01: { webhook } }, 'ns');
    expect(solverFor([http, dns], '*.example.com')).toBe(dns);
    expect(solverFor([http], '*.example.com')).toBeNull();
    expect(solverFor([http, dns], 'example.com')).toBe(dns);
  });

  test('that follow CNAMEs, and solvers of others, are taken as they are', () => {
    const webhook = { groupName: 'acme.example.com', solverName: 'dns', config: { a: 1 } };
    expect(readSolver({ dns01: { webhook, cnameStrategy: 'Follow' } }, 'ns').challenge).toEqual({
      dns01: { webhook, cnameStrategy: 'Follow' },
    });
  });
});
