/**
 * buildah, which builds images without a daemon: that of the environment, that of the machine, or one fetched
 * into `.tools/buildah`. Only `npm run image` needs it.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError } from './run.mjs';

const byHand = 'Images are built with buildah: install it and put it on PATH, or set BUILDAH to it.';

/**
 * The program, and the environment that it needs.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ program: string, env: NodeJS.ProcessEnv }}
 */
export function ensureBuildah(root, env) {
  const own = { program: env.BUILDAH || 'buildah', env };
  if (runs(own)) return own;
  if (env.BUILDAH) throw new SetupError(`BUILDAH=${env.BUILDAH} does not run`);
  const tools = join(root, '.tools');
  const fetched = fetchedIn(join(tools, 'buildah'), env);
  if (runs(fetched)) return fetched;
  fetchWithApt({ tools, name: 'buildah', suite: '', pkg: 'buildah', withDependencies: true, byHand });
  if (!runs(fetched)) throw new SetupError(byHand);
  return fetched;
}

/** @param {{ program: string, env: NodeJS.ProcessEnv }} buildah */
function runs({ program, env }) {
  return spawnSync(program, ['--version'], { env }).status === 0;
}

/**
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} env
 */
function fetchedIn(folder, env) {
  const libraries = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((name) => join(folder, 'usr/lib', name));
  return {
    program: join(folder, 'usr/bin/buildah'),
    env: { ...env, LD_LIBRARY_PATH: libraries.join(':') },
  };
}
