/**
 * Helm, if this machine has it: the one that HELM names, or else the first on PATH. No package registry that
 * set-up could use has it, so whatever needs it says so, and tests use its last renderings.
 */
import { execFileSync, spawnSync } from 'node:child_process';

/** The program; undefined if there is none. */
export function findHelm(env: NodeJS.ProcessEnv): string | undefined {
  const program = env.HELM || 'helm';
  return spawnSync(program, ['version', '--short']).status === 0 ? program : undefined;
}

/**
 * What it writes on its standard output.
 * @throws Error with its complaint
 */
export function runHelm(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
