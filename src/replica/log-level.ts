/**
 * Changes the log level while a replica runs: SIGUSR2 lowers it one step (info → debug → trace), then back to
 * the configured level. A signal needs no permission in the cluster except access to the process, and works
 * when nothing else answers.
 */

import type { LeveledLog } from '../base/log.ts';
import { type LogLevel, logLevels } from '../base/log-port.ts';

/** The level after the next signal. @param configured where the sequence starts and returns to */
function nextLevel(current: LogLevel, configured: LogLevel): LogLevel {
  const lower = logLevels[logLevels.indexOf(current) - 1];
  return lower ?? configured;
}

/** @param end stops handling the signal */
export function changeLevelOnSignal(log: LeveledLog, end: AbortSignal): void {
  const configured = log.level;
  const change = () => {
    log.setLevel(nextLevel(log.level, configured));
    // Logged at a level that is always on, because the sender of the signal wants to know.
    log.error({ logLevel: log.level }, 'the log level was changed');
  };
  process.on('SIGUSR2', change);
  end.addEventListener('abort', () => process.off('SIGUSR2', change), { once: true });
}
