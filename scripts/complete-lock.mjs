/**
 * Adds to package-lock.json the packages for other platforms that a partial mirror did not know.
 *
 * A mirror may not carry, say, the macOS build of a tool; `npm install` then leaves it out of the lock and `npm ci`, on any
 * machine, refuses the lock as incomplete. The added entries say version and platform; npm fills in the rest when such a
 * machine installs. Run it after `npm install` when test/tidy.test.ts asks for it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * @typedef {{ version?: string, dev?: boolean, optional?: boolean, os?: string[], cpu?: string[], libc?: string[],
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

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = new URL('../package-lock.json', import.meta.url);
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, `${JSON.stringify(complete(lock), null, 2)}\n`);
}
