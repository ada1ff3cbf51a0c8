/** What a CA of one's own signs is judged by openssl and by Node: docs/features/certificates.md §8. */
import { X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { openAuthority } from '../../../src/features/certificates/acme/authority.ts';
import { readPublicPart } from '../../../src/features/certificates/stored-certificate.ts';
import { dueByAge } from '../../../src/machines/domain/domain-schedule.ts';
import {
  type Identifier,
  isSignedUpTo,
  type KeySort,
  Openssl,
  type OpensslAuthority,
} from './openssl-authority.ts';

const host = 'app.example.com';
const openssl = new Openssl();
afterAll(() => openssl.stop());

async function issued({ chain, key }: OpensslAuthority) {
  const now = systemClock.now();
  return openAuthority(chain, key, now).issue(host, 3_600_000, now);
}

/** A TLS handshake of Node with Node. */
function handshake({ chain, key }: { chain: string; key: string }, root: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer({ cert: chain, key }, (socket) => socket.end());
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const client = connect({ host: '127.0.0.1', port, ca: root, servername: host }, () => {
        resolve(client.authorized);
        client.destroy();
        server.close();
      });
      client.on('error', (error) => {
        server.close();
        reject(error);
      });
    });
  });
}

const sorts: readonly KeySort[] = ['rsa', 'p256', 'p384', 'ed25519'];
const cases = sorts.flatMap((sort) =>
  (['sha1', 'sha256'] as const).flatMap((identifier) =>
    (['root', 'intermediate'] as const).map((place) => [place, sort, identifier] as const),
  ),
);

test.each(cases)(
  '§8.2: what a CA signs verifies strictly: %s, %s, identifier %s',
  async (place: 'root' | 'intermediate', sort: KeySort, identifier: Identifier) => {
    const authority = openssl[place](sort, identifier);
    const pair = await issued(authority);
    expect(openssl.verify(pair.chain, authority.root, host, ['-x509_strict'])).toContain('OK');
    expect(isSignedUpTo(pair.chain, authority.root)).toBe(true);
    expect(await handshake(pair, authority.root)).toBe(true);
  },
);

test.each(['root', 'intermediate'] as const)(
  '§8.1: where the CA has no identifier the certificate names none, and verifies: %s',
  async (place) => {
    const authority = openssl[place]('p256', 'none');
    const pair = await issued(authority);
    // Strictly nothing under such a CA verifies: the CA itself is the fault.
    expect(openssl.verify(pair.chain, authority.root, host, [])).toContain('OK');
    expect(await handshake(pair, authority.root)).toBe(true);
    const shown = openssl.text(pair.chain);
    expect(shown).not.toContain('Authority Key Identifier');
    expect(shown).toContain('Subject Key Identifier');
  },
);

test('§8.1: the identifier is copied, and the leaf has its own', async () => {
  const authority = openssl.root('p256', 'sha256');
  const identifier = (pem: string, sort: string) =>
    new RegExp(`${sort} Key Identifier:[^\\n]*\\n\\s*(?:keyid:)?([0-9A-F:]+)`).exec(openssl.text(pem))?.[1];
  const { chain } = await issued(authority);
  const ofCa = identifier(authority.chain, 'Subject');
  expect(ofCa).toHaveLength(59);
  expect(identifier(chain, 'Authority')).toBe(ofCa);
  expect(identifier(chain, 'Subject')).toHaveLength(59);
  expect(identifier(chain, 'Subject')).not.toBe(ofCa);
  expect(new X509Certificate(chain).subjectAltName).toBe(`DNS:${host}`);
});

test('a certificate that may not sign is no CA that can be used', async () => {
  const { chain, key } = openssl.root('p256', 'sha1');
  const leaf = await issued({ chain, key, root: chain });
  expect(() => openAuthority(leaf.chain, leaf.key, systemClock.now())).toThrow(
    expect.objectContaining({ code: 'CERTIFICATE_UNUSABLE' }),
  );
});

const signing = ['basicConstraints = critical,CA:true', 'keyUsage = critical,keyCertSign'];

test.each([
  ['is not a CA certificate', ['basicConstraints = critical,CA:false']],
  ['is not a CA certificate', ['keyUsage = critical,keyCertSign']],
  ['may not sign others', ['basicConstraints = critical,CA:true', 'keyUsage = critical,digitalSignature']],
  ['may not sign for servers', [...signing, 'extendedKeyUsage = clientAuth']],
] as const)('§8.4: a CA whose certificates nobody would accept says why: %s', (why, lines) => {
  const { chain, key } = openssl.root('p256', 'sha1', lines);
  expect(() => openAuthority(chain, key, systemClock.now())).toThrow(why);
});

