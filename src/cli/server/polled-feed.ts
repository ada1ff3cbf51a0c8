/**
 * Live steps of a running Orrery by polling, for callers that have only HTTP.
 *
 * Promise: each step at least once while Orrery answers. Absent: removing duplicates (events-log.ts).
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { StoredPort, Transition } from '../../base/views.ts';
import type { Feed, FeedScope } from '../events/events-log.ts';

/** The delay with which a follower sees new steps, ms. */
const askMs = 1_000;
/** How far back each poll reads, ms: a step is stored a little after it was taken, and clocks differ. */
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
          // Polled again below; steps in between are read then.
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
