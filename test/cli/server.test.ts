/**
 * The command line without NATS: against the HTTP of a replica that asks Kubernetes who calls,
 * straight and through the service proxy of the development API, as `kubectl orrery` goes.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { ensureAll, ensureInspectorAccess } from '../../packages/dev-cluster/manifests.ts';
import { type KubeApi, startKubeApi } from '../../packages/kube-api/server.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import type { Transition } from '../../src/base/views.ts';
import { type HttpServer, startHttp } from '../../src/inspector/http/server.ts';
import { connectKube, type KubeConnection } from '../../src/kube/api/kube-connection.ts';
import { createKubeAuthorizer } from '../../src/kube/api/token-review.ts';
import { httpOptions, scriptedControl, scriptedLetters } from '../inspector/http-parts.ts';
import { inThisProcess, orrery, root, start } from './command.ts';

const { signal } = new AbortController();
let cwd: string;
let api: KubeApi;
let kube: KubeConnection;
let http: HttpServer;
let env: Record<string, string>;
let url: string;
const steps: Transition[] = [];
const control = scriptedControl();

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'orrery-server-'));
  api = await startKubeApi({ serviceCidr: '127.96.0.0/16', clock, random, log: silentLog });
  const kubeconfig = join(cwd, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig());
  kube = connectKube({ kubeconfig, clock, random });
  await ensureInspectorAccess(kube, signal);
  const stored = { history: async () => ({ steps, next: null }) };
  const authorize = createKubeAuthorizer(kube, clock);
  http = await startHttp(httpOptions({ authorize, control, stored, letters: scriptedLetters() }));
  url = `http://127.0.0.1:${http.address.port}`;
  await ensureAll(kube, installation(http.address.port), signal);
  env = { KUBECONFIG: kubeconfig };
});

afterAll(async () => {
  kube?.close();
  await http?.close();
  await api?.stop();
  rmSync(cwd, { recursive: true, force: true });
});

/** The Service as an installation has it, and an endpoint of it that is this process. */
function installation(port: number, name = 'orrery', namespace = 'orrery') {
  const metadata = { name, namespace };
  const labels = { 'kubernetes.io/service-name': name };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        ports: [
          { name: 'http', port: 80 },
          { name: 'acme-http', port: 8089 },
        ],
      },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels },
      addressType: 'IPv4',
      ports: [{ name: 'http', port, protocol: 'TCP' }],
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
    },
  ];
}

const step: Transition = {
  id: 'pod/shop/web-0',
  rev: 3,
  fence: 7,
  replica: 'r1',
  at: clock.now(),
  event: { type: 'pod.observed' },
  cause: null,
  from: null,
  to: 'proving.asking',
  effects: [],
};

describe.each([
  ['straight to its address', () => url],
  ['through the Kubernetes API', () => 'kube'],
])('%s', (_, server) => {
  const ask = (...args: string[]) => inThisProcess([...args, '--server', server()], env, cwd);

  test('get, shards and dead letters are read', async () => {
    const got = await ask('get');
    expect(got).toMatchObject({ code: 0, err: '' });
    expect(got.out).toMatch(/pod\/shop\/web-0 +waiting +gated\.proving\.asking/);
    expect((await ask('explain', 'pods', 'web-0')).out).toContain('it is asked for');
    expect(await ask('explain', 'pod/shop/web-1')).toMatchObject({
      code: 1,
      err: 'error: there is no actor pod/shop/web-1 (is pod/shop/web-0 meant?): "orrery get pod -n shop" lists those there are\n',
    });
    expect((await ask('dead')).out).toContain('ACTOR_MISSING');
  });

  test('the flag may stand before the command', async () => {
    const flags = ['--server', server(), `--kubeconfig=${env.KUBECONFIG}`];
    expect(await inThisProcess([...flags, 'get', '-o', 'wide'], {}, cwd)).toMatchObject({ code: 0, err: '' });
    const ofShop = await inThisProcess(['-n', 'shop', ...flags, 'get', 'pods'], {}, cwd);
    expect(ofShop).toMatchObject({ code: 0, err: '' });
  });

  test('an event is sent, a letter dropped, each by an account that may', async () => {
    const sent = await ask('send', 'pod/shop/web-0', 'pod.recheck');
    expect(sent).toMatchObject({ code: 0, out: 'pod/shop/web-0 took it and nothing changed\n' });
    expect(await ask('dead', 'drop', '17')).toMatchObject({ code: 0 });
    expect((await ask('dead', 'drop', '18')).err).toContain('there is no such letter');
  });

  test('events are read, and followed', async () => {
    steps.splice(0, steps.length, { ...step, at: clock.now() });
    expect((await ask('events')).out.match(/pod\/shop\/web-0 {2}/g)).toHaveLength(1);
    const following = start(['events', '--follow', '--server', server()], { cwd, env });
    const happens = () => {
      steps.push({ ...step, rev: steps.length + 3, at: clock.now() });
      return following.out();
    };
    await expect.poll(happens, { timeout: 20_000, interval: 200 }).toContain('web-0');
    following.child.kill('SIGINT');
    expect((await following.ended).code).toBe(0);
    steps.length = 0;
  });
});

