/**
 * The client against servers that misbehave: what it asks, what it makes of the answers, and that it never
 * waits for ever.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startKubeApi } from '../../../packages/kube-api/server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { limits } from '../../../src/base/limits.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { pods } from '../../../src/features/routes/resources.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';
import { events } from '../../../src/kube/api/resources.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { HostileApi, json, status, statusObject } from './hostile-api.ts';

let api: HostileApi;
const opened: KubeConnection[] = [];
const { signal } = new AbortController();

beforeEach(async () => {
  api = await new HostileApi().listen();
});
afterEach(async () => {
  for (const kube of opened.splice(0)) kube.close();
  await api.close();
});

function connect(clock = systemClock): KubeConnection {
  const kube = connectKube({ kubeconfig: api.kubeconfig, clock, random: systemRandom });
  opened.push(kube);
  return kube;
}

/** The error of a call that must fail. */
async function errorOf(call: Promise<unknown>): Promise<OrreryError> {
  const thrown = await call.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(OrreryError);
  return thrown as OrreryError;
}

describe('what is asked', () => {
  test('a list names its page, its size and its selectors', async () => {
    for (let index = 0; index < 3; index += 1) api.put('shop', `web-${index}`);
    const kube = connect();
    const first = await kube.list(pods, { namespace: 'shop', limit: 2, labelSelector: 'app=web' }, signal);
    expect(first.items).toHaveLength(2);
    const second = await kube.list(pods, { namespace: 'shop', limit: 2, continue: first.continue }, signal);
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(['web-2']);
    expect(second.continue).toBe('');
    expect(api.requests[0]?.url.pathname).toBe('/api/v1/namespaces/shop/pods');
    expect(api.requests[0]?.url.searchParams.get('labelSelector')).toBe('app=web');
  });

  test.each([
    ['merge', 'application/merge-patch+json'],
    ['strategic', 'application/strategic-merge-patch+json'],
    ['json', 'application/json-patch+json'],
    ['apply', 'application/apply-patch+yaml'],
  ] as const)('a patch of type %s is sent as %s', async (type, contentType) => {
    api.fault('other', (_, response) => json(response, 200, { metadata: { name: 'a b' } }));
    const body = type === 'json' ? [{ op: 'remove', path: '/x' }] : { metadata: { labels: { a: 'b' } } };
    await connect().patch(
      pods,
      {
        namespace: 'shop',
        name: 'a b',
        subresource: 'status',
        type,
        body,
        ...(type === 'apply' ? { fieldManager: 'orrery', force: true } : {}),
      },
      signal,
    );
    const [request] = api.requests;
    expect(request?.headers['content-type']).toBe(contentType);
    expect(request?.url.pathname).toBe('/api/v1/namespaces/shop/pods/a%20b/status');
    expect(request?.url.search).toBe(type === 'apply' ? '?fieldManager=orrery&force=true' : '');
    if (type === 'apply')
      expect(JSON.parse(request?.body ?? '')).toMatchObject({ apiVersion: 'v1', kind: 'Pod' });
  });

  test('an object is created in its namespace, with its type', async () => {
    api.fault('other', (_, response) => json(response, 201, { metadata: { name: 'e' } }));
    await connect().create(events, { metadata: { name: 'e', namespace: 'shop' } }, signal);
    const [request] = api.requests;
    expect(request).toMatchObject({ method: 'POST' });
    expect(request?.url.pathname).toBe('/apis/events.k8s.io/v1/namespaces/shop/events');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ apiVersion: 'events.k8s.io/v1', kind: 'Event' });
  });

  test('a deletion carries its preconditions', async () => {
    api.fault('other', (_, response) => json(response, 200, statusObject(200, '')));
    await connect().delete(
      pods,
      'shop',
      'web-0',
      { uid: 'u', resourceVersion: '7', gracePeriodSeconds: 0 },
      signal,
    );
    expect(JSON.parse(api.requests[0]?.body ?? '')).toMatchObject({
      preconditions: { uid: 'u', resourceVersion: '7' },
      gracePeriodSeconds: 0,
    });
  });

  test('a deletion takes along what the object owns, whatever the server does by itself', async () => {
    api.fault('other', (_, response) => json(response, 200, statusObject(200, '')));
    await connect().delete(pods, 'shop', 'web-0', {}, signal);
    expect(JSON.parse(api.requests[0]?.body ?? '')).toMatchObject({ propagationPolicy: 'Background' });
  });

  test('a kind is found by discovery, and its subresources are not taken for it', async () => {
    const resources = [
      { name: 'proxygroups/status', kind: 'ProxyGroup', namespaced: true },
      { name: 'proxygroups', kind: 'ProxyGroup', namespaced: false },
    ];
    api.fault('other', (_, response) => json(response, 200, { resources }));
    expect(await connect().resolve('tailscale.com/v1alpha1', 'ProxyGroup', signal)).toEqual({
      group: 'tailscale.com',
      version: 'v1alpha1',
      plural: 'proxygroups',
      kind: 'ProxyGroup',
      namespaced: false,
    });
    api.fault('other', (_, response) => json(response, 200, { resources }));
    expect((await errorOf(connect().resolve('tailscale.com/v1alpha1', 'Connector', signal))).code).toBe(
      'KUBE_NOT_FOUND',
    );
    expect((await errorOf(connect().resolve('nowhere.io/v1', 'Thing', signal))).code).toBe('KUBE_NOT_FOUND');
  });
});

