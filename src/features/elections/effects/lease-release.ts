/**
 * Effect `lease.release`: gives a Lease back, if a fresh look shows that it is still the one that was held.
 *
 * The freed Lease has no holder and lasts a second, as client-go's does; its transitions stay, so that terms
 * go on growing. Running it twice finds it given back already (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/errors.ts';
import { within } from '../../../kube/api/deadline.ts';
import type { LeaseRelease } from '../../../machines/election/election-effects.ts';
import type { LeaseReleased } from '../../../machines/election/election-events.ts';
import type { LeaseStore } from '../lease.ts';

/** Outcome lease.released, with an error where it could not be given back. */
export function releaseLease(parts: {
  readonly store: LeaseStore;
  readonly clock: Clock;
}): EffectRunner<LeaseRelease> {
  return async (effect, { signal }) => {
    const { attempt, timeoutMs } = effect;
    const deadline = { clock: parts.clock, ms: timeoutMs, what: 'giving a Lease back', signal };
    try {
      return await within(deadline, (both) => release(parts.store, effect, both));
    } catch (thrown) {
      const error = asError(thrown).message;
      return { type: 'lease.released', attempt, record: null, resourceVersion: null, error };
    }
  };
}

async function release(store: LeaseStore, effect: LeaseRelease, signal: AbortSignal): Promise<LeaseReleased> {
  const { attempt, place, holder, transitions, time, notAfter } = effect;
  const seen = await store.read(place, signal);
  if (seen === null) {
    return { type: 'lease.released', attempt, record: null, resourceVersion: null, error: null };
  }
  const { record, resourceVersion } = seen;
  if (record.holder !== holder || record.transitions !== transitions) {
    return { type: 'lease.released', attempt, record, resourceVersion, error: null };
  }
  const freed = { ...record, holder: '', durationSeconds: 1, acquireTime: time, renewTime: time };
  const written = await store.write(place, { record: freed, resourceVersion, notAfter }, signal);
  return { type: 'lease.released', attempt, ...written, error: null };
}
