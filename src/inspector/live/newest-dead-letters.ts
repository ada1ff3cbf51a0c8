/** Dead letters for the page's overview: their number, and the newest. */

import { letterView } from '../../actors/control/dead-letter-view.ts';
import type { Clock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { DeadLetter } from '../../base/views.ts';
import type { Bus } from '../../bus/bus.ts';
import { decode } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { ClusterNow } from './live-messages.ts';

/** Older ones are no news to anybody on call. */
const backMs = 24 * 3_600_000;
/** As many as the stream keeps. */
const countMax = 100_000;

/** A letter that left may have left unheard, ms. */
const readAnewMs = 10 * 60_000;

interface Parts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
}

/**
 * Follows the letters of the last day, as long as somebody watches: each leaves when its day is over. All are
 * read anew now and then.
 */
export function followDeadLetters(parts: Parts) {
  const { bus, subjects, clock } = parts;
  let shown = readLetters(parts);
  let anew: ReturnType<typeof readLetters> | null = null;
  let readAt = clock.monotonic();
  const leaving = bus.subscribe(subjects.peer('letter'), ({ data }) => {
    // Other bytes on this subject name no letter.
    const sequence = attempt(() => (decode(data) as { readonly sequence?: unknown }).sequence, undefined);
    for (const one of [shown, anew]) one?.forget(Number(sequence));
  });
  const readAnew = () => {
    const reading = readLetters(parts);
    anew = reading;
    reading.isWhole.then(
      () => {
        shown.stop();
        [shown, anew, readAt] = [reading, null, clock.monotonic()];
      },
      () => {},
    );
  };
  return {
    letters(): ClusterNow['deadLetters'] {
      if (anew === null && clock.monotonic() - readAt > readAnewMs) readAnew();
      return shown.letters();
    },
    stop() {
      leaving.stop();
      for (const one of [shown, anew]) one?.stop();
    },
  };
}

function readLetters({ bus, subjects, clock }: Parts) {
  let newest: ReadonlyArray<DeadLetter & { readonly sequence: number }> = [];
  /** When each was stored, by its sequence; oldest first. */
  const times = new Map<number, number>();
  const ending = new AbortController();
  const following = bus.follow('dead', {
    subjects: [subjects.dead],
    from: { kind: 'time', at: clock.now() - backMs },
    signal: ending.signal,
    onMessage: (message) => {
      const letter = beginning(letterView(subjects, message));
      times.set(letter.sequence, letter.at);
      newest = [letter, ...newest].slice(0, limits.inspectDeadLetters);
    },
  });
  const isWhole = following.then((running) => running.caughtUp);
  // If the stream cannot be read, the page shows no letters; it has other uses.
  isWhole.catch(() => {});
  return {
    isWhole,
    forget: (sequence: number) => void times.delete(sequence),
    /** Sent again, dropped, or too old: none of them counts. */
    letters(): ClusterNow['deadLetters'] {
      const oldest = clock.now() - backMs;
      for (const [sequence, at] of times) {
        if (at >= oldest && times.size <= countMax) break;
        times.delete(sequence);
      }
      newest = newest.filter(({ sequence }) => times.has(sequence));
      return { count: times.size, newest };
    },
    stop: () => ending.abort(new Error('nobody watches')),
  };
}

/** Sent to every page repeatedly, so only the beginning of each letter. */
const beginning = <T extends DeadLetter>(letter: T): T => ({
  ...letter,
  body: letter.body.slice(0, bodyChars),
});
const bodyChars = 400;
