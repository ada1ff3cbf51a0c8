/** The WebSocket: who may open it, and when it is closed, with real sockets. */
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { type HttpServer, type HttpServerParts, startHttp } from '../../src/inspector/http/server.ts';
import type { Access } from '../../src/kube/api/access.ts';
import { until } from '../until.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { byToken, httpOptions } from './http-parts.ts';

const undos: Array<() => unknown> = [];
afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

async function serve(overrides: Partial<HttpServerParts> = {}): Promise<HttpServer> {
  const server = await startHttp(
    httpOptions({
      live: (query, line) => {
        line.send(`hello ${query.get('protocol') ?? ''}`);
        return { take: (text) => line.send(`heard ${text}`), end() {} };
      },
      ...overrides,
    }),
  );
  undos.push(() => server.close());
  return server;
}

interface Opened {
  readonly socket: WebSocket;
  /** Status of the refusal, or null when it opened. */
  readonly refused: number | null;
  readonly heard: string[];
  code(): number | null;
  /** What the replica said when it closed. */
  reason(): string;
}

function open(
  server: HttpServer,
  options: { headers?: Record<string, string>; protocols?: string[]; query?: string } = {},
): Promise<Opened> {
  const { headers = {}, protocols = [], query = '' } = options;
  const socket = new WebSocket(`ws://127.0.0.1:${server.address.port}/api/v1/inspect${query}`, protocols, {
    headers,
  });
  undos.push(() => socket.terminate());
  const heard: string[] = [];
  let code: number | null = null;
  let reason = '';
  socket.on('message', (data) => heard.push(String(data)));
  socket.on('close', (closed, why) => {
    code = closed;
    reason = String(why);
  });
  return new Promise((resolve) => {
    const done = (refused: number | null) =>
      resolve({ socket, refused, heard, code: () => code, reason: () => reason });
    socket.on('open', () => done(null));
    socket.on('unexpected-response', (_, answer) => done(answer.statusCode ?? 0));
    socket.on('error', () => {});
  });
}

const upgradeOf = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;

const bearer = (token: string) =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

test.each<[string, Parameters<typeof open>[1], number | null]>([
  ['nobody', {}, 401],
  ['a token that nobody knows', { headers: { authorization: 'Bearer wrong' } }, 401],
  ['somebody who may not', { headers: { authorization: 'Bearer known' } }, 403],
  ['a token in the header', { headers: { authorization: 'Bearer good' } }, null],
  ['a token in a subprotocol', { protocols: ['orrery.inspect.v1', bearer('good')] }, null],
  ['a token in the cookie', { headers: { cookie: 'orrery_token=good' } }, null],
  ['a token in the address', { query: '?token=good' }, 401],
  [
    'the cookie, by a page of another site',
    { headers: { cookie: 'orrery_token=good', origin: 'https://evil.example' } },
    403,
  ],
  [
    'only protocols that are not spoken here',
    { headers: { authorization: 'Bearer good' }, protocols: ['mqtt'] },
    400,
  ],
])('%s', async (_, options, refused) => {
  const opened = await open(await serve({ authorize: byToken }), options);
  expect(opened.refused).toBe(refused);
  if (refused !== null) return;
  // The token is not said again in the answer.
  expect(['', 'orrery.inspect.v1']).toContain(opened.socket.protocol);
  await until(() => opened.heard.length > 0, { what: 'the first message' });
});

test('what the client says is heard, and the address says which language is spoken', async () => {
  const { socket, heard } = await open(await serve(), { query: '?protocol=stately' });
  socket.send('x');
  await until(() => heard.length === 2, { what: 'both messages' });
  expect(heard).toEqual(['hello stately', 'heard x']);
});

test.each([
  ['to a WebSocket is refused', 'websocket', '404'],
  ['to HTTP/2, as Java asks for it, is answered as a request', 'h2c', '200'],
])('an upgrade of another path %s', async (_, protocol, status) => {
  const server = await serve();
  const socket = connect(server.address.port, '127.0.0.1');
  undos.push(() => socket.destroy());
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  socket.write(upgradeOf('/livez').replace('websocket', protocol));
  await until(() => answer.includes('\r\n\r\n'), { what: 'an answer' });
  expect(answer).toContain(`HTTP/1.1 ${status} `);
});

