/** Effect `lease.look`: reads a Lease. */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/errors.ts';
import { within } from '../../../kube/api/deadline.ts';
import type { LeaseLook } from '../../../machines/election/election-effects.ts';
import type { LeaseStore } from '../lease.ts';

/** Outcome lease.seen, or lease.unseen for whatever reason. */
export function leaseLook(parts: {
  readonly store: LeaseStore;
  readonly clock: Clock;
}): EffectRunner<LeaseLook> {
  return async ({ attempt, place, timeoutMs }, { signal }) => {
    const deadline = { clock: parts.clock, ms: timeoutMs, what: 'reading a Lease', signal };
    try {
      const seen = await within(deadline, (both) => parts.store.read(place, both));
      const news = seen ?? { record: null, resourceVersion: null };
      return { type: 'lease.seen', place, ...news, attempt };
    } catch (thrown) {
      return { type: 'lease.unseen', attempt, message: asError(thrown).message };
    }
  };
}
