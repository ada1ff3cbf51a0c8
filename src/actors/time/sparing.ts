/**
 * What a chart may do to spare work: it merges waiting events, lets them wait for others, and leaves steps
 * unsaved for a while (`merge`, `patience`, `deferrable`).
 *
 * Promise: where that fails, work is not spared, and nothing else happens (I8): each event is taken by itself
 * and at once, and its step is saved. These functions are called outside of any step, so their failure is no
 * actor's: it would cost the whole shard. It is logged.
 */
import { createRepeats } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import type { Stepper } from '../host/step.ts';

const failed =
  'a chart failed to spare work, so its events are taken one by one, and each step is saved: mend the function; told again less and less often';

export function sparing(
  stepper: Stepper,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Stepper {
  const { chart } = stepper;
  const { merge, patience, deferrable } = chart;
  const safe = <A extends unknown[], R>(what: string, work: ((...args: A) => R) | undefined, instead: R) => {
    if (work === undefined) return {};
    const repeats = createRepeats(clock);
    const careful = (...args: A): R => {
      try {
        return work(...args);
      } catch (thrown) {
        const facts = { chart: chart.name, function: what, error: asError(thrown).message };
        if (repeats.isDue()) log.error(facts, failed);
        return instead;
      }
    };
    return { [what]: careful };
  };
  const safely = {
    ...safe('merge', merge, null),
    ...safe('patience', patience, 0),
    ...safe('deferrable', deferrable, false),
  };
  return { ...stepper, chart: { ...chart, ...safely } };
}
