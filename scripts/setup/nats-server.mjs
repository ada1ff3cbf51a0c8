/**
 * nats-server: that of the environment, that of the machine, or one fetched into `.tools/nats` – from
 * packages on Debian, elsewhere the official build.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt, hasDebianMirror } from './apt.mjs';
import { fetchRelease } from './nats-release.mjs';
import { isAtLeast, SetupError, versionOf } from './run.mjs';

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
  const pkg = 'nats-server';
  if (!hasDebianMirror()) fetchRelease({ file: fetched, env, byHand });
  else
    fetchWithApt({ tools: join(root, '.tools'), name: 'nats', suite, pkg, withDependencies: false, byHand });
  if (!isAtLeast(versionOf(fetched), least)) throw new SetupError(`${fetched} does not run. ${byHand}`);
}

/** @param {NodeJS.ProcessEnv} env */
function onPath(env) {
  return (env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
}

const byHand = `Orrery needs nats-server ${least.join('.')} or newer: install it and put it on PATH, or set NATS_SERVER to its path.`;
