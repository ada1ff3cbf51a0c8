/** The command of `orrery elect` as this process sees it: behind its guard (elect-guard.ts). */
import { spawn } from 'node:child_process';
import { extname, join } from 'node:path';
import type { GuardOrder, GuardReport } from './elect-guard.ts';

export interface GuardedCommand {
  /** @param termMs until SIGTERM @param killMs until SIGKILL, both from now */
  lasts(termMs: number, killMs: number): void;
  signal(signal: NodeJS.Signals): void;
  /**
   * Resolves when nothing of the command is left, with its exit code; 128 + number for a signal, as shells
   * have it.
   */
  readonly ended: Promise<{ readonly code: number; readonly problem: string | null }>;
}

/** From the same place as this file, compiled or not. */
const guardFile = join(import.meta.dirname, `elect-guard${extname(import.meta.filename)}`);
/** The guard died, and not by itself: what an interrupted command ends with. */
const killedCode = 137;

export function startGuarded(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): GuardedCommand {
  const guard = spawn(process.execPath, [guardFile, ...command], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env,
    // A Ctrl-C at the terminal reaches this process alone, which passes it on.
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

/** Nobody guards the command any more. */
function killGroup(pid: number): void {
  if (pid === 0) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
