/**
 * Whose silence says that it is missing.
 *
 * Silence is counted up to our own last beat, which comes back by the same way as everybody's: what was sent
 * before it has been read. So a judge that was paused, or has much to read, takes nobody for dead; nor does
 * one that was cut off, and hears itself first. If somebody may be missing before our next beat, one is sent
 * at that moment, so nobody is missed late. NATS may say sooner that a process is gone (roll-call.ts), and
 * who keeps being late is waited for (patience.ts).
 */
import type { Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log-port.ts';
import type { Beat, Member, Members } from './members.ts';
import { createPatience, silenceMaxMs } from './patience.ts';
import { type RollCallParts, startRollCall } from './roll-call.ts';

export interface PresenceParts extends Omit<RollCallParts, 'candidates' | 'hearsSelf'> {
  readonly members: Members;
  readonly log?: Log | undefined;
  readonly beat: () => void;
}

export function createPresence(parts: PresenceParts) {
  const { clock, replica, members, beat, log } = parts;
  const patience = createPatience((late, allowedMs) => tellLate(log, late, allowedMs));
  /** This replica as it last heard itself. */
  const self = () => members.named(replica);
  let doubt: Timer | null = null;
  /** When we last heard nothing for too long, not even ourselves: no silence of others. */
  let deaf = { from: 0, until: 0 };
  const silentMs = ({ lastHeard }: Member) => {
    const deafMs = lastHeard < deaf.until ? deaf.until - Math.max(deaf.from, lastHeard) : 0;
    return (self()?.lastHeard ?? lastHeard) - lastHeard - deafMs;
  };
  const allowedMs = (member: Member) => patience.allowedMs(member, clock.monotonic());
  const isHeard = (member: Member) => silentMs(member) <= allowedMs(member) && !rollCall.isGone(member);
  const heard = () => members.all().filter(isHeard);
  /** Whether the broker brings us our own beats. */
  const hearsSelf = (): boolean => {
    const lastHeard = self()?.lastHeard ?? Number.NEGATIVE_INFINITY;
    return clock.monotonic() - lastHeard <= silenceMaxMs;
  };
  const rollCall = startRollCall({
    ...parts,
    hearsSelf,
    // Those who keep being late are given time.
    candidates: () =>
      heard().filter((one) => one.replica !== replica && !patience.isLate(one, clock.monotonic())),
  });
  /** Beats when the first of those who are heard will have been silent for too long. */
  const doubtInTime = () => {
    doubt?.cancel();
    const now = clock.monotonic();
    const first = Math.min(...heard().map((one) => one.lastHeard + allowedMs(one))) + 1;
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
      patience.look(members.all(), silentMs, rollCall.isGone, until);
      doubtInTime();
      rollCall.look();
      return heard().length < before;
    },
    isHeard,
    heard,
    hearsSelf,
    told: rollCall.told,
    stop(): void {
      doubt?.cancel();
      rollCall.stop();
    },
  };
}

const tellLate = (log: Log | undefined, { replica: late }: Member, allowedMs: number) =>
  log?.warn(
    { late, allowedMs: Math.round(allowedMs) },
    'a replica was silent for too long again, though it lives: it lacks processor time, or its network is slow. What it holds moved; from now on it is waited for. Look at its CPU limit, and at the load of its node and of NATS',
  );
