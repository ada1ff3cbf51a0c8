/**
 * Programs of Debian, fetched into `.tools/` with the machine's own apt in a configuration of its own: mirror, keyring, proxies and
 * certificates are those that the machine already trusts, and nothing outside the working copy changes (no root, no dpkg database).
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
import { join } from 'node:path';
import { archiveOf, renderSource } from './apt-sources.mjs';
import { run, SetupError, say } from './run.mjs';

/** The first Debian release whose nats-server is new enough, and whose pebble knows renewal information. */
const suite = 'forky';

/**
 * @param {object} what
 * @param {string} what.tools folder of fetched tools
 * @param {string} what.name the tool's folder in it
 * @param {string} what.packageName
 * @param {string} what.byHand what a person can do where this cannot
 */
export function fetchWithApt({ tools, name, packageName, byHand }) {
  const archive = archiveOf(aptSources(), readIfThere('/etc/os-release'));
  if (!archive) throw new SetupError(`there is no apt with a Debian mirror here. ${byHand}`);
  mkdirSync(tools, { recursive: true });
  for (const left of readdirSync(tools).filter((name) => name.startsWith('apt-'))) {
    rmSync(join(tools, left), { recursive: true, force: true });
  }
  const work = mkdtempSync(join(tools, 'apt-'));
  try {
    say(`fetching ${packageName} with apt (${archive.uri}, ${suite}) into ${join(tools, name)} …`);
    download(work, packageName, renderSource(archive, suite));
    unpack(work, join(tools, name));
  } catch (error) {
    throw error instanceof SetupError ? new SetupError(`${error.message}\nsetup: ${byHand}`) : error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} work
 * @param {string} packageName
 * @param {string} source
 */
function download(work, packageName, source) {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'state', 'sources']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  writeFileSync(join(work, 'state', 'status'), '');
  writeFileSync(join(work, 'sources', 'debian.sources'), source);
  writeFileSync(join(work, 'apt.conf'), aptConfiguration(work));
  const apt = (/** @type {string[]} */ ...args) =>
    run('apt-get', ['-c', join(work, 'apt.conf'), '-qq', ...args], { cwd: work, what: 'apt' });
  apt('update');
  apt('download', packageName);
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
