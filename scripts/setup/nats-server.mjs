/**
 * nats-server: the one of the environment, of the machine, or one fetched into `.tools/nats`.
 *
 * Fetched with the machine's own apt in a configuration of its own: mirror, keyring, proxies and certificates are those that
 * the machine already trusts, and nothing outside the working copy changes (no root, no dpkg database).
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { archiveOf, renderSource } from './apt-sources.mjs';
import { isAtLeast, run, SetupError, say, versionOf } from './run.mjs';

/** Orrery relies on what came with 2.12 (see docs/operating.md). */
const least = /** @type {const} */ ([2, 12]);
/** The first Debian release whose nats-server is new enough. */
const suite = 'forky';

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 */
export function ensureNatsServer(root, env) {
  if (env.NATS_SERVER) {
    if (isAtLeast(versionOf(env.NATS_SERVER), least)) return;
    throw new SetupError(
      `NATS_SERVER=${env.NATS_SERVER} is no nats-server of version ${least.join('.')} or newer`,
    );
  }
  const fetched = join(root, '.tools', 'nats', 'usr', 'sbin', 'nats-server');
  if ([...onPath(env), fetched].some((file) => existsSync(file) && isAtLeast(versionOf(file), least))) return;
  fetchWithApt(join(root, '.tools'));
  if (!isAtLeast(versionOf(fetched), least)) throw new SetupError(`${fetched} does not run. ${byHand}`);
}

/** @param {NodeJS.ProcessEnv} env */
function onPath(env) {
  return (env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
}

const byHand = `Orrery needs nats-server ${least.join('.')} or newer: install it and put it on PATH, or set NATS_SERVER to its path.`;

/** @param {string} tools */
function fetchWithApt(tools) {
  const archive = archiveOf(aptSources(), readIfThere('/etc/os-release'));
  if (!archive) throw new SetupError(`there is no apt with a Debian mirror here. ${byHand}`);
  mkdirSync(tools, { recursive: true });
  for (const left of readdirSync(tools).filter((name) => name.startsWith('apt-'))) {
    rmSync(join(tools, left), { recursive: true, force: true });
  }
  const work = mkdtempSync(join(tools, 'apt-'));
  try {
    say(`fetching nats-server with apt (${archive.uri}, ${suite}) into ${join(tools, 'nats')} …`);
    download(work, renderSource(archive, suite));
    unpack(work, join(tools, 'nats'));
  } catch (error) {
    throw error instanceof SetupError ? new SetupError(`${error.message}\nsetup: ${byHand}`) : error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} work
 * @param {string} source
 */
function download(work, source) {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'state', 'sources']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  writeFileSync(join(work, 'state', 'status'), '');
  writeFileSync(join(work, 'sources', 'debian.sources'), source);
  writeFileSync(join(work, 'apt.conf'), aptConfiguration(work));
  const apt = (/** @type {string[]} */ ...args) =>
    run('apt-get', ['-c', join(work, 'apt.conf'), '-qq', ...args], { cwd: work, what: 'apt' });
  apt('update');
  apt('download', 'nats-server');
}

/**
 * Read after the machine's own configuration, so proxies and certificates of the machine stay.
 *
 * @param {string} work
 */
function aptConfiguration(work) {
  return `Dir::State "${work}/state";
Dir::State::lists "${work}/lists";
Dir::State::status "${work}/state/status";
Dir::Cache "${work}/cache";
Dir::Etc::sourcelist "${work}/none";
Dir::Etc::sourceparts "${work}/sources";
Dir::Etc::preferences "${work}/none";
Dir::Etc::preferencesparts "${work}/none.d";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`;
}

/**
 * @param {string} work
 * @param {string} target
 */
function unpack(work, target) {
  const deb = readdirSync(work).find((name) => name.endsWith('.deb'));
  if (!deb) throw new SetupError('apt fetched no package');
  run('dpkg-deb', ['-x', join(work, deb), join(work, 'root')], { what: 'dpkg-deb' });
  rmSync(target, { recursive: true, force: true });
  renameSync(join(work, 'root'), target);
}

/** The machine's lists of package sources: name of the file → its text. */
function aptSources() {
  const parts = '/etc/apt/sources.list.d';
  const names = existsSync(parts) ? readdirSync(parts).sort() : [];
  const files = ['/etc/apt/sources.list', ...names.map((name) => join(parts, name))];
  return new Map(files.map((file) => [file, readIfThere(file)]));
}

/** @param {string} file */
function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
