/**
 * The garbage collector of a cluster: what belonged to nobody else goes with its owner, seconds later.
 *
 * As those of clusters up to 1.31 do, it looks at an orphan once more, and deletes it by its uid alone a
 * moment after that: what has been given to another owner in between is deleted all the same. Its rate limit
 * makes seconds of that moment where it is busy.
 */
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { SimClock } from '../../../packages/testing/time/sim-clock.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';

export const collectorName = 'collector';

export interface CollectedApi {
  /** Those that name the owner. */
  owned(uid: string): Iterable<KubeObject>;
  isOrphan(object: KubeObject): boolean;
  /**
   * Deletes the object, unless another one has its name by now.
   * @throws OrreryError if a policy refuses it
   */
  collect(object: KubeObject): void;
}

/** How long orphans stay: in the one cluster moments, in the other seconds. */
const slowestMs = [50, 2_000, 10_000] as const;
const gapMaxMs = 3_000;
/** What is refused is looked at again. */
const againMs = 1_000;

/** @returns to be called with the uid of each object that is gone */
export function createCollector(clock: SimClock, chance: Chance, api: CollectedApi): (uid: string) => void {
  const slowest = chance.pick(slowestMs) ?? 0;
  const gapMax = Math.min(slowest, gapMaxMs);
  const look = (uid: string) => {
    for (const object of api.owned(uid)) {
      if (!api.isOrphan(object)) continue;
      clock.after(chance.seldomLong(0, gapMax), () => {
        try {
          api.collect(object);
        } catch {
          clock.after(againMs, () => look(uid));
        }
      });
    }
  };
  return (uid) => void clock.after(chance.between(0, slowest), () => look(uid));
}
