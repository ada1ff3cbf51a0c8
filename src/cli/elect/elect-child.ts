/** The command of `orrery elect`, run behind its guard (elect-guard.ts). */
import { spawn } from 'node:child_process';
import { extname, join } from 'node:path';
import type { GuardOrder, GuardReport } from './elect-guard.ts';

export interface GuardedCommand {
  /** @param termMs until SIGTERM @param killMs until SIGKILL, both from now */
  lasts(termMs: number, killMs: number): void;
  signal(signal: NodeJS.Signals): void;
  /**
   * Resolves when the whole command has ended, with its exit code; 128 + number for a signal, as in shells.
   */
  readonly ended: Promise<{ readonly code: number; readonly problem: string | null }>;
}

/** Beside this file, compiled or not. */
const guardFile = join(import.meta.dirname, `elect-guard${extname(import.meta.filename)}`);
/** The guard was killed; the exit code is that of a killed command. */
const killedCode = 137;

export function startGuarded(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): GuardedCommand {
  const guard = spawn(process.execPath, [guardFile, ...command], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env,
    // Ctrl-C at the terminal then reaches this process only, which passes it on.
    detached: true,
  });
  let pid = 0;
  let problem: string | null = null;
  guard.on('message', (report: GuardReport) => {
    if (report.type === 'started') pid = report.pid;
    if (report.type === 'failed') problem = report.message;
  });
  guard.on('error', (error) => {
    problem = error.message;
  });
  const order = (message: GuardOrder) => {
    if (guard.connected) guard.send(message, () => {});
  };
  return {
    lasts: (termMs, killMs) => order({ type: 'lasts', termMs, killMs }),
    signal: (signal) => order({ type: 'signal', signal }),
    ended: new Promise((resolve) => {
      guard.once('close', (code) => {
        if (code === null) killGroup(pid);
        resolve({ code: code ?? killedCode, problem });
      });
    }),
  };
}

/** The command has lost its guard. */
function killGroup(pid: number): void {
  if (pid === 0) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
