/**
 * pebble, the ACME server that tests talk to: that of the environment, that of the machine, or one fetched
 * into `.tools/pebble`, with the DNS server for tests that comes with it. Only tests need it.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError } from './run.mjs';

/** The first Debian release whose pebble supports renewal information. */
const suite = 'forky';
const byHand =
  'Tests need pebble and pebble-challtestsrv: install them and put them on PATH, or set PEBBLE to the folder of both.';

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 */
export function ensurePebble(root, env) {
  if (pebbleFolder(root, env) !== undefined) return;
  if (env.PEBBLE) throw new SetupError(`PEBBLE=${env.PEBBLE} does not hold pebble and pebble-challtestsrv`);
  const pkg = 'pebble';
  fetchWithApt({ tools: join(root, '.tools'), name: 'pebble', suite, pkg, withDependencies: false, byHand });
  if (pebbleFolder(root, env) === undefined) throw new SetupError(byHand);
}

/**
 * The folder with both programs; undefined if there is none.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined}
 */
export function pebbleFolder(root, env) {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = env.PEBBLE ? [env.PEBBLE] : [...onPath, join(root, '.tools', 'pebble', 'usr', 'bin')];
  return folders.find((folder) =>
    ['pebble', 'pebble-challtestsrv'].every((name) => existsSync(join(folder, name))),
  );
}
