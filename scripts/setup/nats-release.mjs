/**
 * The official build of nats-server, for machines whose packages we do not use: other Linux distributions and
 * macOS. It is fetched from its release page and used only if it is the very file that was released.
 */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run, SetupError, say } from './run.mjs';

const version = '2.14.5';
/**
 * SHA-256 of the archives, as the release lists them (SHA256SUMS of v2.14.5); two other projects that pin the
 * same files agree (nats-io/nats-docker, cashapp/hermit-packages).
 *
 * @type {Readonly<Record<string, string>>}
 */
const sums = {
  'darwin-amd64': 'f95c98d6b6ed2b63c5681b46b092c9585c99767d547cf495730c329234625e96',
  'darwin-arm64': 'ddd907854d9a2de834af133fa396915fe6442fe6d8909ae31390d1ea7a0fea50',
  'linux-amd64': '5e3b603d47c447bda1f77f9ac16dbf91c90aac4ff3681f8fbbc7201e4ed99355',
  'linux-arm64': '673a98d3faa79dde3f9ebf16d6dfac36a5f694e7ad2015e4954dd7939c85cd4c',
};
const releases = 'https://github.com/nats-io/nats-server/releases/download';

/** @param {NodeJS.Platform} platform @param {string} arch as Node has it @returns undefined: none is known */
export function buildFor(platform, arch) {
  const build = `${platform}-${arch === 'x64' ? 'amd64' : arch}`;
  const sha256 = sums[build];
  if (sha256 === undefined) return undefined;
  const name = `nats-server-v${version}-${build}`;
  return { name, sha256, url: `${releases}/v${version}/${name}.tar.gz` };
}

/**
 * Puts the server at `file`.
 *
 * @param {{ file: string, env: NodeJS.ProcessEnv, byHand: string, platform?: NodeJS.Platform, arch?: string
 * }} wanted
 */
export function fetchRelease({ file, env, byHand, platform = process.platform, arch = process.arch }) {
  const build = buildFor(platform, arch);
  if (build === undefined)
    throw new SetupError(`there is no build of nats-server for ${platform}-${arch}. ${byHand}`);
  const folder = dirname(file);
  const archive = join(folder, 'nats-server.tar.gz');
  mkdirSync(folder, { recursive: true });
  try {
    say(`fetching nats-server ${version} from its release page into ${folder} …`);
    // curl knows the proxies and authorities of the machine. Without a network it ends within seconds.
    const bounds = ['--connect-timeout', '10', '--max-time', '300', '--retry', '1'];
    run('curl', ['-fsSL', ...bounds, '-o', archive, build.url], { env, what: 'fetching nats-server' });
    check(archive, build.sha256);
    run('tar', ['-xzf', archive, '-C', folder], { env, what: 'unpacking nats-server' });
    renameSync(join(folder, build.name, 'nats-server'), file);
    chmodSync(file, 0o755);
  } catch (error) {
    throw error instanceof SetupError ? new SetupError(`${error.message}\nsetup: ${byHand}`) : error;
  } finally {
    rmSync(archive, { force: true });
    rmSync(join(folder, build.name), { recursive: true, force: true });
  }
}

/** @param {string} archive @param {string} sha256 */
export function check(archive, sha256) {
  const found = existsSync(archive)
    ? createHash('sha256').update(readFileSync(archive)).digest('hex')
    : 'nothing';
  if (found !== sha256)
    throw new SetupError(
      `the archive is not the one that was released: its SHA-256 is ${found}, not ${sha256}`,
    );
}
