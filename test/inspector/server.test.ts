/** What a replica's HTTP promises, by injected requests and, where the socket matters, by real ones. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { OrreryError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import {
  createHttp,
  type HttpServer,
  type HttpServerParts,
  startHttp,
} from '../../src/inspector/http/server.ts';
import { until } from '../until.ts';
import { byToken, healthOf, httpOptions, inject, scriptedControl, webPod } from './http-parts.ts';

async function get(
  url: string,
  overrides: Partial<HttpServerParts> = {},
  headers: Record<string, string> = {},
) {
  const answer = await inject(overrides, { method: 'GET', url, headers });
  return { status: answer.statusCode, headers: answer.headers, text: answer.body };
}

async function json(url: string, overrides: Partial<HttpServerParts> = {}) {
  const { status, text } = await get(url, overrides);
  return { status, body: JSON.parse(text) };
}

describe('health', () => {
  test('readyz is 503 with the reasons until the replica is ready', async () => {
    const readiness = () => ({ ready: false, reasons: ['not connected to NATS'] });
    expect(await json('/readyz', { readiness })).toEqual({ status: 503, body: readiness() });
    expect((await json('/readyz')).status).toBe(200);
  });

  test('healthz has the form of kube-proxy: keys in order, no spaces', async () => {
    const clock = { now: () => 1_700_000_000_123, monotonic: () => 0, after: () => ({ cancel: () => {} }) };
    const well = await get('/healthz', {
      health: healthOf(() => ({ families: {}, nodeEligible: true, timeoutMs: 30_000 }), clock),
    });
    expect(well.status).toBe(200);
    expect(well.headers['content-type']).toBe('application/json');
    expect(well.text).toBe(
      '{"lastUpdated":"2023-11-14T22:13:20.123Z","currentTime":"2023-11-14T22:13:20.123Z",' +
        '"nodeEligible":true,"healthy":true}',
    );
    const families = {
      'shard/7': { pendingSince: 1_699_999_970_000, lastUpdated: 1_699_999_969_000 },
      'shard/12': { pendingSince: null, lastUpdated: 1_699_999_990_500 },
    };
    const ill = await get('/livez', {
      clock,
      health: healthOf(() => ({ families, nodeEligible: true, timeoutMs: 30_000 }), clock),
    });
    expect(ill.status).toBe(503);
    expect(ill.text).toBe(
      '{"lastUpdated":"2023-11-14T22:13:10.5Z","currentTime":"2023-11-14T22:13:20.123Z","healthy":false,' +
        '"status":{"shard/12":{"lastUpdated":"2023-11-14T22:13:10.5Z","healthy":true},' +
        '"shard/7":{"lastUpdated":"2023-11-14T22:12:49Z","healthy":false}}}',
    );
  });

  test('metrics are the text that Prometheus reads', async () => {
    const { headers, text } = await get('/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toContain('# TYPE orrery_transitions_total counter');
  });
});

describe('actors', () => {
  test('a list hands kind, namespace, state, limit and place on', async () => {
    const control = scriptedControl();
    const { body } = await json(
      '/api/v1/actors?kind=pod&namespace=shop&state=proving&limit=5&after=pod/a/b',
      { control },
    );
    expect(body.actors).toEqual([webPod]);
    expect(control.asked).toEqual([
      { kind: 'pod', namespace: 'shop', state: 'proving', limit: 5, after: 'pod/a/b' },
    ]);
  });

  test.each([
    'kind=planet',
    'limit=0',
    'limit=1.5',
    `limit=${limits.listActors + 1}`,
    'after=zzz',
    'colour=red',
  ])('a wrong parameter is told: %s', async (query) => {
    const { status, body } = await json(`/api/v1/actors?${query}`);
    expect(status).toBe(400);
    expect(body.error.code).toBe('USAGE');
    expect(body.error.message).toContain('allowed:');
  });

  test('one actor is found by kind, namespace and name, escaped names too', async () => {
    const control = scriptedControl();
    expect((await json('/api/v1/actors/pod/shop/web-0', { control })).body.id).toBe('pod/shop/web-0');
    expect((await json('/api/v1/actors/domain/_/%2A.example.com', { control })).status).toBe(404);
    expect(control.asked.at(-1)).toBe('domain/_/*.example.com');
    expect((await json('/api/v1/actors/planet/_/mars')).status).toBe(404);
  });

  test('one who reads hundreds of histories at once gets a few, is told BUSY, and leaves room for others', async () => {
    let reading = 0;
    let most = 0;
    const release = Promise.withResolvers<void>();
    const history = async () => {
      most = Math.max(most, ++reading);
      await release.promise;
      reading--;
      return { steps: [], left: 0 };
    };
    const authorize: HttpServerParts['authorize'] = async (token) => ({ granted: true, user: token ?? '' });
    const server = createHttp(httpOptions({ history, authorize })).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const read = (token: string) =>
      fetch(`http://127.0.0.1:${port}/api/v1/actors/pod/shop/web-0/history`, {
        headers: { authorization: `Bearer ${token}` },
      });
    const whatCame: number[] = [];
    const greedy = Array.from({ length: 60 }, async () => {
      const answer = await read('greedy');
      whatCame.push(answer.status);
      if (answer.status === 503) expect(await answer.json()).toMatchObject({ error: { code: 'BUSY' } });
    });
    await until(() => whatCame.length >= 60 - limits.pagesAtOnce / 2, { what: 'the refusals' });
    expect(new Set(whatCame)).toEqual(new Set([503]));
    const modest = read('modest');
    await until(() => reading > limits.pagesAtOnce / 2, { what: 'the other reader to get a turn' });
    release.resolve();
    await Promise.all(greedy);
    expect((await modest).status).toBe(200);
    expect(most).toBeLessThanOrEqual(limits.pagesAtOnce);
    expect((await read('greedy')).status).toBe(200);
    server.close();
  });

  test('what fails for a while is 503, and a bug tells nothing of its inside', async () => {
    const failing = (error: Error) => scriptedControl({ shards: () => Promise.reject(error) });
    const away = await json('/api/v1/shards', {
      control: failing(new OrreryError('BUS_UNREACHABLE', 'no answer')),
    });
    expect(away).toEqual({ status: 503, body: { error: { code: 'BUS_UNREACHABLE', message: 'no answer' } } });
    const bug = await json('/api/v1/shards', { control: failing(new TypeError('x of undefined')) });
    expect(bug.status).toBe(500);
    expect(JSON.stringify(bug.body)).not.toContain('undefined');
  });
});

describe('machines', () => {
  test('the statecharts are listed, and each is shown without functions', async () => {
    const { body } = await json('/api/v1/machines');
    expect(body.machines).toContainEqual(
      expect.objectContaining({ name: 'pod', version: expect.any(Number) }),
    );
    const pod = await json('/api/v1/machines/pod');
    expect(pod.body.config.states.deciding.always).toBeInstanceOf(Array);
    expect(pod.body.messages).toEqual({});
    expect((await json('/api/v1/machines/constructor')).status).toBe(404);
  });
});

describe('every answer', () => {
  test.each(['/readyz', '/api/v1/shards', '/nowhere'])('%s carries the security headers', async (url) => {
    const { headers } = await get(url);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
  });

  test('an unknown path is a 404 in JSON, another method a 405 that names the allowed ones', async () => {
    expect(await json('/nowhere?a=b')).toEqual({
      status: 404,
      body: { error: { code: 'NOT_FOUND', message: 'there is nothing at /nowhere' } },
    });
    const posted = await inject(
      {},
      {
        method: 'POST',
        url: '/readyz',
        payload: { a: 1 },
      },
    );
    expect(posted.statusCode).toBe(405);
    expect(posted.headers.allow).toBe('GET, HEAD');
    expect(await json('/api/v1/dead/1')).toMatchObject({
      body: { error: { code: 'METHOD_NOT_ALLOWED', message: 'only DELETE is answered here' } },
    });
  });

  test('the live feed without an upgrade is a 426 that names the protocol', async () => {
    const answer = await inject({}, { url: '/api/v1/inspect' });
    expect([answer.statusCode, answer.headers.upgrade]).toEqual([426, 'websocket']);
    expect(answer.json()).toMatchObject({ error: { code: 'UPGRADE_REQUIRED' } });
  });

  test('HEAD is answered like GET, without a body', async () => {
    const answer = await inject({}, { method: 'HEAD', url: '/readyz' });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
  });
});

describe('authorization', () => {
  test.each([
    [{}, 401],
    [{ authorization: 'Bearer wrong' }, 401],
    [{ authorization: 'Basic good' }, 401],
    [{ authorization: 'Bearer known' }, 403],
    [{ authorization: 'bearer good' }, 200],
  ])('the API with %j is %d', async (headers, status) => {
    const answer = await get('/api/v1/shards', { authorize: byToken }, headers);
    expect(answer.status).toBe(status);
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
  });

  test('health and metrics need no token', async () => {
    for (const url of ['/livez', '/healthz', '/readyz', '/metrics']) {
      expect((await get(url, { authorize: byToken })).status).toBe(200);
    }
  });

  test('while nobody can say who calls, the API is closed', async () => {
    const authorize = () => Promise.reject(new OrreryError('KUBE_UNREACHABLE', 'no answer'));
    expect((await get('/api/v1/shards', { authorize })).status).toBe(503);
  });
});

describe('the socket', () => {
  let server: HttpServer | undefined;
  afterEach(() => server?.close());

  test('it listens on the address asked for and tells the real port', async () => {
    server = await startHttp(httpOptions());
    const answer = await fetch(`http://127.0.0.1:${server.address.port}/readyz`);
    expect(await answer.json()).toEqual({ ready: true, reasons: [] });
  });

  test('a second server on the port is refused', async () => {
    server = await startHttp(httpOptions());
    await expect(startHttp(httpOptions({ port: server.address.port }))).rejects.toThrow('EADDRINUSE');
  });

  test('closing ends connections that are kept alive, and may be done twice', async () => {
    server = await startHttp(httpOptions());
    const socket = connect(server.address.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.resume();
    await server.close();
    await closed;
    await server.close();
  });

  test('a body over the limit changes nothing: another method is refused before it is read', async () => {
    server = await startHttp(httpOptions());
    const url = `http://127.0.0.1:${server.address.port}/api/v1/actors`;
    const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(limits.httpBodyBytes + 1) });
    expect(answer.status).toBe(405);
  });

  test.each([
    ['without an end', 413, ['x'.repeat(limits.httpBodyBytes), 'x'], {}],
    ['that is no JSON', 400, ['{"token'], {}],
    ['that changes what objects are', 400, ['{"__proto__": {"token": "good"}}'], {}],
    ['of another type', 415, ['token=good'], { 'content-type': 'application/x-www-form-urlencoded' }],
    ['that is empty', 400, [], {}],
  ])('a body %s is %d', async (_, status, pieces, headers) => {
    server = await startHttp(httpOptions());
    const answer = await fetch(`http://127.0.0.1:${server.address.port}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: ReadableStream.from(pieces.map((piece) => Buffer.from(piece))),
      duplex: 'half',
    } as RequestInit);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error: { code: expect.any(String), message: expect.any(String) } });
  });

  test('a path that cannot be unescaped is a 400, a slash at the end changes nothing', async () => {
    expect((await get('/api/v1/machines/%E0%A4%A')).status).toBe(400);
    expect((await get('/readyz/')).status).toBe(200);
    expect((await get('/api/v1/machines//')).status).toBe(404);
    expect((await get(`/api/v1/actors/pod/shop/${'x'.repeat(513)}`)).status).toBe(404);
  });

  test('a parameter that is given twice is refused, but for health, whose parameters nobody reads', async () => {
    expect(await json('/api/v1/actors?kind=pod&kind=domain')).toEqual({
      status: 400,
      body: { error: { code: 'USAGE', message: 'kind: is given more than once' } },
    });
    expect((await get('/readyz?verbose&verbose')).status).toBe(200);
  });

  test('a question mark may stand in a parameter', async () => {
    const control = scriptedControl();
    await json('/api/v1/actors?kind=pod&state=what%3F?&namespace=a+b', { control });
    expect(control.asked).toEqual([
      { kind: 'pod', state: 'what??', namespace: 'a b', limit: limits.listActors },
    ]);
  });
});
