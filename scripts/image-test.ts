/**
 * Proves the image (`npm run image:test`, Linux): two builds give the same bytes, nothing in it could build
 * or run anything else, and its replica serves as an unprivileged user on files that nobody can write.
 *
 * The image is unpacked from its layers and started in a mount namespace of its own, beside a NATS server and
 * a development API server: no container runtime is needed. Started by root it runs as the image's user,
 * otherwise as the caller within a user namespace.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDefinitions, readManifests } from '../packages/dev-cluster/manifests.ts';
import { freePort } from '../packages/dev-cluster/network/ports.ts';
import { startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { startKubeApi } from '../packages/kube-api/server.ts';
import { sleep, systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { connectKube } from '../src/kube/api/kube-connection.ts';

const root = join(import.meta.dirname, '..');
const work = join(root, 'build/image');
const place = join(work, 'unpacked');
const stop = new AbortController();
const startMs = 60_000;

function check(what: string, holds: boolean, found: unknown = ''): void {
  process.stdout.write(`${holds ? 'ok' : 'NOT OK'}   ${what}\n`);
  if (!holds) throw new Error(`${what}: ${String(found)}`);
}

function build(): string {
  execFileSync(process.execPath, [join(root, 'scripts/image.mjs')], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return readFileSync(join(work, 'digest'), 'utf8').trim();
}

interface Blob {
  readonly digest: string;
}
interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly WorkingDir: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
}

const blob = ({ digest }: Blob) => join(work, 'oci/blobs', digest.replace(':', '/'));
const json = <T>(file: string) => JSON.parse(readFileSync(file, 'utf8')) as T;

/**
 * Lays out the layers of the image.
 * @returns its configuration
 */
function unpack(): ImageConfig['config'] {
  const [manifest] = json<{ manifests: Blob[] }>(join(work, 'oci/index.json')).manifests;
  if (manifest === undefined) throw new Error('the layout holds no image');
  const { config, layers } = json<{ config: Blob; layers: Blob[] }>(blob(manifest));
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  for (const layer of layers) execFileSync('tar', ['-xf', blob(layer), '-C', place]);
  return json<ImageConfig>(blob(config)).config;
}

/** Executable files, by their paths in the image. */
function programs(): string[] {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length))
    .filter(
      (path) => /^\/(usr\/)?s?bin\//.test(path) || /\.(a|h|node|ts|map)$/.test(path) || path.endsWith('/sh'),
    );
}

/** Runs the image's command, which sees only the image's files, may write none of them, and has no rights. */
function start(image: ImageConfig['config'], settings: string, env: Record<string, string>): ChildProcess {
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? `setpriv --no-new-privs chroot --userspec=${image.User} --groups=` : 'chroot';
  const [program = '', ...args] = [...image.Entrypoint, ...image.Cmd];
  const command = [
    join('/usr/bin', program),
    ...args.map((one) => (one.includes('/') ? join(image.WorkingDir, one) : one)),
  ];
  const script = `set -e
mount --bind "${place}" "${place}"
mount --bind "${settings}" "${place}/run"
mount --bind /proc "${place}/proc"
mount -o remount,bind,ro "${place}"
mount -o remount,bind,ro "${place}/run"
exec ${user} "${place}" ${command.join(' ')}`;
  const namespaces = isRoot ? ['--mount'] : ['--mount', '--user', '--map-root-user'];
  return spawn('unshare', [...namespaces, 'sh', '-c', script], { env, stdio: ['ignore', 'ignore', 'pipe'] });
}

async function answers(url: string, child: ChildProcess): Promise<Response> {
  const deadline = systemClock.monotonic() + startMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the replica ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return answer;
    if (systemClock.monotonic() > deadline)
      throw new Error(`${url}: ${answer ? await answer.text() : 'no answer'}`);
    await sleep(systemClock, 100, stop.signal);
  }
}

async function serves(image: ImageConfig['config']): Promise<void> {
  const settings = join(work, 'settings');
  mkdirSync(settings, { recursive: true });
  const nats = await startNatsServer({ dir: join(work, 'nats') });
  const api = await startKubeApi({ clock: systemClock, random: systemRandom });
  const kubeconfig = join(settings, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig(), { mode: 0o644 });
  const kube = connectKube({ clock: systemClock, random: systemRandom, log: silentLog, kubeconfig });
  await ensureDefinitions(kube, await readManifests(join(root, 'deploy/crds')), systemClock, stop.signal);
  const port = await freePort('127.0.0.1', 0);
  const began = systemClock.monotonic();
  const child = start(image, settings, {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    NATS_URL: nats.url,
    KUBECONFIG: '/run/kubeconfig',
    ORRERY_HTTP: `127.0.0.1:${port}`,
    ORRERY_ACME_HTTP: '127.0.0.1:0',
    ORRERY_REPLICA: 'image-0',
    // On loopback. Other tests try who may look.
    ORRERY_INSPECTOR_AUTH: 'none',
    // Tests also that features can be switched off.
    ORRERY_WITHOUT: 'certificates,releases',
    NODE_OPTIONS: '--max-old-space-size=640 --max-semi-space-size=8',
    MALLOC_ARENA_MAX: '1',
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  try {
    const ready = await answers(`http://127.0.0.1:${port}/readyz`, child).catch((error) => {
      throw new Error(`${error}\n${said}`);
    });
    const took = Math.round(systemClock.monotonic() - began);
    check(`/readyz says 200, ${took} ms after the start`, ready.ok);
    for (const path of ['/', '/assets/vendor/preact.js', '/assets/vendor/inter.woff2']) {
      const served = await fetch(`http://127.0.0.1:${port}${path}`);
      check(`${path} is served`, served.ok, `${served.status} ${await served.text()}`);
    }
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    if (process.getuid?.() === 0)
      check('it runs as the user of the image', field('Uid') === '65532', field('Uid'));
    if (process.getuid?.() === 0)
      check('it has no capability', Number(`0x${field('CapEff')}`) === 0, field('CapEff'));
    check('nothing complained of a file that cannot be written', !/EROFS|EACCES/.test(said), said);
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const [code] = await gone;
    check('SIGTERM ends it with 0', code === 0, `${code}\n${said}`);
  } finally {
    child.kill('SIGKILL');
    kube.close();
    await api.stop();
    await nats.stop();
  }
}

process.stdout.write('building the image twice; each takes a minute or more\n');
const [first, second] = [build(), build()];
check(`built twice, it is the same: ${first}`, first === second, second);
const image = unpack();
check('one program is in it, and nothing to build with', programs().join() === '/usr/bin/node', programs());
check('it says who may run it', image.User === '65532:65532', image.User);
check(
  'its labels name release, commit and time',
  ['version', 'revision', 'created'].every(
    (label) => (image.Labels[`org.opencontainers.image.${label}`] ?? '') !== '',
  ),
);
const contents = json<{ packages: { name: string; versionInfo: string }[] }>(
  join(place, 'usr/share/sbom/orrery.spdx.json'),
);
check(
  `it lists the ${contents.packages.length} parts that it is made of`,
  contents.packages.length > 50 && !contents.packages.some(({ versionInfo }) => versionInfo === 'unknown'),
);
await serves(image);
