/** The effects of the service chart's routes region. */
import { limits } from '../../base/limits.ts';
import { effect } from '../effect.ts';
import type { SampleFailed } from './route-events.ts';
import type { RouteProbe } from './route-facts.ts';

/**
 * One round of calls through a Service. Reports `sample.answered` for each distinct address as it is seen;
 * outcome: sample.finished | sample.failed.
 */
export interface RouteSample {
  readonly type: 'route.sample';
  /** Fairness key of the process-wide limiter. */
  readonly group: string;
  readonly round: number;
  readonly probe: RouteProbe;
  /** The most calls. */
  readonly calls: number;
  /** The round ends early once each of these addresses has answered with status 200. */
  readonly wanted: readonly string[];
}

export const routeSample = effect<RouteSample>('route.sample', {
  failure: ({ round }, message): SampleFailed => ({ type: 'sample.failed', round, message }),
  // The sampler ends the round earlier.
  timeoutMs: limits.probeLineMs + limits.probeRoundMs + 4_000,
});

/**
 * Changes whom a round in progress looks for: more addresses, for which it continues, or fewer, and if none
 * is left it ends. If the round is over nothing happens; the chart begins another.
 */
export interface RouteWiden {
  readonly type: 'route.widen';
  readonly group: string;
  readonly round: number;
  /** The most calls of the whole round, if that is more than before. */
  readonly calls: number;
  readonly wanted: readonly string[];
  /**
   * Address → uid of those among them of whom no answer is noted. One that the round has reported meanwhile
   * will prove them. Absent in effects of an earlier release.
   */
  readonly unmet?: Readonly<Record<string, string>>;
  /**
   * Addresses that nobody wants any more; `all`: its answers count for nothing. An earlier release does not
   * know it, and lets the round end by itself.
   */
  readonly unwanted?: readonly string[] | 'all';
}

export const routeWiden = effect<RouteWiden>('route.widen');
