/**
 * The level of the log while a replica runs: SIGUSR2 takes it one step further down (info → debug → trace)
 * and then back to what was configured. A signal needs no right in the cluster but that to get at the
 * process, and works when nothing else answers.
 */

import type { LeveledLog } from '../base/log.ts';
import { type LogLevel, logLevels } from '../base/log-port.ts';

/** The level that the next signal sets. @param configured where it begins and comes back to */
export function nextLevel(current: LogLevel, configured: LogLevel): LogLevel {
  const lower = logLevels[logLevels.indexOf(current) - 1];
  return lower ?? configured;
}

/** @param end the signal is nobody's from then on */
export function changeLevelOnSignal(log: LeveledLog, end: AbortSignal): void {
  const configured = log.level;
  const change = () => {
    log.setLevel(nextLevel(log.level, configured));
    // Said at a level that is always on here: whoever sends the signal wants to know.
    log.error({ logLevel: log.level }, 'the log level was changed');
  };
  process.on('SIGUSR2', change);
  end.addEventListener('abort', () => process.off('SIGUSR2', change), { once: true });
}