describe('what is made of refusals', () => {
  test('a kind whose definition is not there is told in words', async () => {
    api.fault('list', (_, response) => response.writeHead(404).end('404 page not found\n'));
    const error = await errorOf(connect().list(pods, {}, signal));
    expect([error.code, error.message]).toEqual([
      'KUBE_NOT_FOUND',
      'GET /api/v1/pods was answered with 404: the API server has no such kind',
    ]);
  });

  test.each([
    [400, 'BadRequest', {}, 'KUBE_REFUSED', undefined],
    [403, 'Forbidden', {}, 'KUBE_REFUSED', undefined],
    [404, 'NotFound', {}, 'KUBE_NOT_FOUND', undefined],
    [409, 'Conflict', {}, 'KUBE_CONFLICT', undefined],
    [410, 'Expired', {}, 'KUBE_EXPIRED', undefined],
    [422, 'Invalid', {}, 'KUBE_REFUSED', undefined],
    [429, 'TooManyRequests', { 'retry-after': '7' }, 'KUBE_THROTTLED', 7_000],
    [429, 'TooManyRequests', {}, 'KUBE_THROTTLED', undefined],
    [500, 'InternalError', {}, 'KUBE_SERVER', undefined],
    [503, 'ServiceUnavailable', { 'retry-after': '2' }, 'KUBE_THROTTLED', 2_000],
    [503, 'ServiceUnavailable', {}, 'KUBE_SERVER', undefined],
    [504, 'Timeout', {}, 'KUBE_SERVER', undefined],
  ])('%i %s %o is %s', async (code, reason, headers, expected, retryAfterMs) => {
    api.fault('other', (_, response) => status(response, code, reason, headers as Record<string, string>));
    const error = await errorOf(connect().get(pods, 'shop', 'web-0', signal));
    expect(error.code).toBe(expected);
    expect(error.facts).toMatchObject({ status: code, reason });
    expect(error.facts.retryAfterMs).toBe(retryAfterMs);
  });

  test('an answer that is no JSON, a broken one and a reset are errors, not crashes', async () => {
    const kube = connect();
    api.fault('other', (_, response) => response.writeHead(200).end('<html>a proxy speaks</html>'));
    expect((await errorOf(kube.get(pods, 'shop', 'web-0', signal))).code).toBe('KUBE_SERVER');
    api.fault('other', (_, response) => response.writeHead(502).end('<html>bad gateway</html>'));
    expect((await errorOf(kube.get(pods, 'shop', 'web-0', signal))).code).toBe('KUBE_SERVER');
    api.fault('other', (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"metadata":');
      response.socket?.destroySoon();
    });
    expect((await errorOf(kube.get(pods, 'shop', 'web-0', signal))).code).toBe('KUBE_UNREACHABLE');
    api.fault('other', (_, response) => response.socket?.resetAndDestroy());
    const cut = await errorOf(kube.create(pods, { metadata: { name: 'x', namespace: 'y' } }, signal));
    expect(cut.code).toBe('KUBE_UNREACHABLE');
    // In words, because conditions, Events and notes of /readyz say it.
    expect(cut.message).toMatch(/^POST http.*\/pods failed: the connection was cut$/);
  });
});

