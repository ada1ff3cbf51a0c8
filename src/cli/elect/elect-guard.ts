/**
 * Guards the command of `orrery elect`: ends it in time, whatever happens to `orrery elect` itself.
 *
 * A separate process between the two: it is told repeatedly how long the leadership and its Lease last, and
 * keeps the time itself. So the command does not outlive the Lease if its `orrery elect` is killed, suspended
 * or busy. Promises: SIGTERM when the leadership is over or `orrery elect` is gone, SIGKILL when the Lease is
 * over; the command is a process group of its own, and nothing of the group remains when it has ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { leaseClock } from '../../actors/time/lease-clock.ts';
import { machineClock } from '../../actors/time/machine-clock.ts';
import type { Timer } from '../../base/clock.ts';

/** To the guard. */
export type GuardOrder =
  /** From now: ms until SIGTERM, and until SIGKILL. */
  | { readonly type: 'lasts'; readonly termMs: number; readonly killMs: number }
  | { readonly type: 'signal'; readonly signal: NodeJS.Signals };

/** From the guard. */
export type GuardReport =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly code: number; readonly message: string }
  | { readonly type: 'ended'; readonly code: number };

/** Timers stand still while the machine is suspended, so the clock is checked this often. */
const lookAgainMs = 250;
/** The shells' exit codes for "not found" and "not executable". */
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
  // They are meant for the command, and arrive as orders.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});

  child.once('spawn', () => report({ type: 'started', pid: child.pid ?? 0 }));
  child.once('error', (error: NodeJS.ErrnoException) => {
    const code = error.code === 'ENOENT' ? notFound : notExecutable;
    report({ type: 'failed', code, message: failureText(program, error) }, () => process.exit(code));
  });
  child.once('exit', (code, signal) => {
    signalGroup(child, 'SIGKILL');
    const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    report({ type: 'ended', code: exitCode }, () => process.exit(exitCode));
  });
}

function failureText(program: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return `there is no command ${program}`;
  return code === 'EACCES' ? `${program} may not be executed` : message;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty.
  }
}

function report(message: GuardReport, then: () => void = () => {}): void {
  if (process.connected) process.send?.(message, then);
  else then();
}

guard(process.argv.slice(2));
