/**
 * Effect `lease.follow`: says how a Lease is and how it changes, for a while. It writes nothing, so it may
 * run as often as it likes (I5).
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { LeaseFollow } from '../../../machines/election/election-effects.ts';
import type { LeaseFollower } from '../lease-follower.ts';

/** Reports lease.seen; outcome lease.followed when its time is over. */
export function followLease({ follower }: { readonly follower: LeaseFollower }): EffectRunner<LeaseFollow> {
  return async ({ place, seconds, round }, { signal, emit }) => {
    await follower.follow(
      place,
      seconds,
      (news) => emit({ type: 'lease.seen', place, ...news, attempt: null }),
      signal,
    );
    return { type: 'lease.followed', place, error: null, ...(round === undefined ? {} : { round }) };
  };
}
