/**
 * "A holder other than us is respected until it was seen to change + the *record's* `leaseDurationSeconds`.
 * An empty holder is free at once" (docs/features/elections.md §1.3).
 */

import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { leaseRecordOf } from '../../../../src/features/elections/lease.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';
import type { ElectionPeople } from '../election-world.ts';

/** @param slackMs how much later we see a Lease written than the one who takes it */
export const foreignHolder = (
  { api }: SeenStage,
  { candidates }: ElectionPeople,
  slackMs = 0,
): CheckerKind => ({
  name: 'a foreign holder is respected',
  create(eye) {
    /** Since when each Lease has been as it is. */
    const since = new Map<string, number>();
    api.onWrite(({ resource, before, after, by, at = eye.now() }) => {
      if (resource.plural !== 'leases') return;
      const { name } = (after ?? before)?.metadata ?? {};
      const stoodMs = at - (since.get(name ?? '') ?? 0);
      since.set(name ?? '', at);
      if (before === null || after === null || !isReplica(by)) return;
      const { holder, durationSeconds } = leaseRecordOf(before);
      const isForeign = holder !== '' && !candidates.some((one) => one.name === holder);
      if (isForeign && stoodMs + slackMs < durationSeconds * 1_000)
        eye.breach(
          `${by} takes the Lease ${name} from ${holder}, which wrote it ${Math.round(stoodMs)} ms ago`,
        );
    });
    return () => {};
  },
});
