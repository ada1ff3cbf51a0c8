/**
 * Fetches Debian packages with the machine's own apt in a separate configuration: it uses the mirror,
 * keyring, proxies and certificates that the machine already trusts, and changes nothing outside the working
 * copy (no root, no dpkg database).
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

/**
 * @typedef {object} Wanted
 * @property {string} tools the folder `.tools`
 * @property {string} name the folder in it that is made anew
 * @property {string} suite empty: the release that the machine itself is
 * @property {string} pkg one, or several with blanks between
 * @property {boolean} withDependencies those too that the machine does not have
 * @property {string} byHand what a person can do instead
 */

/** Whether this is a Debian whose mirror we know. */
export function hasDebianMirror() {
  return archiveOf(aptSources(), readIfThere('/etc/os-release')) !== undefined;
}

/** In the folder of what was fetched: a line with name and version for each package. */
export const versionsFile = 'PACKAGES';

/** @param {Wanted} wanted */
export function fetchWithApt({ tools, name, suite, pkg, withDependencies, byHand }) {
  const release = readIfThere('/etc/os-release');
  const archive = archiveOf(aptSources(), release);
  const own = /^VERSION_CODENAME="?([^"\n]*)"?$/m.exec(release)?.[1] ?? '';
  if (!archive) throw new SetupError(`there is no apt with a Debian mirror here. ${byHand}`);
  mkdirSync(tools, { recursive: true });
  for (const left of readdirSync(tools).filter((entry) => entry.startsWith(`apt-${name}-`))) {
    rmSync(join(tools, left), { recursive: true, force: true });
  }
  const work = mkdtempSync(join(tools, `apt-${name}-`));
  try {
    say(`fetching ${pkg} with apt (${archive.uri}, ${suite || own}) into ${join(tools, name)} …`);
    const source = renderSource(archive, suite || own);
    prepare(work, source, withDependencies, listsOf(tools, source));
    download(work, pkg, withDependencies);
    unpack(work, join(tools, name));
  } catch (error) {
    throw error instanceof SetupError ? new SetupError(`${error.message}\nsetup: ${byHand}`) : error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Source → folder with its package lists, which are fetched and read once for everything from it.
 *
 * @type {Map<string, string>}
 */
const fetchedLists = new Map();

/**
 * @param {string} tools
 * @param {string} source
 */
function listsOf(tools, source) {
  const known = fetchedLists.get(source);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tools, 'apt-lists-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  prepare(folder, source, false, folder);
  apt(folder, 'update');
  fetchedLists.set(source, folder);
  return folder;
}

/**
 * @param {string} work
 * @param {string} source
 * @param {boolean} knowsMachine whether apt is to know what is installed
 * @param {string} lists the folder that holds the lists of packages, and what apt made of them
 */
function prepare(work, source, knowsMachine, lists) {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'state', 'sources', 'none.d']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  writeFileSync(join(work, 'state', 'status'), knowsMachine ? readIfThere('/var/lib/dpkg/status') : '');
  writeFileSync(join(work, 'sources', 'debian.sources'), source);
  writeFileSync(join(work, 'apt.conf'), aptConfiguration(work, lists));
}

/**
 * @param {string} work
 * @param {string} pkg
 * @param {boolean} withDependencies
 */
function download(work, pkg, withDependencies) {
  const packages = pkg.split(' ');
  if (withDependencies) apt(work, 'install', '--download-only', '--no-install-recommends', '-y', ...packages);
  else apt(work, 'download', ...packages);
}

/**
 * @param {string} work
 * @param {string[]} args
 */
function apt(work, ...args) {
  run('apt-get', ['-c', join(work, 'apt.conf'), '-qq', ...args], { cwd: work, what: 'apt' });
}

/**
 * Read after the machine's own configuration, so its proxies and certificates stay.
 *
 * @param {string} work
 * @param {string} lists
 */
function aptConfiguration(work, lists) {
  return `Dir::State "${work}/state";
Dir::State::lists "${lists}/lists";
Dir::State::status "${work}/state/status";
Dir::Cache "${work}/cache";
Dir::Cache::srcpkgcache "${lists}/srcpkgcache.bin";
Dir::Etc::sourcelist "${work}/none";
Dir::Etc::sourceparts "${work}/sources";
Dir::Etc::preferences "${work}/none";
Dir::Etc::preferencesparts "${work}/none.d";
APT::Sandbox::User "root";
Debug::NoLocking "true";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear APT::Install::Post-Invoke;
`;
}

/**
 * @param {string} work
 * @param {string} target
 */
function unpack(work, target) {
  const cache = join(work, 'cache', 'archives');
  const debs = [work, cache].flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith('.deb') ? [join(folder, name)] : [])),
  );
  if (debs.length === 0) throw new SetupError('apt fetched no package');
  for (const deb of debs) run('dpkg-deb', ['-x', deb, join(work, 'root')], { what: 'dpkg-deb' });
  const versions = debs.map((deb) => run('dpkg-deb', ['-W', deb], { what: 'dpkg-deb' })).sort();
  writeFileSync(join(work, 'root', versionsFile), versions.join(''));
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
