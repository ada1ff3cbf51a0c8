/** Addresses, logins and certificates as people write them, and which address is dialled when. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { systemClock, timestamp } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { credentials, loginInUrls } from '../../../src/bus/nats/server/nats-login.ts';
import { tlsOptions } from '../../../src/bus/nats/server/nats-tls.ts';
import { parseServer, withoutPasswords } from '../../../src/bus/nats/server/nats-url.ts';
import { serverOrder } from '../../../src/bus/nats/server/server-order.ts';
import { createTroubles } from '../../../src/bus/troubles.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { codeOf } from '../bus-parts.ts';
import { startConfigured } from './configured-server.ts';
import { connectTo, recordingLog } from './nats-backend.ts';

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

test('a JWT that has expired is told once, with its file and time, until the file holds another', () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-files-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'user.creds');
  const clock = new VirtualClock();
  const give = (seconds: number) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exp = Math.floor(clock.now() / 1_000) + seconds;
    const jwt = [{ typ: 'JWT' }, { exp }, {}].map(part).join('.');
    writeFileSync(file, `-----BEGIN NATS USER JWT-----\n${jwt}\n\nSU${'A'.repeat(56)}\n`);
    return timestamp(exp * 1_000);
  };
  const log = recordingLog();
  const troubles = createTroubles(clock);
  const maker = () => () => 'login';
  const at = give(-60);
  const login = credentials(file, { jwt: maker, nkey: maker }, { clock, troubles, log });
  for (let n = 0; n < 3; n++) login();
  const reason = `the JWT in ${file} (--nats-creds) expired at ${at}: renew the file, it is read at each attempt`;
  expect(log.facts).toEqual([{ reason }]);
  expect(troubles.all()).toMatchObject([{ text: reason }]);
  give(60);
  login();
  expect(troubles.all()).toEqual([]);
});

const given = ['a', 'b'].map((listen) => ({ listen, gossiped: false }));
const announced = ['x', 'y'].map((listen) => ({ listen, gossiped: true }));

/** The next `count` servers that are dialled in vain, each for as long as it may take. */
async function dialled(order: ReturnType<typeof serverOrder>, clock: VirtualClock, count: number) {
  const names: string[] = [];
  for (let n = 0; n < count; n++) {
    const { server, delay } = order.next([...announced, ...given]) ?? expect.unreachable('no server');
    await clock.advance(delay + (server.gossiped ? order.timeoutMs(server) : 0));
    names.push(server.listen);
  }
  return names.join('');
}

test('after each round of the servers that were given comes one that NATS announces, for a second', async () => {
  const clock = new VirtualClock();
  const order = serverOrder({ clock, random: seededRandom(1) });
  expect(await dialled(order, clock, 6)).toBe('abxaby');
  // 250 ms at most are between two attempts at one server.
  expect(clock.monotonic()).toBeLessThan(2_600);
});

test('an announced server that failed before comes later in the next outage, until it was reached', async () => {
  const clock = new VirtualClock();
  const order = serverOrder({ clock, random: seededRandom(1) });
  await dialled(order, clock, 6);
  order.onConnected('a');
  expect(await dialled(order, clock, 11)).toBe('ababxababya');
  order.onConnected('y');
  expect(await dialled(order, clock, 3)).toBe('aby');
});

async function greetingOf(port: number): Promise<string> {
  const socket = createConnection(port, '127.0.0.1');
  const [first] = await once(socket, 'data');
  socket.destroy();
  return String(first);
}

test('NATS is reached at once where it announces an address that nobody answers, and the clock was set back', async () => {
  let calls = 0;
  const silent = createServer((socket) => {
    calls++;
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const route = await freePort('127.0.0.1', 0);
  const server = await startConfigured(`cluster { name: c, listen: "127.0.0.1:${route}" }`);
  onTestFinished(server.remove);
  const other = await startConfigured(
    `client_advertise: "${address}"\ncluster { name: c, listen: "127.0.0.1:-1", routes: ["nats://127.0.0.1:${route}"] }`,
  );
  onTestFinished(other.remove);
  await until(async () => (await greetingOf(server.port)).includes(address), { what: 'the announcement' });
  const log = recordingLog();
  const bus = await connectTo(`nats://127.0.0.1:${server.port}`, { onlyAsks: true, log });
  onTestFinished(() => bus.close());
  const anHourAgo = systemClock.now() - 3_600_000;
  vi.spyOn(Date, 'now').mockReturnValue(anHourAgo);
  onTestFinished(() => void vi.restoreAllMocks());
  await server.kill();
  await until(() => calls > 0, { what: 'the announced address to be dialled' });
  await server.start();
  await until(() => bus.status === 'connected', { what: 'the connection', timeoutMs: 4_000 });
  expect(calls).toBe(1);
  const told = log.lines.findIndex((line) => line.startsWith('NATS announces an address'));
  expect(log.facts[told]).toEqual({ address, reason: 'timeout' });
});
