/** Connections that say nothing, on a real socket: they keep nobody out of the main port, and end. */
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type Bounds, boundConnections } from '../../src/base/http/connections.ts';
import { limits } from '../../src/base/limits.ts';
import type { SmallServer } from '../../src/features/proxiers/small-http.ts';
import { type HttpServer, startHttp } from '../../src/inspector/http/server.ts';
import { startHealthHttp } from '../../src/replica/health/health-http.ts';
import { until } from '../until.ts';
import { httpOptions } from './http-parts.ts';

const closing: Array<() => unknown> = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const close of closing.splice(0)) await close();
});

/** A connection that says nothing, from an address of this machine. */
async function idle(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}
const stillOpen = () => sockets.filter(({ destroyed }) => !destroyed);

test('1,100 idle connections to the main port keep nobody out of it, nor out of health', async () => {
  const http: HttpServer = await startHttp(httpOptions());
  const health: SmallServer = await startHealthHttp({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    health: () => ({ status: 200, contentType: 'application/json', headers: {}, body: '{}' }),
    readiness: () => ({ ready: true, reasons: [] }),
  });
  closing.push(
    () => http.close(),
    () => health.close(),
  );
  for (let n = 0; n < 1_100; n++) (await idle(http.address.port)).resume();
  for (const { address } of [http, health]) {
    for (const path of ['livez', 'readyz']) {
      const answer = await fetch(`http://127.0.0.1:${address.port}/${path}`);
      expect(answer.status).toBe(200);
    }
  }
  const isFew = () => stillOpen().length <= limits.httpConnectionsPerAddress;
  await until(isFew, { what: 'all but those of the bound to be closed' });
});

/** A server of two connections for each address and three in all, whose answers wait. */
async function small(bounds: Bounds = { all: 3, perAddress: 2 }) {
  const waiting: Array<() => void> = [];
  const server: Server = createServer((_request, response) => {
    waiting.push(() => response.end('done'));
  });
  boundConnections(server, 'connection', bounds);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, waiting };
}

const closed = (socket: Socket) => until(() => socket.destroyed, { what: 'the connection to be closed' });
const ask = (socket: Socket) => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');

test('the oldest without a request makes room; a request under way is never cut off', async () => {
  const { port, waiting } = await small();
  const busy = await idle(port);
  ask(busy);
  await until(() => waiting.length === 1, { what: 'the request' });
  const quiet = await idle(port);
  quiet.resume();
  const third = await idle(port);
  await closed(quiet);
  ask(third);
  await until(() => waiting.length === 2, { what: 'the second request' });
  const late = await idle(port);
  late.resume();
  await closed(late);
  const answered = new Promise<string>((resolve) => busy.once('data', (data) => resolve(String(data))));
  waiting[0]?.();
  expect(await answered).toContain('done');
});

test('a request for a protocol that nobody serves is answered, and holds no place', async () => {
  const { port, waiting } = await small();
  const socket = await idle(port);
  const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  await until(() => waiting.length === 1, { what: 'the request' });
  waiting[0]?.();
  expect(await answered).toContain('done');
});

test('where there are too many in all, the address with most gives one', async () => {
  const { port } = await small();
  const [first, second] = [await idle(port, '127.0.0.2'), await idle(port, '127.0.0.2')];
  const other = await idle(port, '127.0.0.3');
  first.resume();
  const fourth = await idle(port, '127.0.0.4');
  await closed(first);
  expect([second, other, fourth].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
});
