/** Dead letters as a page shows them: how many there are, and the newest. */

import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { DeadLetter } from '../../base/views.ts';
import type { Bus, StoredMessage, Subscription } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { ClusterNow } from './live-messages.ts';

/** What is older is no news to anybody on call. */
const backMs = 24 * 3_600_000;
const bodyChars = 400;

/** Calls back with what is there, and again with each that comes. */
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
      newest = [readLetter(message), ...newest].slice(0, limits.inspectDeadLetters);
      if (!stopped) onLetters({ count, newest });
    },
  });
  // A stream that cannot be read shows no letters; the page is for more than those.
  following.catch(() => {});
  return {
    stop() {
      stopped = true;
      following.then(
        (running) => running.stop(),
        () => {},
      );
    },
  };
}

function readLetter({ subject, headers, data, storedAt }: StoredMessage): DeadLetter {
  return {
    at: storedAt,
    subject: headers['Orrery-Subject'] ?? subject,
    error: headers['Orrery-Error'] ?? '',
    body: new TextDecoder().decode(data.subarray(0, bodyChars)),
  };
}
