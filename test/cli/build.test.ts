/** The built program, as the image runs it: plain JavaScript, without the sources. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { startNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { startKubeApi } from '../../packages/kube-api/server.ts';
import { packages } from '../../scripts/image/program.mjs';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type * as PageFilesModuleType from '../../src/inspector/http/page-files.ts';
import type * as KubeConnectionModuleType from '../../src/kube/api/kube-connection.ts';
import { builtPackage, saidInBuilding } from '../suite/package.ts';
import { blocksOf, follow, packed, pageOf } from './tutorial.ts';

type KubeConnectionModule = typeof KubeConnectionModuleType;
type PageFilesModule = typeof PageFilesModuleType;

const root = join(import.meta.dirname, '../..');
/** Its code is compiled already where others have run it. */
const dist = join(builtPackage(), 'dist');
/** A copy, for tests that write beside it. */
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-build-'));
  for (const name of ['package.json', 'dist'])
    cpSync(join(builtPackage(), name), join(dir, name), {
      recursive: true,
      // Whoever runs the program now writes there.
      filter: (path) => basename(path) !== 'compiled',
    });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const built = (...args: string[]) =>
  execFileSync(process.execPath, [join(dist, 'main.js'), ...args], { encoding: 'utf8' });

test('building has nothing to complain of', () => {
  expect(saidInBuilding()).toBe('');
});

test('the built program finds its parts and its version', () => {
  expect(built('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(built('--help')).toContain('orrery');
  expect(built('chart', 'pod', '--format', 'json')).toContain('"name": "pod"');
});

test('a replica of the built program starts, and ends when it is asked to while NATS is away', async () => {
  const kubeconfig = join(dir, 'kubeconfig');
  const cluster = { name: 'none', cluster: { server: 'http://127.0.0.1:1' } };
  const context = { name: 'none', context: { cluster: 'none', user: 'none' } };
  const parts = { clusters: [cluster], contexts: [context], users: [{ name: 'none', user: {} }] };
  writeFileSync(kubeconfig, JSON.stringify({ ...parts, 'current-context': 'none' }));
  const flags = ['--nats', 'nats://127.0.0.1:1', '--kubeconfig', kubeconfig, '--http', '127.0.0.1:0'];
  const replica = spawn(process.execPath, [join(dist, 'main.js'), 'run', ...flags]);
  const ended = once(replica, 'exit');
  let log = '';
  replica.stderr.on('data', (piece) => {
    log += piece;
    if (log.includes('NATS cannot be reached')) replica.kill('SIGTERM');
  });
  expect({ end: await ended, log }).toMatchObject({ end: [0, null] });
});

test.each([
  ['http://127.0.0.1:1', 'https://127.0.0.1:2', 'HttpsProxyAgent'],
  ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'HttpProxyAgent'],
  ['socks5://127.0.0.1:1', 'https://127.0.0.1:2', 'SocksProxyAgent'],
])('what is evaluated on use only is there: the proxy %s to %s', async (proxy, server, agent) => {
  const kubeconfig = join(dir, 'kubeconfig-proxy');
  const cluster = { name: 'far', cluster: { server, 'proxy-url': proxy } };
  const context = { name: 'far', context: { cluster: 'far', user: 'me' } };
  const parts = { clusters: [cluster], contexts: [context], users: [{ name: 'me', user: {} }] };
  writeFileSync(kubeconfig, JSON.stringify({ ...parts, 'current-context': 'far' }));
  const { kubeAccess } = (await import(join(dist, 'kube-connection.js'))) as KubeConnectionModule;
  const access = kubeAccess({ kubeconfig, clock: systemClock, random: systemRandom });
  const { proxy: used } = await access(false, new AbortController().signal);
  expect(used?.constructor.name).toBe(agent);
});

test('the licences of everything that is bundled are told', () => {
  const text = readFileSync(join(dist, 'third-party-licenses.txt'), 'utf8');
  expect(text).toMatch(/^xstate \d[^\n]+\(MIT\)$/m);
  expect(text).toMatch(/^@kubernetes\/client-node \d[^\n]+\(Apache-2.0\)$/m);
  expect(text).toContain('Permission is hereby granted, free of charge');
});

test('the built page is whole: each module that it asks for is there, and the drawings of the charts', async () => {
  const { createPageFiles } = (await import(join(dist, 'page-files.js'))) as PageFilesModule;
  const files = createPageFiles();
  const page = files.page().plain.toString('utf8');
  const paths = [...page.matchAll(/(?:href|src)="\/assets\/([^"]+)"/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => files.file(path) === null)).toEqual([]);
  expect(files.file('inspector/page/charts/pod.json')).not.toBeNull();
  expect(files.file('inspector/page/main.ts')).toBeNull();
});

test('the health of a proxier is a function of the package, for other programs', () => {
  const script = [
    "import { createProxierHealth } from 'orrery/proxier-health';",
    'const health = createProxierHealth({ timeoutMs: 5000 });',
    "health.updated('IPv4');",
    "health.queued('IPv4', Date.now() - 5000);",
    "console.log(health.answer('livez').status, health.isHealthy());",
    'health.stop();',
  ].join('\n');
  // A program finds the package by its name from within its own folder.
  const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: dir,
    encoding: 'utf8',
  });
  expect(answer).toBe('503 false\n');
  expect(existsSync(join(dir, 'dist/features/proxiers/proxier-health.d.ts'))).toBe(true);
});