describe('bounds', () => {
  test('a request without an answer is given up after its time', async () => {
    const clock = new VirtualClock();
    api.fault('other', () => {});
    const error = errorOf(connect(clock).get(pods, 'shop', 'web-0', signal));
    await until(() => api.requests.length === 1, { what: 'the request' });
    await clock.advance(limits.kubeRequestMs);
    expect((await error).code).toBe('KUBE_UNREACHABLE');
    // It stands beside the names of authorities, webhooks and Services.
    expect((await error).message).toBe(
      `GET /api/v1/namespaces/shop/pods/web-0: the Kubernetes API did not answer within ${limits.kubeRequestMs / 1_000} s`,
    );
  });

  test('a caller who gives up is answered at once', async () => {
    const giving = new AbortController();
    const call = connect().get(pods, 'shop', 'web-0', giving.signal);
    api.fault('other', () => {});
    await until(() => api.requests.length === 1, { what: 'the request' });
    giving.abort(new Error('enough'));
    const error = await errorOf(call);
    expect(error.facts.aborted).toBe(true);
    expect(error.code).toBe('KUBE_UNREACHABLE');
  });

  test('a request whose caller has waited as long as it may says that nothing was answered', async () => {
    api.fault('other', () => {});
    const error = await errorOf(connect().get(pods, 'shop', 'web-0', AbortSignal.timeout(50)));
    expect(error.message).toBe(
      'GET /api/v1/namespaces/shop/pods/web-0: the Kubernetes API did not answer in time',
    );
  });

  test('a connection that the server had closed meanwhile costs a new one, not an error', async () => {
    const kube = connect();
    for (let round = 0; round < 5; round += 1) {
      await kube.list(pods, {}, signal);
      api.fault('list', (_, response) => response.socket?.resetAndDestroy());
      await kube.list(pods, {}, signal);
    }
    expect(api.requests.length).toBe(15);
  });
});

describe('credentials', () => {
  test('a token file that was replaced is read again when the old token is refused', async () => {
    const tokenFile = api.file('token', 'first\n');
    api.writeKubeconfig({ tokenFile });
    const clock = new VirtualClock();
    const kube = connect(clock);
    await kube.list(pods, {}, signal);
    expect(api.requests.at(-1)?.headers.authorization).toBe('Bearer first');
    writeFileSync(tokenFile, 'second\n');
    api.fault('list', (_, response) => status(response, 401, 'Unauthorized'));
    await kube.list(pods, {}, signal);
    expect(api.requests.at(-1)?.headers.authorization).toBe('Bearer second');
  });

  test('a plugin is asked once for many requests, and again when its token is refused', async () => {
    const log = api.file('calls', '');
    const command = api.file(
      'plugin',
      `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> ${log}\nn=$(wc -l < ${log})\necho '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'$n'"}}'\n`,
    );
    api.writeKubeconfig({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' },
    });
    const clock = new VirtualClock();
    const kube = connect(clock);
    await Promise.all([1, 2, 3, 4].map(() => kube.list(pods, {}, signal)));
    expect(new Set(api.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer t1']));
    await clock.advance(10_000);
    api.fault('list', (_, response) => status(response, 401, 'Unauthorized'));
    await kube.list(pods, {}, signal);
    expect(api.requests.at(-1)?.headers.authorization).toBe('Bearer t2');
  });

  test('a token that is refused for good is a refusal, and is not looked up at each request', async () => {
    const kube = connect();
    const refuse = () => api.fault('any', (_, response) => status(response, 401, 'Unauthorized'));
    for (let count = 0; count < 6; count += 1) refuse();
    for (let round = 0; round < 3; round += 1) {
      expect((await errorOf(kube.list(pods, {}, signal))).facts.status).toBe(401);
    }
  });

  test('an API server whose certificate has another authority is trusted once the kubeconfig names that one', async () => {
    const before = await startKubeApi({ clock: systemClock, random: systemRandom });
    const now = await startKubeApi({ clock: systemClock, random: systemRandom });
    try {
      // The new server's address and token, and the old one's authority.
      const [stale, fresh] = [parse(before.kubeconfig()), parse(now.kubeconfig())];
      stale.clusters[0].cluster.server = fresh.clusters[0].cluster.server;
      stale.users = fresh.users;
      const write = (config: unknown) => writeFileSync(api.kubeconfig, JSON.stringify(config));
      write(stale);
      const clock = new VirtualClock();
      const kube = connect(clock);
      expect((await errorOf(kube.list(pods, {}, signal))).code).toBe('KUBE_UNREACHABLE');
      write(fresh);
      await clock.advance(6_000);
      expect((await kube.list(pods, {}, signal)).items).toEqual([]);
    } finally {
      await before.stop();
      await now.stop();
    }
  });

  test('a kubeconfig that cannot be used is refused with its name', () => {
    expect(() =>
      connectKube({ kubeconfig: '/nowhere/kubeconfig', clock: systemClock, random: systemRandom }),
    ).toThrow(/the kubeconfig \/nowhere\/kubeconfig cannot be used/);
    rmSync(api.kubeconfig);
    expect(() => connect()).toThrow(OrreryError);
  });
});
