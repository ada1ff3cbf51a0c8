/**
 * named, the name server BIND, to which tests send updates: that of the environment, that of the machine, or
 * one fetched into `.tools/bind`. Only tests need it; without it they say so in one line.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError, say } from './run.mjs';

const byHand = 'Tests of RFC 2136 need named (BIND 9): install it and put it on PATH, or set NAMED to it.';

/**
 * Everything else can be tested without it, so a failed fetch is reported and ends nothing.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 */
export function ensureBind(root, env) {
  if (named(root, env) !== undefined) return;
  if (env.NAMED) throw new SetupError(`NAMED=${env.NAMED} is not there`);
  try {
    fetchWithApt({
      tools: join(root, '.tools'),
      name: 'bind',
      suite: '',
      pkg: 'bind9',
      withDependencies: true,
      byHand,
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`${error.message}\nsetup: going on without it`);
  }
}

/**
 * The program and the folders of its libraries; undefined if there is none.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ program: string, libraries: string } | undefined}
 */
export function named(root, env) {
  const onPath = [...(env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), '/usr/sbin'];
  const installed = (env.NAMED ? [env.NAMED] : onPath.map((folder) => join(folder, 'named'))).find((place) =>
    existsSync(place),
  );
  if (installed !== undefined) return { program: installed, libraries: '' };
  const own = join(root, '.tools', 'bind');
  const program = join(own, 'usr', 'sbin', 'named');
  if (!existsSync(program)) return undefined;
  const triples = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((triple) => join(own, 'usr', 'lib', triple));
  return { program, libraries: triples.filter((folder) => existsSync(folder)).join(delimiter) };
}
