/**
 * Runs the command of `orrery elect` and ends it in time, whatever becomes of `orrery elect` itself.
 *
 * A process of its own, between the two: it is told again and again how long the leadership and its Lease
 * last, and counts by itself. So a command does not outlive the Lease because its `orrery elect` was killed,
 * stopped or kept busy. Promises: SIGTERM when the leadership is over or `orrery elect` is gone, SIGKILL when
 * the Lease is over; the command is a process group of its own, and nothing of the group is left when the
 * command has ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { leaseClock } from '../../actors/time/lease-clock.ts';
import { machineClock } from '../../actors/time/machine-clock.ts';
import type { Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';

/** To the guard. */
export type GuardOrder =
  /** From now on: ms until SIGTERM, and until SIGKILL. */
  | { readonly type: 'lasts'; readonly termMs: number; readonly killMs: number }
  | { readonly type: 'signal'; readonly signal: NodeJS.Signals };

/** From the guard. */
export type GuardReport =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly code: number; readonly message: string }
  | { readonly type: 'ended'; readonly code: number };

/** Timers stand still while the machine is suspended: time is looked at so often. */
const lookAgainMs = 250;
/** As shells say it: not found, not to be executed. */
const notFound = 127;
const notExecutable = 126;

function guard(command: readonly string[]): void {
  const [program = '', ...args] = command;
  const clock = leaseClock(machineClock);
  let due = { termAt: Number.POSITIVE_INFINITY, killAt: Number.POSITIVE_INFINITY };
  let isTold = false;
  let timer: Timer | null = null;
  const child = spawn(program, args, { stdio: 'inherit', detached: true });
  const look = () => {
    timer?.cancel();
    const now = clock.now();
    if (now >= due.killAt) return signalGroup(child, 'SIGKILL');
    if (now >= due.termAt && !isTold) {
      isTold = true;
      signalGroup(child, 'SIGTERM');
    }
    const next = isTold ? due.killAt : due.termAt;
    timer = clock.after(Math.min(next - now, lookAgainMs), look);
  };
  const arm = (termMs: number, killMs: number) => {
    due = { termAt: clock.now() + termMs, killAt: clock.now() + killMs };
    isTold = false;
    look();
  };

  process.on('message', (order: GuardOrder) => {
    if (order.type === 'signal') signalGroup(child, order.signal);
    else arm(order.termMs, order.killMs);
  });
  // The kernel closes the channel however the other side ends.
  process.on('disconnect', () => signalGroup(child, 'SIGTERM'));
  // They are for the command, and come by order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});

  child.once('spawn', () => report({ type: 'started', pid: child.pid ?? 0 }));
  child.once('error', (error: NodeJS.ErrnoException) => {
    const code = error.code === 'ENOENT' ? notFound : notExecutable;
    report({ type: 'failed', code, message: asError(error).message }, () => process.exit(code));
  });
  child.once('exit', (code, signal) => {
    signalGroup(child, 'SIGKILL');
    const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    report({ type: 'ended', code: exitCode }, () => process.exit(exitCode));
  });
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in the group.
  }
}

function report(message: GuardReport, then: () => void = () => {}): void {
  if (process.connected) process.send?.(message, then);
  else then();
}

guard(process.argv.slice(2));