test('the package holds neither the development cluster nor what only it needs', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files }] = JSON.parse(packed) as [{ files: readonly { readonly path: string }[] }];
  const outside = files
    .map(({ path }) => path)
    .filter((path) => /^(packages|src|test|scripts)\/|\.map$/.test(path));
  expect(outside).toEqual([]);
});

test('who installs the package gets with it what is not in the bundle, and nothing else', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  expect(Object.keys(dependencies).sort()).toEqual([...packages].sort());
});

test('on a Node that is too old it says so in one line', () => {
  const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'22.18.9'}})`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', old, join(dist, 'main.js'), '--help'], {
    encoding: 'utf8',
  });
  const said = 'error: orrery needs Node.js 22.19 or newer; this is 22.18.9\n';
  expect({ status, stderr }).toEqual({ status: 2, stderr: said });
});

test('without the development cluster `orrery dev` says so in one line', () => {
  // The same files, beside modules of which the workspaces are none.
  const bare = mkdtempSync(join(tmpdir(), 'orrery-bare-'));
  try {
    cpSync(join(dir, 'dist'), join(bare, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(bare, 'package.json'));
    mkdirSync(join(bare, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules')).filter((one) => one !== '@orrery'))
      symlinkSync(join(root, 'node_modules', name), join(bare, 'node_modules', name));
    const { status, stderr } = spawnSync(process.execPath, [join(bare, 'dist/main.js'), 'dev'], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(/^error: the development cluster is not part of an installation[^\n]+\n$/);
  } finally {
    rmSync(bare, { recursive: true, force: true });
  }
});

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

test.skipIf(!hasKubectl)(
  'the tutorial, followed word for word in an empty folder with the packed package, ends with a running operator',
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orrery-tutorial-'));
    const parts = { clock: systemClock, random: systemRandom, log: silentLog };
    const nats = await startNatsServer({ dir: join(folder, '.nats'), ...parts });
    const api = await startKubeApi(parts);
    try {
      writeFileSync(join(folder, '.kubeconfig'), api.kubeconfig());
      const env = {
        KUBECONFIG: join(folder, '.kubeconfig'),
        ORRERY_NATS: nats.url,
        ORRERY_HTTP: `127.0.0.1:${await freePort('127.0.0.1', 0)}`,
      };
      const page = pageOf(root);
      const blocks = blocksOf(page);
      const tarball = packed(dir, folder);
      const { code, said } = await follow(blocks, { folder, root, tarball, env });
      expect({ code, said: code === 0 ? '' : said }).toEqual({ code: 0, said: '' });
      expect(said).toContain('expiry, version 1: Deletes a ConfigMap when its time is over.');
      expect(said).toMatch(/pass 1\b/);
      expect(said).toMatch(/expiry\/default\/note.*note has a time to live/);
      expect(said).toMatch(/configmap\/note condition met/);
      const operator = blocks
        .find(({ what }) => what === 'expiry/feature.ts')
        ?.text.trimEnd()
        .split('\n');
      expect(operator?.length).toBeLessThanOrEqual(100);
    } finally {
      await Promise.all([api.stop(), nats.stop()]);
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('the tutorial names the package as it is packed', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(pageOf(root)).toContain(`npm install ./orrery-${version}.tgz`);
});
