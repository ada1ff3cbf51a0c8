/** The `http` effect, against a real HTTP server. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { featureLimits } from '../../src/actors/feature-limits.ts';
import { callHttp, type HttpRequest } from '../../src/api/http-call.ts';
import { http, type Tools } from '../../src/api/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';

interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const heard: Heard[] = [];
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of request) pieces.push(piece);
    const { method = '', url: path = '', headers } = request;
    heard.push({ method, url: path, headers, body: Buffer.concat(pieces).toString() });
    if (path.startsWith('/silent')) return;
    if (path === '/elsewhere') response.writeHead(302, { location: '/json' });
    else if (path === '/broken') response.statusCode = 500;
    else if (path === '/long') response.write('x'.repeat(featureLimits.answerBytes + 1));
    else response.setHeader('content-type', 'application/json');
    response.end(path === '/json' ? '{"well":true}' : 'well');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const { signal } = new AbortController();
const tools = {
  key: 'a/b/c/1/0',
  http: (request: HttpRequest) => callHttp(request, { clock, signal, fetch: globalThis.fetch }),
} as unknown as Tools;
const ask = http('somebody.ask');

test('an answer is done, whatever its status, with headers, text and JSON', async () => {
  const answer = await ask.run({ url: `${url}/json` }, tools);
  expect(answer).toMatchObject({ status: 200, body: '{"well":true}', json: { well: true } });
  expect(answer.headers).toMatchObject({ 'content-type': 'application/json' });
  expect(heard.at(-1)).toMatchObject({ method: 'GET', body: '' });
  expect(await ask.run({ url: `${url}/broken` }, tools)).toMatchObject({
    status: 500,
    body: 'well',
    json: null,
  });
});

test('a body is sent as JSON, a text as it is', async () => {
  await ask.run({ method: 'POST', url, body: { a: 1 } }, tools);
  expect(heard.at(-1)).toMatchObject({ method: 'POST', body: '{"a":1}' });
  expect(heard.at(-1)?.headers['content-type']).toBe('application/json');
  await ask.run({ method: 'PUT', url, body: 'plain', headers: { 'content-type': 'text/plain' } }, tools);
  expect(heard.at(-1)).toMatchObject({ method: 'PUT', body: 'plain' });
});

test('what is secret is worked out when the call is made, and stands over what was saved', async () => {
  const secret = http('somebody.ask', {
    headers: async ({ key }) => ({ authorization: `Bearer of ${key}` }),
  });
  await secret.run({ url, headers: { authorization: 'none', 'x-own': 'yes' } }, tools);
  expect(heard.at(-1)?.headers).toMatchObject({ authorization: 'Bearer of a/b/c/1/0', 'x-own': 'yes' });
});

test('a redirect is an answer: nobody is sent where the feature did not ask', async () => {
  const answer = await ask.run({ url: `${url}/elsewhere` }, tools);
  expect(answer.status).toBe(302);
  expect(answer.headers.location).toBe('/json');
});

test.each<readonly [what: string, request: () => HttpRequest, message: RegExp]>([
  [
    'no answer in time',
    () => ({ url: `${url}/silent?password=hunter2`, timeoutMs: 50 }),
    /no answer within 50 ms/,
  ],
  [
    'nobody there',
    () => ({ url: 'http://127.0.0.1:1/?password=hunter2' }),
    /ECONNREFUSED|fetch failed|bad port/,
  ],
  ['an answer that is too long', () => ({ url: `${url}/long` }), /more than 65536 bytes/],
  ['one longer than was asked for', () => ({ url: `${url}/json`, bytesMax: 3 }), /more than 3 bytes/],
  ['an address that is none', () => ({ url: 'nowhere?password=hunter2' }), /an address that is none/],
])('is failed, without the query in its message: %s', async (_what, request, message) => {
  const failure = await ask.run(request(), tools).then(
    () => ({ code: '', message: 'an answer' }),
    (error: { code: string; message: string }) => error,
  );
  expect(failure.code).toBe('HTTP_UNREACHABLE');
  expect(failure.message).toMatch(message);
  expect(failure.message).not.toContain('hunter2');
});

test('its time is longer than that of the call, so that the call says what was wrong', () => {
  expect(ask.timeoutMs({ type: 'somebody.ask', url, timeoutMs: 1_000 })).toBeGreaterThan(1_000);
  expect(ask.timeoutMs({ type: 'somebody.ask', url })).toBeGreaterThan(10_000);
});
