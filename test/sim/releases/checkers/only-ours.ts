/**
 * "An object of that name without our labels is left alone" and "An object of another Orrery, or of another
 * bundle, is never changed and never deleted" (docs/features/releases.md §3.3, §3.4, §3.6): whatever a
 * replica writes over or prunes carries the label of this bundle, or, where it is written over, the bare one.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { builtinLabel, bundleLabel } from '../../../../src/features/releases/bundle.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';
import { bundleId } from '../release-world.ts';

export const onlyOurs = ({ api }: SeenStage): CheckerKind => ({
  name: 'nothing is touched that is not ours',
  create(eye) {
    api.onWrite(({ resource, before, after, by }) => {
      if (resource.plural !== 'configmaps' || before === null || !isReplica(by)) return;
      const { [bundleLabel]: bundle, [builtinLabel]: builtin } = before.metadata.labels ?? {};
      const isOurs = bundle === bundleId || (after !== null && bundle === undefined && builtin === 'true');
      const what = after === null ? 'prunes' : 'writes over';
      if (!isOurs)
        eye.breach(`${by} ${what} ${before.metadata.name}, which is ${bundle ?? 'nobody’s that it knows'}`);
    });
    return () => {};
  },
});
