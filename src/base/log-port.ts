/**
 * The log as most parts need it: the calls, without the library that writes (log.ts); and what is handed to
 * nearly every part together with it.
 */
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** Facts first, then one short sentence that is the same each time. */
export interface Log {
  debug(facts: object, message: string): void;
  /** Whether `debug` writes anything: lines that are made for each step ask first. */
  isDebug?(): boolean;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** For tests, and for parts that were handed no log. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Time, chance, and where something can be said. */
export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
