/**
 * Effect `release.round`: one round over all objects of the bundle that this replica leads with.
 *
 * A round that was asked for under an earlier leadership, perhaps by a replica of another release, does
 * nothing here: its leadership is over, and what this replica would apply is not what was meant.
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { ReleaseRound } from '../../../machines/release/release-effects.ts';
import type { ReleaseWork } from '../release-work.ts';

/** @param workUnder the work of the leadership with that fence, if it is this replica's present one */
export function runRound(
  workUnder: (fence: number) => ReleaseWork | null,
  onRound: (failed: number) => void,
): EffectRunner<ReleaseRound> {
  return async ({ fence, round, kinds, release }, { signal }) => {
    const work = workUnder(fence);
    if (work === null || work.release !== release) {
      return { type: 'round.failed', fence, round, message: 'this leadership is over' };
    }
    const summary = await work.round(kinds, signal);
    onRound(summary.failed);
    return { type: 'round.finished', fence, round, summary };
  };
}
