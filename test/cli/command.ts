/** Runs `orrery …` as a process, as a person would. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export interface Ended {
  /** Exit code, or the signal that ended it. */
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** What it wrote on its standard output so far. */
  readonly out: () => string;
  readonly ended: Promise<Ended>;
}

/** @param options.cwd where no `.orrery` folder of this working copy is found by chance */
export function start(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Running {
  const child = spawn(process.execPath, [join(root, 'src/main.ts'), ...args], {
    cwd: options.cwd,
    // Nothing of the tester's own environment decides what is printed or asked.
    env: { PATH: process.env.PATH ?? '', HOME: options.cwd, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code: code ?? signal ?? 'unknown', out, err }));
  });
  return { child, out: () => out, ended };
}

export function orrery(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<Ended> {
  return start(args, options).ended;
}
