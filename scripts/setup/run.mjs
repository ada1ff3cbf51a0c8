/** Runs other programs during set-up, and says in one line what went wrong. */
import { spawnSync } from 'node:child_process';

/** Something that the person at the terminal has to know; the message is all of it. */
export class SetupError extends Error {}

/** Long enough for a slow line, short enough to notice a dead one. */
const timeoutMs = 10 * 60_000;

/** What programs write when they reach no host. */
const offline =
  /EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|Temporary failure resolving|Could not (resolve|connect)|Network is unreachable/;
const networkHint =
  'setup: the network could not be reached. Set-up needs it the first time only, to install what is named above.';

/** @param {string} text */
export function say(text) {
  process.stdout.write(`setup: ${text}\n`);
}

/**
 * Runs a program to its end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, what: string }} options
 * @returns {string} what it wrote on its standard output
 */
export function run(command, args, { cwd, env = process.env, what }) {
  const result = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout: timeoutMs });
  if (result.error) throw new SetupError(`${what}: ${command}: ${result.error.message}`);
  if (result.status !== 0) {
    const said = `${result.stderr}\n${result.stdout}`.trim().split('\n').slice(0, 12).join('\n  ');
    const how = `"${command} ${args[0] ?? ''}" ended with ${result.status ?? result.signal}`;
    const hint = offline.test(said) ? `\n${networkHint}` : '';
    throw new SetupError(`${what}: ${how}\n  ${said}${hint}`);
  }
  return result.stdout;
}

/**
 * The version that `<command> --version` reports.
 *
 * @param {string} command
 * @returns {readonly [number, number, number] | undefined} undefined if there is no such program or it
 * reports none
 */
export function versionOf(command) {
  const result = spawnSync(command, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  const match = /v?(\d+)\.(\d+)\.(\d+)/.exec(result.stdout ?? '');
  return match ? [Number(match[1]), Number(match[2]), Number(match[3])] : undefined;
}

/**
 * @param {readonly [number, number, number] | undefined} version
 * @param {readonly [number, number]} least
 */
export function isAtLeast(version, least) {
  if (!version) return false;
  return version[0] > least[0] || (version[0] === least[0] && version[1] >= least[1]);
}