test('who may not look is told so, with what to do', async () => {
  const without = { ...env, ORRERY_TOKEN: 'nobody', ORRERY_SERVER: url };
  const { code, err } = await inThisProcess(['get'], without, cwd);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^error: http:\/\/127\.0\.0\.1:\d+ refused: .*--token-file or ORRERY_TOKEN/),
  ]);
  expect(err.match(/orrery token/g), 'how to get one is said once').toHaveLength(1);
});

test.each([
  [['--server', 'ftp://x'], '--server: "ftp://x" is not allowed; allowed: https://HOST'],
  [['--server', 'http://orrery.example.com'], 'the token would be sent unencrypted'],
  [['--server', 'kube', '--nats', 'nats://127.0.0.1:1'], '--server and --nats cannot be used together'],
  [['--server', 'kube', '--context', 'nowhere'], 'it has no context nowhere, only orrery-dev'],
])('orrery get %j is refused', async (args, message) => {
  const { code, err } = await inThisProcess(['get', ...args], env, cwd);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});

test.each([
  [
    'kube:orrery/orrery:acme-http',
    'no endpoints available for service',
    'no replica is ready: `kubectl get pods`',
  ],
  ['kube:elsewhere', 'not found', 'is Orrery installed there? --server kube:NAMESPACE names another place'],
])('%s leads to no Orrery, and that is told with what to do', async (server, message, help) => {
  const { code, err } = await inThisProcess(['get', '--server', server], env, cwd);
  expect([code, err]).toEqual([1, expect.stringContaining(message)]);
  expect(err).toContain(help);
});

test('an installation of another name has its own accounts, and one with accounts alone is found too', async () => {
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'platform-orrery-inspector-view' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'orrery-inspector-view' },
    subjects: [{ kind: 'ServiceAccount', name: 'platform-orrery-inspector-view', namespace: 'platform' }],
  };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount' };
  await ensureAll(
    kube,
    [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } },
      { ...account, metadata: { name: 'platform-orrery-inspector-view', namespace: 'platform' } },
      binding,
      ...installation(http.address.port, 'platform-orrery', 'platform'),
      ...installation(http.address.port, 'inner', 'orrery'),
    ],
    signal,
  );
  const who = async (server: string) =>
    (await inThisProcess(['login', server], { ...env, HOME: cwd }, cwd)).out;
  expect(await who('kube:platform/platform-orrery:http')).toContain(
    'you are system:serviceaccount:platform:platform-orrery-inspector-view and may look',
  );
  expect(await who('kube:orrery/inner:http')).toContain('orrery:orrery-inspector-view and may look');
  await inThisProcess(['logout'], { ...env, HOME: cwd }, cwd);
});

test('login remembers where, and no token; logout forgets it', async () => {
  const home = { ...env, HOME: cwd };
  const login = await inThisProcess(['login', 'kube'], home, cwd);
  expect(login.out).toMatch(/you are system:serviceaccount:orrery:orrery-inspector-view and may look\n/);
  const file = join(cwd, '.config/orrery/server.json');
  expect(statSync(file).mode & 0o077).toBe(0);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ server: 'kube' });
  expect((await inThisProcess(['get'], home, cwd)).out).toContain('pod/shop/web-0');
  expect(await inThisProcess(['logout'], home, cwd)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^forgotten: /),
  });
  expect(await inThisProcess(['logout'], home, cwd)).toMatchObject({
    code: 0,
    out: 'nothing was remembered\n',
  });
  expect((await inThisProcess(['get'], home, cwd)).err).toContain('no NATS at');
});

test('as kubectl-orrery it asks the cluster of the kubeconfig', async () => {
  const plugin = join(cwd, 'kubectl-orrery');
  rmSync(plugin, { force: true });
  symlinkSync(join(root, 'src/main.ts'), plugin);
  const { out, code } = await orrery(['get'], { cwd, env, program: plugin });
  expect([code, out]).toEqual([0, expect.stringContaining('pod/shop/web-0')]);
});

test('open serves the page to the browser that has the link, and to nobody else', async () => {
  const opened = start(['open', '--server', 'kube', '--no-browser'], { cwd, env });
  await expect.poll(opened.out, { timeout: 20_000 }).toMatch(/http:\S+\n/);
  const link = new URL(/http:\S+/.exec(opened.out())?.[0] ?? '');
  expect((await fetch(`${link.origin}/`)).status).toBe(401);
  const let_in = await fetch(link, { redirect: 'manual' });
  const cookie = (let_in.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const page = await fetch(`${link.origin}/`, { headers: { cookie, accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script type="module"')]);
  const session = await fetch(`${link.origin}/api/v1/session`, { headers: { cookie } });
  expect(await session.json()).toMatchObject({ maySend: false });
  const foreign = await fetch(`${link.origin}/api/v1/actors`, {
    headers: { cookie, origin: 'https://evil.example' },
  });
  expect(foreign.status).toBe(403);
  const socket = new WebSocket(`${link.origin.replace('http', 'ws')}/api/v1/inspect`, {
    headers: { cookie, origin: link.origin },
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.terminate();
  opened.child.kill('SIGINT');
  expect((await opened.ended).code).toBe(0);
});
