/** Calls to workloads outside the cluster: what counts as an answer. */
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createCertificates } from '../../../packages/kube-api/http/server-certificate.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { type ReachTarget, reach } from '../../../src/features/endpoints/reach.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
const call = (target: Partial<ReachTarget> & { port: number }, signal = new AbortController().signal) =>
  reach(
    { scheme: 'http', address: '127.0.0.1', host: null, path: '/healthz', timeoutMs: 2_000, ...target },
    systemClock,
    signal,
  );
const answering = (listener: RequestListener) => listen(createHttp(listener));

test.each([
  [200, null],
  [204, null],
  [302, null],
  [399, null],
  [400, 'answered with status 400'],
  [503, 'answered with status 503'],
])('status %i: %s', async (status, problem) => {
  const port = await answering((_, response) => response.writeHead(status).end());
  expect(await call({ port })).toBe(problem);
});

test('the path and the Host are those of the annotation', async () => {
  const seen: Array<string | undefined> = [];
  const port = await answering((request, response) => {
    seen.push(request.url, request.headers.host);
    response.end();
  });
  await call({ port, path: '/x?y=1', host: 'app.example.com' });
  await call({ port });
  expect(seen).toEqual(['/x?y=1', `app.example.com:${port}`, '/healthz', `127.0.0.1:${port}`]);
});

test('nobody listens, nobody answers in time, the connection breaks: each is a problem in words', async () => {
  const port = await listen(createTcp((socket) => socket.destroy()));
  expect(await call({ port })).toBe('the connection was cut');
  const silent = await listen(createTcp((socket) => socket.on('error', () => {})));
  expect(await call({ port: silent, timeoutMs: 50 })).toBe('no answer within 50 ms');
  const closed = await listen(createTcp());
  await new Promise((resolve) => servers.pop()?.close(resolve));
  expect(await call({ port: closed })).toBe('connection refused');
});

test('TCP: a connection that opens is an answer', async () => {
  const port = await listen(createTcp((socket) => socket.on('error', () => {}).end()));
  expect(await call({ port, scheme: 'tcp' })).toBe(null);
});

test('HTTPS: the certificate is not checked', async () => {
  const port = await listen(createHttps(createCertificates(), (_, response) => response.end('ok')));
  expect(await call({ port, scheme: 'https', host: 'else.example.com' })).toBe(null);
});

test('a call that is given up ends at once', async () => {
  const port = await listen(createTcp((socket) => socket.on('error', () => {})));
  const giving = new AbortController();
  const ended = call({ port, timeoutMs: 60_000 }, giving.signal);
  giving.abort(new Error('enough'));
  expect(await ended).toBe('the probe was given up');
});
