/**
 * How long each process may be silent before it is missing.
 *
 * One that is heard again after it was missing had been late, because a processor or the network is scarce.
 * Each time, it loses what it holds. Two starved replicas would take everything from each other for ever,
 * each made late by the work of taking it. So from the second time within a minute on, a process may be
 * silent for half as long again as it was, up to ten seconds, until it has been in time for a minute. A
 * longer stop is no lateness.
 */
import type { Member } from './members.ts';

/**
 * Silence after which a replica is missing, ms: a pause of a second that begins just before a beat is too
 * short, with 150 ms to spare for a busy machine.
 */
export const silenceMaxMs = 1_350;
/** The most that a late one is allowed, ms. */
const lateMaxMs = 10_000;
/** Lateness counts for so long, ms. */
const recentMs = 60_000;

interface Late {
  /** When it last was late, this replica's monotonic ms. */
  at: number;
  allowedMs: number;
}

/** @param onLate a process is allowed more from now on, ms */
export function createPatience(onLate: (member: Member, allowedMs: number) => void = () => {}) {
  /** By incarnation: those who are missing, and when each was last heard. */
  const missing = new Map<string, number>();
  const late = new Map<string, Late>();

  function cameBack(member: Member, silentMs: number, now: number): void {
    if (silentMs > lateMaxMs) return;
    const { incarnation } = member;
    const before = lately(member, now);
    if (before === undefined) {
      late.set(incarnation, { at: now, allowedMs: silenceMaxMs });
      return;
    }
    const allowedMs = Math.min(lateMaxMs, Math.max(before.allowedMs, 1.5 * silentMs));
    late.set(incarnation, { at: now, allowedMs });
    onLate(member, allowedMs);
  }

  const lately = ({ incarnation }: Pick<Member, 'incarnation'>, now: number): Late | undefined => {
    const known = late.get(incarnation);
    return known !== undefined && now - known.at <= recentMs ? known : undefined;
  };
  const allowedMs = (member: Pick<Member, 'incarnation'>, now: number) =>
    lately(member, now)?.allowedMs ?? silenceMaxMs;

  return {
    allowedMs,
    isLate: (member: Pick<Member, 'incarnation'>, now: number): boolean => lately(member, now) !== undefined,
    /**
     * Looks who has become missing, and who was late.
     *
     * @param silentMs how long one has been silent
     * @param isGone whether one is known to be missing, however short it has been silent
     */
    look(
      members: readonly Member[],
      silentMs: (member: Member) => number,
      isGone: (member: Member) => boolean,
      now: number,
    ): void {
      for (const member of members) {
        const { incarnation, lastHeard } = member;
        const silent = silentMs(member);
        const since = missing.get(incarnation);
        if (isGone(member) || silent > allowedMs(member, now)) missing.set(incarnation, since ?? lastHeard);
        else if (since !== undefined) {
          missing.delete(incarnation);
          cameBack(member, lastHeard - since, now);
        } else if (silent > silenceMaxMs) {
          const known = late.get(incarnation);
          if (known !== undefined) known.at = now;
        }
      }
      const known = new Set(members.map(({ incarnation }) => incarnation));
      for (const book of [missing, late])
        for (const incarnation of book.keys()) if (!known.has(incarnation)) book.delete(incarnation);
    },
  };
}
