/**
 * promtool, which tests the alert rules: that of the environment, that of the machine, or one fetched into
 * `.tools/promtool`. Only tests need it.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError } from './run.mjs';

/** Rules and their tests had their present form long before it. */
const suite = 'bookworm';
const byHand = 'Tests need promtool (of Prometheus): install it and put it on PATH, or set PROMTOOL to it.';

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 */
export function ensurePromtool(root, env) {
  if (promtool(root, env) !== undefined) return;
  if (env.PROMTOOL) throw new SetupError(`PROMTOOL=${env.PROMTOOL} is not there`);
  const pkg = 'prometheus';
  fetchWithApt({
    tools: join(root, '.tools'),
    name: 'promtool',
    suite,
    pkg,
    withDependencies: false,
    byHand,
  });
  if (promtool(root, env) === undefined) throw new SetupError(byHand);
}

/**
 * The program; undefined if there is none.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined}
 */
export function promtool(root, env) {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [...onPath, join(root, '.tools', 'promtool', 'usr', 'bin')];
  const places = env.PROMTOOL ? [env.PROMTOOL] : folders.map((folder) => join(folder, 'promtool'));
  return places.find((place) => existsSync(place));
}
