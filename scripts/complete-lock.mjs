/**
 * Adds to package-lock.json the packages for other platforms that a partial mirror did not have.
 *
 * If a mirror lacks, say, the macOS build of a tool, `npm install` leaves it out of the lock and `npm ci`
 * refuses the lock as incomplete, on any machine. The added entries state version and platform, and the
 * integrity from the registry. If the registry does not know it (a partial mirror again), nothing is
 * invented: the script names the package and ends with 1. npm installs such packages unchecked on their
 * platforms until somebody runs the script with a registry that knows them; whatever the image and CI are
 * built from is always checked. `withoutIntegrity` names these packages, and test/tidy.test.ts keeps that
 * list true. Run the script after `npm install` when that test asks for it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Optional builds for platforms other than ours. The registry with which the lock was made answers 404 for
 * all of them (`npm view <name>@<version> dist.integrity`).
 */
export const withoutIntegrity = [
  '@biomejs/cli-android-arm64',
  '@biomejs/cli-android-x64',
  '@biomejs/cli-darwin-arm64',
  '@biomejs/cli-darwin-x64',
  '@biomejs/cli-linux-arm64-musl',
  '@biomejs/cli-linux-x64-musl',
  '@biomejs/cli-win32-arm64',
  '@biomejs/cli-win32-x64',
  '@msgpackr-extract/msgpackr-extract-darwin-arm64',
  '@msgpackr-extract/msgpackr-extract-darwin-x64',
  '@msgpackr-extract/msgpackr-extract-linux-arm',
  '@msgpackr-extract/msgpackr-extract-win32-x64',
];

/**
 * @typedef {{ version?: string, dev?: boolean, optional?: boolean, os?: string[], cpu?: string[], libc?:
 * string[],
 *   integrity?: string, link?: boolean,
 *   optionalDependencies?: Record<string, string> }} Locked
 * @typedef {{ packages: Record<string, Locked> }} Lock
 */

/**
 * Optional packages that the lock asks for and does not hold: name → version and who asks.
 *
 * @param {Lock} lock
 */
export function missingOptional(lock) {
  const missing = new Map();
  for (const asker of Object.values(lock.packages)) {
    for (const [name, version] of Object.entries(asker.optionalDependencies ?? {})) {
      if (!lock.packages[`node_modules/${name}`]) missing.set(name, { version, asker });
    }
  }
  return missing;
}

/**
 * @param {Lock} lock
 * @returns {Lock}
 */
export function complete(lock) {
  const packages = { ...lock.packages };
  for (const [name, { version, asker }] of missingOptional(lock)) {
    const platform = /(android|darwin|linux|win32)-(arm64|arm|x64)(-musl)?$/.exec(name);
    if (!platform)
      throw new Error(`${name} is missing in the lock and no build for a platform: run npm install`);
    const [, os = '', cpu = '', musl] = platform;
    packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(asker.dev ? { dev: true } : {}),
      ...(musl ? { libc: ['musl'] } : {}),
      optional: true,
      os: [os],
    };
  }
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lock, packages: Object.fromEntries(sorted) };
}

/**
 * Names in the lock whose content nothing checks.
 *
 * @param {Lock} lock
 */
export function unchecked(lock) {
  return Object.entries(lock.packages).flatMap(([path, { link, integrity, version }]) => {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    return name === undefined || link || integrity ? [] : [{ path, name, version: version ?? '' }];
  });
}

/**
 * @param {Lock} lock
 * @param {(name: string, version: string) => string} ask for the integrity; empty: nobody knows it
 * @returns {Lock}
 */
export function withIntegrity(lock, ask) {
  const packages = { ...lock.packages };
  for (const { path, name, version } of unchecked(lock)) {
    const integrity = ask(name, version);
    if (/^sha512-/.test(integrity)) packages[path] = { ...packages[path], integrity };
  }
  return { ...lock, packages };
}

/** @param {string} name @param {string} version */
function askRegistry(name, version) {
  try {
    return execFileSync('npm', ['view', `${name}@${version}`, 'dist.integrity'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = new URL('../package-lock.json', import.meta.url);
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const completed = withIntegrity(complete(lock), askRegistry);
  writeFileSync(file, `${JSON.stringify(completed, null, 2)}\n`);
  const left = unchecked(completed).map(({ name, version }) => `${name}@${version}`);
  if (left.length > 0) {
    process.stderr.write(`the registry knows no integrity of ${left.join(', ')}\n`);
    process.exitCode = 1;
  }
}
