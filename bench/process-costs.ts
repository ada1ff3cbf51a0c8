/**
 * The costs of a process since its start, as Linux counts them. They include the loading of its modules,
 * which the program's own metrics omit.
 */
import { readFileSync } from 'node:fs';

/** Ticks of a second in /proc, on every platform that Node runs on. */
const ticksPerSecond = 100;

/**
 * Seconds for which the process's main thread could run but had no processor: on a machine that others use
 * too, most of the difference between processor time and elapsed time.
 */
function waitedSeconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
}

/** Seconds of processor time; 0: it is not running. */
export function cpuSeconds(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the process, in parentheses, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export function processCosts(pid: number | undefined): string {
  if (pid === undefined) return 'it does not run';
  const [now, most] = [megabytes(pid, 'VmRSS'), megabytes(pid, 'VmHWM')];
  const waited = waitedSeconds(pid).toFixed(2);
  return `${cpuSeconds(pid).toFixed(2)} s CPU (and waited ${waited} s for it), ${now} MB resident, ${most} MB at most`;
}

/** Its memory, now or at most. */
export function megabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round((Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024) / 1e6);
}
