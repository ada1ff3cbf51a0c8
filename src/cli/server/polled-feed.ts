/**
 * What happens in a running Orrery, heard by asking again and again what is new: for those who have HTTP
 * alone.
 *
 * Promises: each step at least once while Orrery answers. Absent: telling apart what is known
 * (events-log.ts).
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { StoredPort, Transition } from '../../base/views.ts';
import type { Feed, FeedScope } from '../events/events-log.ts';

/** A person who follows sees what is new within so long, ms. */
const askMs = 1_000;
/** A step is stored a little after it was taken, and clocks differ: so far back is read again, ms. */
const overlapMs = 5_000;

export function polledFeed(history: StoredPort['history'], scope: FeedScope, clock: Clock): Feed {
  return {
    listen({ hear, lost, back }) {
      let timer: Timer | null = null;
      let isOver = false;
      let isLost = false;
      let from = clock.now();
      const round = async (): Promise<void> => {
        try {
          const asked = clock.now();
          await readSince(from - overlapMs, hear);
          from = asked;
          if (isLost) back();
          isLost = false;
        } catch {
          // Asked again below; what happened meanwhile is read then.
          if (!isLost) lost();
          isLost = true;
        }
        if (!isOver) timer = clock.after(askMs, () => void round());
      };
      const readSince = async (since: number, tell: (step: Transition) => void): Promise<void> => {
        for (let next: number | null | undefined; next !== null && !isOver; ) {
          const page = await history(next === undefined ? { since, ...scope } : { after: next, ...scope });
          page.steps.forEach(tell);
          next = page.next;
        }
      };
      void round();
      return () => {
        isOver = true;
        timer?.cancel();
      };
    },
  };
}
