/** The effect of the service chart's routes region. */
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
  /** At most so many calls. */
  readonly calls: number;
  /** The round ends early once each of these addresses has answered with status 200. */
  readonly wanted: readonly string[];
}

export const routeSample = effect<RouteSample>('route.sample', {
  failure: ({ round }, message): SampleFailed => ({ type: 'sample.failed', round, message }),
  // A round is bounded by its calls, three of them at a time.
  timeoutMs: ({ calls, probe }) => 4_000 + Math.ceil(calls / 3) * probe.timeoutMs,
});
