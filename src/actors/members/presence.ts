/**
 * Whose silence says that it is missing.
 *
 * Silence is counted up to our own last beat, which comes back by the same way as everybody's: what was sent
 * before it has been read. So a judge that was paused, or has much to read, takes nobody for dead; nor does
 * one that was cut off, and hears itself first. If somebody may be missing before our next beat, one is sent
 * at that moment, so nobody is missed late.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Beat, Member, Members } from './members.ts';

/**
 * Silence after which a replica is missing, ms: a pause of a second that begins just before a beat is too
 * short, with 150 ms to spare for a busy machine.
 */
export const silenceMaxMs = 1_350;

export interface PresenceParts {
  readonly clock: Clock;
  /** This replica as it last heard itself. */
  readonly self: () => Member | undefined;
  readonly members: Pick<Members, 'all' | 'note'>;
  readonly beat: () => void;
}

export function createPresence({ clock, self, members, beat }: PresenceParts) {
  let doubt: Timer | null = null;
  /** When we last heard nothing for too long, not even ourselves: no silence of others. */
  let deaf = { from: 0, until: 0 };
  const isHeard = ({ lastHeard }: Member) => {
    const deafMs = lastHeard < deaf.until ? deaf.until - Math.max(deaf.from, lastHeard) : 0;
    return (self()?.lastHeard ?? lastHeard) - lastHeard - deafMs <= silenceMaxMs;
  };
  const heard = () => members.all().filter(isHeard);
  /** Beats when the first of those who are heard will have been silent for too long. */
  const doubtInTime = () => {
    doubt?.cancel();
    const now = clock.monotonic();
    const first = Math.min(...heard().map(({ lastHeard }) => lastHeard)) + silenceMaxMs + 1;
    if (first > now) doubt = clock.after(first - now, beat);
  };
  return {
    /** Notes our own beat. @returns whether somebody turned out to be missing */
    noteOwn(own: Beat): boolean {
      const before = heard().length;
      const from = self()?.lastHeard;
      const until = clock.monotonic();
      if (from !== undefined && until - from > silenceMaxMs) deaf = { from, until };
      members.note(own);
      doubtInTime();
      return heard().length < before;
    },
    isHeard,
    heard,
    /** Whether the broker brings us our own beats. */
    hearsSelf(): boolean {
      const lastHeard = self()?.lastHeard ?? Number.NEGATIVE_INFINITY;
      return clock.monotonic() - lastHeard <= silenceMaxMs;
    },
    stop: (): void => doubt?.cancel(),
  };
}
