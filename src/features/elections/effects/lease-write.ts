/**
 * Effect `lease.write`: makes a Lease or replaces it, on condition of its version.
 *
 * Run again after a crash it is refused as a conflict, and the look that follows shows that the Lease says
 * what was asked for (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { asError, hasCode } from '../../../base/errors.ts';
import { within } from '../../../kube/api/deadline.ts';
import type { LeaseWrite } from '../../../machines/election/election-effects.ts';
import type { LeaseStore } from '../lease.ts';

/** Outcome lease.written, or lease.refused with the reason. */
export function writeLease(parts: {
  readonly store: LeaseStore;
  readonly clock: Clock;
}): EffectRunner<LeaseWrite> {
  return async (effect, { signal }) => {
    const { attempt, place, record, term, resourceVersion, notAfter, respectMs = 0, timeoutMs } = effect;
    const deadline = { clock: parts.clock, ms: timeoutMs, what: 'writing a Lease', signal };
    const writing = { record, resourceVersion, notAfter, respectMs };
    try {
      const written = await within(deadline, (both) => parts.store.write(place, writing, both));
      const { holder } = record;
      return { type: 'lease.written', attempt, resourceVersion: written.resourceVersion, holder, term };
    } catch (thrown) {
      if (hasCode(thrown, 'LEASE_HELD')) {
        const leftMs = Number(thrown.facts.leftMs);
        return { type: 'lease.refused', attempt, reason: 'held', message: thrown.message, leftMs };
      }
      return { type: 'lease.refused', attempt, reason: reasonOf(thrown), message: asError(thrown).message };
    }
  };
}

function reasonOf(thrown: unknown): 'conflict' | 'late' | 'error' {
  if (hasCode(thrown, 'KUBE_CONFLICT')) return 'conflict';
  return hasCode(thrown, 'LEASE_LATE') ? 'late' : 'error';
}