test('a right that is taken back closes the socket, also one that was open already', async () => {
  const clock = new VirtualClock();
  let access: Access = { granted: true, user: 'ann' };
  const { code, refused } = await open(await serve({ clock, authorize: async () => access }));
  expect(refused).toBeNull();
  access = { granted: false, status: 401, reason: 'the token is over' };
  await clock.advance(limits.inspectCheckMs + 1);
  await until(() => code() !== null, { what: 'the socket to be closed' });
  expect(code()).toBe(4401);
});

test('a reason of any length and alphabet closes the socket, and harms nobody else', async () => {
  const clock = new VirtualClock();
  let access: Access = { granted: true, user: 'ann' };
  const { code } = await open(await serve({ clock, authorize: async () => access }));
  access = { granted: false, status: 403, reason: `oidc:${'Владимир '.repeat(20)}may not` };
  await clock.advance(limits.inspectCheckMs + 1);
  await until(() => code() !== null, { what: 'the socket to be closed' });
  expect(code()).toBe(4403);
});

test('while Kubernetes cannot be asked, who was let in stays and nobody else comes in', async () => {
  const clock = new VirtualClock();
  let answer: () => Promise<Access> = async () => ({ granted: true, user: 'ann' });
  const server = await serve({ clock, authorize: () => answer() });
  const inside = await open(server);
  answer = () => Promise.reject(new Error('no answer'));
  await clock.advance(limits.inspectCheckMs + 1);
  expect((await open(server)).refused).toBe(503);
  expect(inside.code()).toBeNull();
});

const slowly: HttpServerParts['authorize'] = async () => {
  await sleep(systemClock, 50);
  return { granted: true, user: 'ann' };
};

test.each<[string, Partial<HttpServerParts>]>([
  ['at once', {}],
  ['while Kubernetes is asked for each of them', { authorize: slowly }],
])('of 200 opened %s, as many stay as are allowed, and the others are told why', async (_, overrides) => {
  const server = await serve(overrides);
  const all = await Promise.all(Array.from({ length: 200 }, () => open(server)));
  expect(all.every(({ refused }) => refused === null)).toBe(true);
  const staying = () => all.filter(({ code }) => code() === null);
  await until(() => staying().length <= limits.inspectSessions, { what: 'the others to be closed' });
  expect(staying()).toHaveLength(limits.inspectSessions);
  const others = all.filter(({ code }) => code() !== null);
  for (const { code, reason, heard } of others) {
    expect([code(), heard]).toEqual([1013, []]);
    expect(reason()).toContain(`${limits.inspectSessions} live feeds are open`);
  }
  staying()[0]?.socket.close();
  await until(() => staying().length < limits.inspectSessions, { what: 'one to be closed' });
  expect((await open(server)).code()).toBeNull();
});

test('who is refused and does not hang up holds no connection', async () => {
  const server = await serve({ authorize: byToken });
  const socket = connect({ port: server.address.port, host: '127.0.0.1', allowHalfOpen: true });
  undos.push(() => socket.destroy());
  let answer = '';
  let isCut = false;
  socket.on('data', (data) => {
    answer += data;
  });
  socket.on('error', () => {
    isCut = true;
  });
  socket.write(upgradeOf('/api/v1/inspect'));
  await until(() => answer.includes('401'), { what: 'the refusal' });
  // The other side has ended; what is written to it now is answered by a reset.
  await until(() => isCut || !socket.write('x'), { what: 'the connection to be gone' });
});

test('a client that no longer reads does not delay a replica that ends', async () => {
  const server = await serve();
  const { socket } = await open(server);
  socket.pause();
  const began = systemClock.monotonic();
  await server.close();
  expect(systemClock.monotonic() - began).toBeLessThan(10_000);
});

test('a message over the limit closes the socket of the one who sent it', async () => {
  const { socket, code } = await open(await serve());
  socket.send('x'.repeat(limits.inspectMessageBytes + 1));
  await until(() => code() !== null, { what: 'the socket to be closed' });
  expect(code()).toBe(1009);
});

test('a replica that ends says goodbye', async () => {
  const server = await serve();
  const { code } = await open(server);
  await server.close();
  await until(() => code() !== null, { what: 'the socket to be closed' });
  expect(code()).toBe(1001);
});
