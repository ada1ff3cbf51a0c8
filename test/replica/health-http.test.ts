/** Health on a port of its own: the same answers, and no flood of idle connections that silences it. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import type { SmallServer } from '../../src/features/proxiers/small-http.ts';
import { startHealthHttp } from '../../src/replica/health/health-http.ts';

let server: SmallServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
});

async function start(ready = true): Promise<string> {
  const body = '{"healthy":true}';
  server = await startHealthHttp({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    health: () => ({ status: 200, contentType: 'application/json', headers: {}, body }),
    readiness: () => ({ ready, reasons: ready ? [] : ['NATS is not connected'] }),
  });
  return `http://127.0.0.1:${server.address.port}`;
}

test('it answers livez, healthz and readyz, and nothing else', async () => {
  const url = await start(false);
  expect(await (await fetch(`${url}/livez`)).json()).toEqual({ healthy: true });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { ready: false, reasons: ['NATS is not connected'] },
  ]);
  for (const path of ['/metrics', '/api/v1/actors', '/']) expect((await fetch(url + path)).status).toBe(404);
  expect((await fetch(`${url}/livez`, { method: 'POST' })).status).toBe(405);
});

test('as many idle connections as there may be keep nobody out', async () => {
  const url = await start();
  const { port } = new URL(url);
  for (let n = 0; n < limits.httpConnections + 20; n++) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
  }
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});
