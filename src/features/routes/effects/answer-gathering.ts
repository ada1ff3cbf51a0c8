/**
 * Collects the addresses that answer during a round. Answers that arrive close together reach the actor as
 * one message, because each message is a saved step.
 */
import type { Clock, Timer } from '../../../base/clock.ts';

/**
 * Pause between two messages, ms. It doubles up to `most`: the longer a round lasts, the more its Pods wait
 * for others anyway, most of all while rounds wait for each other.
 */
const gatherMs = { first: 50, most: 400, whileBusy: 5_000 } as const;
/** Each address costs a message to a Pod, and an outbox has room for this many in one step. */
const togetherMax = 24;

/**
 * Sends the first address at once, so that a Pod that waits alone is not delayed, and those that follow
 * closely together.
 */
export function createGathering(
  clock: Clock,
  tell: (
    first: string,
    also: readonly string[],
    heardAt: number,
    pods: Readonly<Record<string, string>>,
  ) => void,
  isBusy = () => false,
) {
  let gathered: string[] = [];
  let heardAt = 0;
  let pods: Record<string, string> = {};
  let timer: Timer | null = null;
  let restMs: number = gatherMs.first;
  const flush = () => {
    while (gathered.length > 0) {
      const [first = '', ...also] = gathered.slice(0, togetherMax);
      gathered = gathered.slice(togetherMax);
      tell(first, also, heardAt, pods);
    }
    pods = {};
  };
  const rest = () => {
    timer = clock.after(isBusy() ? gatherMs.whileBusy : restMs, () => {
      timer = null;
      if (gathered.length === 0) return;
      flush();
      restMs = Math.min(restMs * 2, gatherMs.most);
      rest();
    });
  };
  return {
    /** @param uid of the Pod that has the address, where it is known */
    add(ip: string, uid?: string): void {
      if (gathered.length === 0) heardAt = clock.now();
      gathered.push(ip);
      if (uid !== undefined) pods[ip] = uid;
      if (timer !== null && gathered.length < togetherMax) return;
      flush();
      if (timer === null) rest();
    },
    /** Sends what is left when the round ends. */
    end(): void {
      timer?.cancel();
      flush();
    },
  };
}
