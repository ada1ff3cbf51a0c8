/**
 * How long a replica that starts listens before it claims: until it has heard of everybody who owns
 * something, so that nothing is taken from the living and its share is the right one.
 *
 * Who owns nothing may be heard of later: then holdings move by plan, as to every newcomer. Where nobody owns
 * anything others may be starting too, and an owner of this replica's own name is a former life of it, or
 * somebody who must answer first: then it listens for the whole time.
 */
import type { Clock } from '../../base/clock.ts';
import type { Directory } from './directory.ts';
import type { FenceValue } from './fence-value.ts';

/** The others answer a replica's first beat within a round trip; this leaves them ten. */
const patienceMs = 200;

export function startAcquaintance(clock: Clock, isMade: () => boolean) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(patienceMs, resolve);
  return {
    /** Resolves when it is over. */
    made: promise,
    /** What the fences say is known, or somebody was heard of. */
    look(): void {
      if (!isMade()) return;
      timer.cancel();
      resolve();
    },
  };
}

/** Whether everybody who owns something was heard of, and somebody does. @param replica who starts */
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
