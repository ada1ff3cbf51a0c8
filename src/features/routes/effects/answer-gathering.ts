/**
 * Gathers the addresses that answer during a round, so that answers close together reach the actor as one
 * message: each message is a saved step.
 */
import type { Clock, Timer } from '../../../base/clock.ts';

/**
 * What is met within this time of the last word is told together, ms: the longer the round lasts, the more
 * its Pods wait for others anyway.
 */
const gatherMs = { first: 50, most: 400 } as const;
/** One word asks for a message to each Pod, and an outbox has room for so many of a step. */
const togetherMax = 24;

/**
 * The first address is told at once, so that a Pod that waits alone waits for nothing; those right behind it
 * are told together.
 */
export function createGathering(
  clock: Clock,
  tell: (first: string, also: readonly string[], heardAt: number) => void,
) {
  let gathered: string[] = [];
  let heardAt = 0;
  let timer: Timer | null = null;
  let restMs: number = gatherMs.first;
  const flush = () => {
    while (gathered.length > 0) {
      const [first = '', ...also] = gathered.slice(0, togetherMax);
      gathered = gathered.slice(togetherMax);
      tell(first, also, heardAt);
    }
  };
  const rest = () => {
    timer = clock.after(restMs, () => {
      timer = null;
      if (gathered.length === 0) return;
      flush();
      restMs = Math.min(restMs * 2, gatherMs.most);
      rest();
    });
  };
  return {
    add(ip: string): void {
      if (gathered.length === 0) heardAt = clock.now();
      gathered.push(ip);
      if (timer !== null && gathered.length < togetherMax) return;
      flush();
      if (timer === null) rest();
    },
    /** The round is over: what was met and not told yet is told now. */
    end(): void {
      timer?.cancel();
      flush();
    },
  };
}
