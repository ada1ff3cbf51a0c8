/**
 * "An object of that name without our labels is left alone" and "An object of another Orrery, or of another
 * bundle, is never changed and never deleted" (docs/features/releases.md §3.3, §3.4, §3.6): whatever a
 * replica writes over or prunes carries the label of this bundle, or, where it is written over, the bare one.
 *
 * Kubernetes has no apply that only creates: what somebody creates between the look and the apply gets our
 * fields beside his, and has to be given back as it was by the replica's next write to it.
 */
import type { CheckerKind, SeenReplica } from '../../../../packages/testing/checkers/checker.ts';
import { equal } from '../../../../src/base/equal.ts';
import type { KubeObject } from '../../../../src/base/kube-port.ts';
import { builtinLabel, bundleLabel } from '../../../../src/features/releases/bundle.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';
import { bundleId, forgedName } from '../release-world.ts';

/** Somebody's object that got our fields. */
interface Joined {
  readonly before: KubeObject;
  readonly by: SeenReplica;
}

const leavesOf = ({ metadata: { labels = {} }, data = {} }: KubeObject) =>
  Object.entries({ ...labels, ...(data as object) });
const isWithin = (one: KubeObject, other: KubeObject) =>
  leavesOf(one).every((leaf) => leavesOf(other).some((same) => equal(same, leaf)));
const isLike = (one: KubeObject, other: KubeObject) => isWithin(one, other) && isWithin(other, one);

/** @param isFailing whether requests fail: who hears no answer cannot know whose object it was */
export const onlyOurs = ({ api }: SeenStage, isFailing: () => boolean): CheckerKind => ({
  name: 'nothing is touched that is not ours',
  create(eye) {
    const joined = new Map<string, Joined>();
    const kept = ({ before, by }: Joined) => {
      if (eye.replicas().includes(by))
        eye.breach(`${by.name} keeps ${before.metadata.name}, which somebody else created`);
    };
    api.onWrite(({ resource, before, after, by }) => {
      if (resource.plural !== 'configmaps' || before === null || !isReplica(by)) return;
      const { uid = '', name, labels = {} } = before.metadata;
      const met = joined.get(uid);
      joined.delete(uid);
      if (met !== undefined && after !== null && isLike(after, met.before)) return;
      if (met?.by.name === by) kept(met);
      const { [bundleLabel]: bundle, [builtinLabel]: builtin } = labels;
      const isOurs = bundle === bundleId && name !== forgedName;
      if (isOurs || (after !== null && bundle === undefined && builtin === 'true')) return;
      const what = after === null ? 'prunes' : 'writes over';
      if (after === null || bundle !== undefined || !isWithin(before, after))
        return eye.breach(`${by} ${what} ${name}, which is ${bundle ?? 'nobody’s that it knows'}`);
      const replica = eye.replicas().find((one) => one.name === by);
      if (replica !== undefined && !isFailing()) joined.set(uid, { before, by: replica });
    });
    return ({ kind }) => {
      if (kind === 'end') for (const one of joined.values()) kept(one);
    };
  },
});
