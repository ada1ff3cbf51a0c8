/** What asks for certificates, and what stands in their Secrets, as digests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { limits } from '../../../src/base/limits.ts';
import { carriedOver, ingressPart, servicePart } from '../../../src/features/certificates/digest.ts';
import { readDuration, readIssuerSpec } from '../../../src/features/certificates/issuer-spec.ts';
import { secrets } from '../../../src/features/certificates/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import { interestIn } from '../../kube/mirror/declared.ts';
import { makeAuthority, type TestAuthority } from './test-authority.ts';

let authority: TestAuthority;
beforeAll(async () => {
  authority = await makeAuthority('test');
});
afterAll(() => {});

const object = (
  fields: Record<string, unknown>,
  annotations: Record<string, string> = {},
  labels: Record<string, string> = {},
): KubeObject => ({
  metadata: {
    name: 'a',
    namespace: 'shop',
    uid: 'uid',
    resourceVersion: '7',
    generation: 3,
    annotations,
    labels,
  },
  ...fields,
});
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('Secret', () => {
  const secret = (chain: string, key: string, host = 'app.example.com', label = host) =>
    interestIn(secrets).digestOf(
      object(
        { data: { 'tls.crt': base64(chain), 'tls.key': base64(key) } },
        { 'orrery.dev/host': host },
        { 'orrery.dev/domain': label },
      ),
    );

  test('tells fingerprint, hosts and times of a whole certificate, and nothing of its key', async () => {
    const { chain, key } = await authority.issue('app.example.com');
    const digest = secret(chain, key);
    expect(digest).toMatchObject({ kind: 'secrets', host: 'app.example.com', hosts: ['app.example.com'] });
    expect(digest).toHaveProperty('fingerprint', expect.stringMatching(/^[0-9a-f]{64}$/));
    expect(JSON.stringify(digest)).not.toContain('PRIVATE');
    for (const line of key.split('\n').slice(1, 3)) expect(JSON.stringify(digest)).not.toContain(line);
  });

  test.each(['no certificate', 'another key', 'another host', 'another label', 'nothing'])(
    'that is broken has no fingerprint: %s',
    async (how) => {
      const { chain, key } = await authority.issue('app.example.com');
      const other = await authority.issue('other.example.com');
      const digest =
        how === 'no certificate'
          ? secret('nonsense', key)
          : how === 'another key'
            ? secret(chain, other.key)
            : how === 'another host'
              ? secret(chain, key, 'other.example.com')
              : how === 'another label'
                ? secret(chain, key, 'app.example.com', 'other.example.com')
                : interestIn(secrets).digestOf(object({}));
      expect(digest).toMatchObject({ fingerprint: null });
    },
  );
});

describe('Service', () => {
  const serve = (text: string) => servicePart(object({}, { 'orrery.dev/serve': text })).serve;

  test('distinct hosts with port 443', () => {
    expect(serve('App.example.com:443, app.example.com.:443,app.example.com:80,b.example.com:8443')).toEqual({
      hosts: ['app.example.com'],
      invalid: null,
    });
    expect(serve('')).toEqual({ hosts: [], invalid: null });
    expect(servicePart(object({}))).toEqual({});
  });

  test.each(['app.example.com', 'app.example.com:0', 'app.example.com:70000', 'a b:443', ',', 'x_y:443'])(
    '%j cannot be read',
    (text) => expect(serve(text)?.invalid).not.toBeNull(),
  );

  test('one that cannot be read keeps the hosts of the one before', () => {
    const digest = (text: string, uid = 'uid') =>
      interestIn(services).digestOf({
        metadata: { ...object({}, { 'orrery.dev/serve': text }).metadata, uid },
        spec: {},
      });
    const before = digest('app.example.com:443');
    const broken = carriedOver(before, digest('what is this'));
    expect(broken).toMatchObject({ serve: { hosts: ['app.example.com'], invalid: expect.any(String) } });
    expect(carriedOver(broken, digest('still wrong'))).toMatchObject({
      serve: { hosts: ['app.example.com'] },
    });
    expect(carriedOver(before, digest('of another Service', 'uid-2'))).toMatchObject({
      serve: { hosts: [] },
    });
    expect(carriedOver(before, digest(''))).toMatchObject({ serve: { hosts: [], invalid: null } });
  });
});

describe('Ingress', () => {
  const ingress = (tls: unknown, issuer?: string) =>
    ingressPart(object({ spec: { tls } }, issuer === undefined ? {} : { 'orrery.dev/issuer': issuer }));

  test('without the annotation asks for nothing', () => {
    expect(ingress([{ hosts: ['a.example.com'], secretName: 'a' }])).toMatchObject({
      issuer: null,
      hosts: [],
    });
  });

  test('an entry with one host names the Secret; the hosts of one with several have their own', () => {
    const tls = [
      { hosts: ['A.example.com'], secretName: 'a' },
      { hosts: ['b.example.com', 'c.example.com'], secretName: 'bc' },
    ];
    expect(ingress(tls, 'acme')).toMatchObject({
      issuer: 'acme',
      hosts: [
        { host: 'a.example.com', secretName: 'a' },
        { host: 'b.example.com', secretName: 'b.example.com' },
        { host: 'c.example.com', secretName: 'c.example.com' },
      ],
      invalid: null,
      unwritten: ['bc'],
    });
    expect(ingress(tls.slice(0, 1), 'acme')).not.toHaveProperty('unwritten');
    // One of its hosts, or another entry, has its certificate there all the same.
    for (const secretName of ['c.example.com', 'a'])
      expect(ingress([tls[0], { ...tls[1], secretName }], 'acme')).not.toHaveProperty('unwritten');
  });

  test('a host that is none is told, the others stand', () => {
    expect(ingress([{ hosts: ['a.example.com', 'n o'] }], 'acme')).toMatchObject({
      hosts: [{ host: 'a.example.com' }],
      invalid: expect.stringContaining('n o'),
    });
  });
});

describe('Issuer', () => {
  const acme = { server: 'https://ca/dir', accountSecret: { name: 'a', namespace: 'b' } };

  test('ACME has the limits of Let’s Encrypt unless it names others; a CA has none', () => {
    const limits = { ordersPer3h: 300, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 };
    expect(readIssuerSpec({ domains: ['*.a.com'], acme })).toMatchObject({
      budget: limits,
      acme: { challenge: 'http01' },
    });
    expect(readIssuerSpec({ domains: ['*.a.com'], acme, budget: { ordersPer3h: 7 } })).toMatchObject({
      budget: { ...limits, ordersPer3h: 7 },
    });
    const ca = { secret: { name: 'a', namespace: 'b' } };
    expect(readIssuerSpec({ domains: ['a.com'], ca })).toMatchObject({
      budget: null,
      ca: { lifetimeMs: 86_400_000 },
    });
  });

  test('DNS-01 by a webhook', () => {
    const challenge = { dns01: { webhook: 'http://hook/dns' } };
    expect(readIssuerSpec({ domains: ['a.com'], acme: { ...acme, challenge } })).toMatchObject({
      acme: { challenge },
    });
  });

  test.each([
    ['neither', { domains: ['a.com'] }, 'exactly one'],
    ['both', { domains: ['a.com'], acme, ca: { secret: { name: 'a', namespace: 'b' } } }, 'exactly one'],
    ['no domains', { domains: [], acme }, 'spec.domains'],
    ['a pattern that is none', { domains: ['a b'], acme }, 'spec.domains.0'],
    ['no URL', { domains: ['a.com'], acme: { ...acme, server: 'ca' } }, 'spec.acme.server'],
    [
      'an unknown challenge',
      { domains: ['a.com'], acme: { ...acme, challenge: 'tls' } },
      'spec.acme.challenge',
    ],
    ['no PEM', { domains: ['a.com'], acme: { ...acme, caBundle: 'x' } }, 'spec.acme.caBundle'],
    [
      'a life that is none',
      { domains: ['a.com'], ca: { secret: { name: 'a', namespace: 'b' }, lifetime: 'soon' } },
      'spec.ca.lifetime',
    ],
    ['nothing', undefined, 'spec'],
  ])('%s cannot be used, and says where', (_, spec, where) => {
    expect(readIssuerSpec(spec)).toEqual({ invalid: expect.stringContaining(where) });
  });

  test.each([
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['90s', 90_000],
    ['0h', null],
    ['day', null],
    ['', null],
  ])('%s is %s ms', (text, ms) => {
    expect(readDuration(text)).toBe(ms);
  });
});

describe('more hosts than one object may ask for', () => {
  const hosts = Array.from({ length: limits.hostsPerObject + 1 }, (_, n) => `h${n}.example.com`);

  test('of a Service change nothing, and say so', () => {
    const text = hosts.map((host) => `${host}:443`).join(',');
    const { serve } = servicePart(object({}, { 'orrery.dev/serve': text }));
    expect(serve).toEqual({ hosts: [], invalid: expect.stringContaining(`${limits.hostsPerObject}`) });
  });

  test('of an Ingress: the first are served, and it says so', () => {
    const part = ingressPart(object({ spec: { tls: [{ hosts }] } }, { 'orrery.dev/issuer': 'ours' }));
    expect(part.hosts).toHaveLength(limits.hostsPerObject);
    expect(part.invalid).toContain(`${limits.hostsPerObject}`);
  });
});
