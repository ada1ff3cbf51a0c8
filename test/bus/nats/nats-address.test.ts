/** Addresses, logins and certificates as people write them, before anything is dialled. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { expect, test } from 'vitest';
import { loginInUrls } from '../../../src/bus/nats/server/nats-login.ts';
import { tlsOptions } from '../../../src/bus/nats/server/nats-tls.ts';
import { parseServer, withoutPasswords } from '../../../src/bus/nats/server/nats-url.ts';
import { codeOf } from '../bus-parts.ts';
import { connectTo } from './nats-backend.ts';

test.each([
  ['nats://r:a:b@h', { user: 'r', pass: 'a:b' }],
  ['nats://r:a%3Ab@h', { user: 'r', pass: 'a:b' }],
  ['nats://r:p@s@h:1', { user: 'r', pass: 'p@s' }],
  ['nats://r:50%off@h', { user: 'r', pass: '50%off' }],
  ['nats://r:@h', { user: 'r', pass: '' }],
  ['nats://t%3Ak@h', { token: 't:k' }],
  ['nats://h', {}],
])('the login in %s is taken whole', (text, login) => {
  expect(loginInUrls([parseServer(text)])).toEqual(login);
});

test.each([
  ['nats://h:1', 'h'],
  ['tls://[::1]:4222', '::1'],
  ['h', 'h'],
])('the host of %s is %s', (text, host) => expect(parseServer(text).host).toBe(host));

test.each([
  ['nats://u:pa,ss@h:1', 'nats://…@h:1'],
  ['nats://u:p@h1,tls://c:d/e@h2', 'nats://…@h1,tls://…@h2'],
  ['nats://h1:4222,nats://u:p@h2', 'nats://h1:4222,nats://…@h2'],
  ['u:hunter2@127.0.0.1:1', '…@127.0.0.1:1'],
  ['nats://h1,h2:1', 'nats://h1,h2:1'],
])('nothing before "@" in %s is shown', (text, shown) => expect(withoutPasswords(text)).toBe(shown));

const certificate = (subjectaltname: string) =>
  ({ subjectaltname, subject: { CN: 'nats' } }) as unknown as PeerCertificate;
const check = (servers: readonly string[], name: string, names: string) =>
  tlsOptions({}, servers.map(parseServer)).checkServerIdentity(name, certificate(names));

test('a server that is addressed by IP must have a certificate for an address that was given', () => {
  // Without a name, Node.js says "localhost".
  expect(check(['tls://10.0.0.5:4222'], 'localhost', 'IP Address:10.0.0.5')).toBeUndefined();
  expect(check(['tls://[::1]:4222'], 'localhost', 'IP Address:0:0:0:0:0:0:0:1')).toBeUndefined();
  expect(check(['tls://10.0.0.5:4222'], 'localhost', 'DNS:localhost')?.message).toMatch(/10\.0\.0\.5/);
  expect(check(['tls://10.0.0.5:4222'], 'localhost', 'IP Address:10.0.0.6')?.message).toMatch(/10\.0\.0\.5/);
});

test('a server that is addressed by name must have a certificate for that name', () => {
  expect(check(['tls://nats.shop'], 'nats.shop', 'DNS:nats.shop')).toBeUndefined();
  expect(check(['tls://nats.shop'], 'nats.shop', 'DNS:other')?.message).toMatch(/nats\.shop/);
  expect(check(['tls://localhost'], 'localhost', 'DNS:localhost')).toBeUndefined();
  expect(check(['tls://10.0.0.5', 'tls://nats.shop'], 'nats.shop', 'IP Address:10.0.0.5')?.message).toMatch(
    /nats\.shop/,
  );
});

test.each([
  ['credentials without a seed', 'nats-creds', (file: string) => ({ credsFile: file })],
  ['an authority that is no certificate', 'nats-ca', (file: string) => ({ tls: { caFile: file } })],
  ['a certificate that is none', 'nats-cert', (file: string) => ({ tls: { certFile: file, keyFile: file } })],
])('%s end the start with a line that names the flag and the file', async (_, flag, options) => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-files-'));
  const file = join(dir, 'garbage');
  writeFileSync(file, 'garbage');
  try {
    const connecting = connectTo('nats://127.0.0.1:1', options(file));
    expect(await codeOf(connecting)).toBe('USAGE');
    await expect(connecting).rejects.toThrow(`--${flag}: ${JSON.stringify(file)} is not allowed`);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
