/**
 * "Without the flag, slices of others are read and never written" and "a slice whose `managed-by` somebody
 * changed is theirs" (docs/features/endpoints.md §7.4, §5.4): no replica changes or deletes a slice that is
 * another's by its label, unless it is to take over that writer's.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { managedByLabel } from '../../../../src/features/endpoints/slice-labels.ts';
import { endpointSlices } from '../../../../src/kube/api/resources.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';

/** @param writers whose slices it may write */
export const othersSlices = ({ api }: SeenStage, writers: readonly string[]): CheckerKind => ({
  name: 'slices of others are not written',
  create({ breach }) {
    api.onWrite(({ resource, before, by }) => {
      if (resource.plural !== endpointSlices.plural || before === null || !isReplica(by)) return;
      const { name, labels } = before.metadata;
      const writer = labels?.[managedByLabel] ?? '';
      if (!writers.includes(writer)) breach(`${by} writes to ${name}, which is ${writer || 'nobody'}'s`);
    });
    return () => {};
  },
});
