/** Runs `orrery …` as a process, as a person would, or in this process where that proves as much. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { runCommandLine } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { program } from '../suite/program.ts';

export const root = join(import.meta.dirname, '../..');

export interface Ended {
  /** Exit code, or the signal that ended it. */
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** Its standard output so far. */
  readonly out: () => string;
  readonly ended: Promise<Ended>;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Record<string, string>;
  /** The name by which it is called; absent: by its file. */
  readonly program?: string;
}

/** @param options.cwd a folder from which no `.orrery` of this working copy is found by chance */
export function start(args: readonly string[], options: CommandOptions): Running {
  const child = spawn(process.execPath, [options.program ?? program, ...args], {
    cwd: options.cwd,
    // Nothing of the tester's own environment influences the output.
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

export function orrery(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return start(args, options).ended;
}

/** With a terminal of texts. */
export async function inThisProcess(
  args: readonly string[],
  env: Record<string, string> = {},
  directory = '/nowhere',
): Promise<Ended> {
  let [out, err] = ['', ''];
  const terminal: Terminal = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env,
    directory,
    style: (_, text) => text,
    interrupted: new AbortController().signal,
  };
  const code = await runCommandLine(args, terminal);
  return { code, out, err };
}
