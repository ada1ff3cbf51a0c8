/**
 * What the Kubernetes side asks of a logger; pino's satisfies it.
 */
import type { ErrorFacts } from '../errors.ts';

export interface KubeLog {
  debug(facts: ErrorFacts, message: string): void;
  info(facts: ErrorFacts, message: string): void;
  warn(facts: ErrorFacts, message: string): void;
}

/** Says nothing; for callers that have no use for a log. */
export const silentLog: KubeLog = { debug() {}, info() {}, warn() {} };
