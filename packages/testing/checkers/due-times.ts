/**
 * When the deadlines of records are over, by the world's clock.
 *
 * A record names the moment by the clock of the replica that wrote it, which may have been wrong; that
 * replica waits as long as was meant (`delayMs`) from when it set the deadline. A replica that reads the
 * record later goes by the moment. Either is right, so a deadline is over only once both times are.
 */
import type { ActorRecord, TimerRecord } from '../../../src/actors/host/records.ts';

export interface DueTimes {
  /** A record was stored. */
  note(id: string, record: ActorRecord): void;
  /** @returns world time, ms since the epoch */
  of(id: string, timer: TimerRecord): number;
}

/** @param now world time, ms since the epoch */
export function createDueTimes(now: () => number): DueTimes {
  /** Since when each deadline has been in the record, by actor. */
  const actors = new Map<string, ReadonlyMap<string, number>>();
  const keyOf = ({ id, at }: TimerRecord) => `${id} ${at}`;
  return {
    note(id, { timers }) {
      const before = actors.get(id);
      actors.set(id, new Map(timers.map(keyOf).map((key) => [key, before?.get(key) ?? now()])));
    },
    of(id, timer) {
      const setAt = actors.get(id)?.get(keyOf(timer)) ?? 0;
      return Math.max(timer.at, setAt + (timer.delayMs ?? 0));
    },
  };
}
