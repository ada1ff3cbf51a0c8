/** Dead letters for the page's overview: their number, and the newest. */

import { letterView } from '../../actors/control/dead-letter-view.ts';
import type { Clock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { DeadLetter } from '../../base/views.ts';
import type { Bus, Subscription } from '../../bus/bus.ts';
import { decode } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { ClusterNow } from './live-messages.ts';

/** Older ones are no news to anybody on call. */
const backMs = 24 * 3_600_000;

/** Calls back with the present letters, and again with each that arrives, is sent again or dropped. */
export function followDeadLetters(
  { bus, subjects, clock }: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock },
  onLetters: (letters: ClusterNow['deadLetters']) => void,
): Subscription {
  let newest: readonly DeadLetter[] = [];
  let count = 0;
  let stopped = false;
  const following = bus.follow('dead', {
    subjects: [subjects.dead],
    from: { kind: 'time', at: clock.now() - backMs },
    onMessage: (message) => {
      count++;
      newest = [beginning(letterView(subjects, message)), ...newest].slice(0, limits.inspectDeadLetters);
      if (!stopped) onLetters({ count, newest });
    },
  });
  const leaving = bus.subscribe(subjects.peer('letter'), ({ data }) => {
    // Other bytes on this subject name no letter.
    const sequence = attempt(() => (decode(data) as { readonly sequence?: unknown }).sequence, undefined);
    const left = newest.filter((letter) => letter.sequence !== sequence);
    count -= newest.length - left.length;
    newest = left;
    if (!stopped) onLetters({ count, newest });
  });
  // If the stream cannot be read, the page shows no letters; it has other uses.
  following.catch(() => {});
  return {
    stop() {
      stopped = true;
      leaving.stop();
      following.then(
        (running) => running.stop(),
        () => {},
      );
    },
  };
}

/** Sent to every page repeatedly, so only the beginning of each letter. */
const beginning = (letter: DeadLetter): DeadLetter => ({ ...letter, body: letter.body.slice(0, bodyChars) });
const bodyChars = 400;
