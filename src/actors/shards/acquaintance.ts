/**
 * How long a starting replica listens before it claims: until it has heard all owners, so that it takes
 * nothing from a live replica and computes its share correctly.
 *
 * A replica that owns nothing may be heard later: holdings then move to it by plan, as to every newcomer. If
 * nobody owns anything, others may be starting too. If an owner has this replica's own name, it is a former
 * process of this replica, or a twin that must answer first. In both cases it listens for the whole time.
 */
import type { Clock } from '../../base/clock.ts';
import type { Directory } from '../members/directory.ts';
import type { FenceValue } from './fence-value.ts';

/** The others answer a replica's first beat within a round trip; this allows ten. */
const patienceMs = 200;

export function startAcquaintance(clock: Clock, isMade: () => boolean) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  const end = () => {
    isOver = true;
    resolve();
  };
  const timer = clock.after(patienceMs, end);
  return {
    /** Resolves when listening is over. */
    made: promise,
    /** Called when the fences are known, at each beat, and when another replica was heard. */
    look(): void {
      if (isOver || !isMade()) return;
      timer.cancel();
      end();
    },
  };
}

/** Whether there are owners and all of them were heard. @param replica the one that starts */
export function knowsOwners(
  replica: string,
  fences: readonly FenceValue[],
  directory: Pick<Directory, 'isPresent'>,
): boolean {
  const owned = fences.filter((fence) => fence.replica !== null);
  const isKnown = (fence: FenceValue) =>
    fence.replica !== null &&
    fence.replica !== replica &&
    directory.isPresent(fence.replica, fence.incarnation);
  return owned.length > 0 && owned.every(isKnown);
}
