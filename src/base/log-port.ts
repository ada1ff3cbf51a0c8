/**
 * The log as most parts need it: the calls, without the library that writes (log.ts). Also `Ambient`, the set
 * of log, clock and random source that nearly every part takes.
 */
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** Arguments: the facts, then one short sentence that is the same each time. */
export interface Log {
  debug(facts: object, message: string): void;
  /** Whether `debug` writes anything. Callers that log at each step check this first. */
  isDebug?(): boolean;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** For tests, and for parts that were given no log. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

/** What nearly every part takes: time, chance and a log. */
export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