test.each(['serverAuth', 'clientAuth,anyExtendedKeyUsage'])(
  '§8.4: a CA that may sign for servers does: %s',
  async (purposes) => {
    const lines = [...signing, `extendedKeyUsage = ${purposes}`];
    expect(openssl.text((await issued(openssl.root('p256', 'sha1', lines))).chain)).toContain(`DNS:${host}`);
  },
);

test('§8.3: of a CA whose certificate and key stand in one text, only the certificate is passed on', async () => {
  const { chain, key, root } = openssl.intermediate('p256', 'sha1');
  const all = `${openssl.text(chain)}${key}${chain}${key}${root}`.replaceAll('\n', '\r\n');
  const pair = await issued({ chain: all, key, root });
  expect(pair.chain).not.toContain('PRIVATE KEY');
  const blocks = pair.chain.match(/-----BEGIN CERTIFICATE-----\n[^-]+\n-----END CERTIFICATE-----\n/g) ?? [];
  expect(blocks).toHaveLength(3);
  expect(blocks.join('')).toBe(pair.chain);
  expect(isSignedUpTo(pair.chain, root)).toBe(true);
});

test('§8.4: a CA that is not valid yet does not sign, and says from when on it does', () => {
  const { chain, key } = openssl.root('p256', 'sha1');
  const from = Date.parse(new X509Certificate(chain).validFrom);
  expect(() => openAuthority(chain, key, from - 1)).toThrow(
    `its certificate is not valid before ${new Date(from).toISOString()}`,
  );
  expect(() => openAuthority(chain, key, from)).not.toThrow();
});

test('§8.4: a CA that has expired does not sign, and says since when', () => {
  const { chain, key } = openssl.root('p256', 'sha1');
  const until = Date.parse(new X509Certificate(chain).validTo);
  expect(() => openAuthority(chain, key, until)).toThrow(
    `its certificate expired ${new Date(until).toISOString()}`,
  );
});

test('§8.4: which of the two cannot be read is said, and that a key is encrypted', () => {
  const { chain, key } = openssl.root('p256', 'sha1');
  const opening = (...[certificate, secret]: readonly [string, string]) =>
    expect(() => openAuthority(certificate, secret, systemClock.now()));
  opening('nothing', key).toThrow('its certificate cannot be read');
  opening(chain, 'nothing').toThrow('its key cannot be read');
  opening(chain, openssl.encrypted(key)).toThrow('its key is encrypted');
});

const constrained = (rule: string) => [...signing, `nameConstraints = critical,${rule}`];

test.each([
  'permitted;DNS:example.com',
  'permitted;DNS:.EXAMPLE.com',
  'permitted;DNS:app.example.com',
  'permitted;DNS:example.org,permitted;DNS:example.com',
  'permitted;IP:10.0.0.0/255.0.0.0',
  'excluded;DNS:example.org',
  'excluded;DNS:xample.com',
])('§8.5: a host within the name constraints of its CA is signed: %s', async (rule) => {
  const authority = openssl.root('p256', 'sha1', constrained(rule));
  const { chain } = await issued(authority);
  expect(openssl.verify(chain, authority.root, host, ['-x509_strict'])).toContain('OK');
});

test.each([
  'permitted;DNS:example.org',
  'permitted;DNS:.app.example.com',
  'permitted;DNS:pp.example.com',
  'excluded;DNS:example.com',
  'excluded;DNS:.com',
  'permitted;DNS:example.com,excluded;DNS:app.example.com',
])('§8.5: a host outside the name constraints of its CA is refused: %s', async (rule) => {
  await expect(issued(openssl.root('p256', 'sha1', constrained(rule)))).rejects.toMatchObject({
    code: 'ACME_REFUSED',
    facts: { hopeless: true },
    message: `the CA may not sign for ${host} (its name constraints)`,
  });
});

test('a certificate that ends soon with its CA is not due as it is made: nobody orders without end', async () => {
  const { chain, key } = openssl.root('p256', 'sha1');
  const end = Date.parse(new X509Certificate(chain).validTo);
  const at = end - 40_000;
  const issuedLate = await openAuthority(chain, key, at).issue(host, 86_400_000, at);
  const { notBefore, notAfter } = readPublicPart(issuedLate.chain);
  expect(notAfter).toBe(end);
  const facts = { fingerprint: '', notBefore, notAfter, ariId: null };
  expect(dueByAge(facts)).toBeGreaterThan(at + 10_000);
});
