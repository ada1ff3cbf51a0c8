/**
 * Collects the addresses that answer during a round. Answers that arrive close together reach the actor as
 * one message, because each message is a saved step.
 */
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Answers } from '../../../machines/service/route-events.ts';

/**
 * Pause between two messages, ms. It doubles up to `most`: the longer a round lasts, the more its Pods wait
 * for others anyway, most of all while rounds wait for each other.
 */
const gatherMs = { first: 50, most: 400, whileBusy: 5_000 } as const;
/** Each address costs a message to a Pod, and an outbox has room for this many in one step. */
const togetherMax = 24;

/**
 * The first address is sent after the first pause, and those that follow closely together. The end of a round
 * takes along what waits, so a Pod that waits alone is not delayed. Where rounds wait for each other the
 * first one is sent at once: it takes along the questions that wait, so the round goes on for them.
 */
export function createGathering(clock: Clock, tell: (answers: Answers) => void, isBusy = () => false) {
  let gathered: string[] = [];
  let heardAt = 0;
  let pods: Record<string, string> = {};
  let timer: Timer | null = null;
  let restMs: number = gatherMs.first;
  /** What has been gathered; null: nothing. */
  const take = (): Answers | null => {
    const [ip, ...also] = gathered;
    if (ip === undefined) return null;
    const more = { ...(also.length > 0 && { also }), ...(Object.keys(pods).length > 0 && { pods }) };
    gathered = [];
    pods = {};
    return { ip, ...more, heardAt };
  };
  const flush = () => {
    const answers = take();
    if (answers !== null) tell(answers);
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
      if (gathered.length >= togetherMax || (timer === null && isBusy())) flush();
      if (timer === null) rest();
    },
    /** Ends the gathering. @returns what has not been told; null: nothing */
    end(): Answers | null {
      timer?.cancel();
      return take();
    },
  };
}
