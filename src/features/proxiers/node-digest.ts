/** The digest of Nodes, and whether a Node should get new traffic. Pure. */
import { type AnyDigest, asDigest, type DigestBase } from '../../base/digests.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { list, record } from '../../kube/api/fields.ts';

export interface NodeDigest extends DigestBase {
  readonly kind: 'nodes';
  /** The autoscaler has marked it (taint `ToBeDeletedByClusterAutoscaler`, with any value and effect). */
  readonly toBeDeleted: boolean;
}

/** The cluster autoscaler's mark on a Node that it is about to delete. */
const deletionTaint = 'ToBeDeletedByClusterAutoscaler';

export function nodePart(object: KubeObject): Pick<NodeDigest, 'toBeDeleted'> {
  const taints = list(record(object.spec).taints).map(record);
  return { toBeDeleted: taints.some(({ key }) => key === deletionTaint) };
}

/** Whether a Node should get new traffic; null: there is no such Node. */
export function nodeEligibility(digest: AnyDigest | null): 'eligible' | 'ineligible' | 'absent' {
  const node = asDigest<NodeDigest>(digest, 'nodes');
  if (node === null) return 'absent';
  return node.deleting || node.toBeDeleted ? 'ineligible' : 'eligible';
}
