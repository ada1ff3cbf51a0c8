/**
 * kubectl, by which tests ask what people ask: the one of the environment, of the machine, or one fetched
 * into `.tools/kubectl`. Only tests need it, and those that do say so in one line where it is not there.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError, say } from './run.mjs';

/** Before it, Debian has none that reads OpenAPI v3. */
const suite = 'forky';
const byHand = 'Tests with kubectl need it: install 1.27 or newer and put it on PATH, or set KUBECTL to it.';

/**
 * Without it everything else can be tested: what cannot be fetched is said, and nothing ends.
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
