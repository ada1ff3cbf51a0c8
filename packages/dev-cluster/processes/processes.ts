/**
 * Replicas as processes of their own, kept running.
 *
 * Owns the child processes. Promises: a replica that ends uninvited is started again, after a pause that
 * grows while it keeps ending. `stop` sends SIGTERM and, if that does not help in time, SIGKILL. Children end
 * when this process does, however it ends (tether.ts). A Ctrl-C at the terminal reaches only this process,
 * which decides the order.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock, Timer } from '../../../src/base/clock.ts';
import { compiledOf } from '../../../src/base/program/compiled.ts';
import { clusterLimits } from '../limits.ts';

export interface ReplicaParts {
  readonly name: string;
  /** Default: `src/main.ts`. */
  readonly program?: string;
  readonly args: readonly string[];
  /** Both output streams are appended here. */
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Whether a replica that died is started again. */
  readonly restarts: boolean;
  readonly onDeath: (how: string, pauseMs: number | null) => void;
}

export interface ReplicaProcess {
  readonly name: string;
  /** undefined while it does not run. */
  pid(): number | undefined;
  /** Starts it unless it runs. */
  start(): void;
  /**
   * Sends the signal; whether it is then started again is as after any death. For SIGKILL and SIGTERM,
   * resolves when the process is gone.
   */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '../../..');
const mainFile = resolve(root, 'src/main.ts');
/** Loaded before the program. */
const preloads = ['tether.ts', '../network/outside-network.ts'].flatMap((file) => [
  '--import',
  pathToFileURL(resolve(import.meta.dirname, file)).href,
]);
const firstPauseMs = 500;
const longestPauseMs = 10_000;

export function createReplica(parts: ReplicaParts): ReplicaProcess {
  const { clock } = parts;
  let child: ChildProcess | undefined;
  let ended = Promise.resolve();
  let timer: Timer | undefined;
  let isStopping = false;
  let pauseMs = firstPauseMs;

  const start = () => {
    if (child !== undefined || isStopping) return;
    timer?.cancel();
    const startedAt = clock.monotonic();
    const born = launch(parts);
    child = born;
    const end = Promise.withResolvers<void>();
    ended = end.promise;
    const onEnd = (how: string) => {
      if (child !== born) return;
      child = undefined;
      if (!isStopping) onDeath(how, clock.monotonic() - startedAt);
      end.resolve();
    };
    born.once('error', (error) => onEnd(error.message));
    born.once('exit', (code, signal) => onEnd(signal === null ? `exit code ${code}` : signal));
  };
  const onDeath = (how: string, livedMs: number) => {
    if (livedMs > longestPauseMs) pauseMs = firstPauseMs;
    parts.onDeath(how, parts.restarts ? pauseMs : null);
    if (!parts.restarts) return;
    timer = clock.after(pauseMs, start);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  };

  return {
    name: parts.name,
    pid: () => child?.pid,
    start,
    async kill(signal) {
      child?.kill(signal);
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended;
    },
    async stop() {
      isStopping = true;
      timer?.cancel();
      const last = child;
      if (last === undefined) return;
      last.kill('SIGCONT');
      last.kill('SIGTERM');
      const deadline = clock.after(clusterLimits.stopMs, () => last.kill('SIGKILL'));
      await ended;
      deadline.cancel();
    },
  };
}

function launch(parts: ReplicaParts): ChildProcess {
  const program = parts.program ?? mainFile;
  const log = openSync(parts.logFile, 'a');
  try {
    return spawn(process.execPath, [...preloads, program, ...parts.args], {
      cwd: root,
      stdio: ['ignore', log, log, 'ipc'],
      // Named before the program begins, the preloads are kept there too: stripping their types takes longer
      // than all else that Node does before the program.
      env: { NODE_COMPILE_CACHE: compiledOf(program), ...process.env, ...parts.env },
      // A process group of its own: Ctrl-C is for the parent.
      detached: true,
    });
  } finally {
    closeSync(log);
  }
}
