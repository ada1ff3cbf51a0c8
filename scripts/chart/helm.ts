/**
 * Helm, where this machine has it: the one that HELM names, else the first on PATH. It is in no package
 * registry that set-up could take it from, so whatever needs it says so, and tests go by what it rendered
 * last.
 */
import { execFileSync, spawnSync } from 'node:child_process';

/** The program; undefined if there is none. */
export function findHelm(env: NodeJS.ProcessEnv): string | undefined {
  const program = env.HELM || 'helm';
  return spawnSync(program, ['version', '--short']).status === 0 ? program : undefined;
}

/** What it writes on its standard output. @throws Error with what it complains of */
export function runHelm(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
