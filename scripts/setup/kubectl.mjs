/**
 * kubectl, with which tests ask what people ask: that of the environment, that of the machine, or one fetched
 * into `.tools/kubectl`. Only tests need it; without it they say so in one line.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError, say } from './run.mjs';

/** The first Debian release whose kubectl reads OpenAPI v3. */
const suite = 'forky';
const byHand = 'Tests with kubectl need it: install 1.27 or newer and put it on PATH, or set KUBECTL to it.';

/**
 * Everything else can be tested without it, so a failed fetch is reported and ends nothing.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 */
export function ensureKubectl(root, env) {
  if (findKubectl(root, env) !== undefined) return;
  if (env.KUBECTL) throw new SetupError(`KUBECTL=${env.KUBECTL} is not there`);
  try {
    fetchWithApt({
      ...{ tools: join(root, '.tools'), name: 'kubectl', suite, pkg: 'kubectl' },
      ...{ withDependencies: false, byHand },
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`${error.message}\nsetup: going on without it`);
  }
}

/**
 * The program; undefined if there is none.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined}
 */
export function findKubectl(root, env) {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [...onPath, join(root, '.tools', 'kubectl', 'usr', 'bin')];
  const places = env.KUBECTL ? [env.KUBECTL] : folders.map((folder) => join(folder, 'kubectl'));
  return places.find((place) => existsSync(place));
}
