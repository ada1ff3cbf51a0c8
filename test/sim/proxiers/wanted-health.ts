/** The right answer about a node, from the real state of its proxy and its Node (proxiers.md §2, §3). */

import { nodes } from '../../../src/features/proxiers/resources.ts';
import { isFields } from '../api/patching.ts';
import type { ApiStage } from '../features/feature-world.ts';
import type { Endpoint } from './load-balancer.ts';
import { families, type NodeProxy } from './node-proxy.ts';

export const timeoutMs = 6_000;

/**
 * @param proxy the node's
 * @param wasSeen whether its proxier has ever seen the Node
 */
export function wantedStatus(
  stage: ApiStage,
  proxy: NodeProxy,
  endpoint: Endpoint,
  wasSeen: boolean,
): 200 | 503 {
  if (isLate(proxy, stage.clock.now())) return 503;
  return endpoint === 'livez' || isEligible(stage, proxy.node, wasSeen) ? 200 : 503;
}

/** Whether a clock that is ahead by this much says otherwise than the right one. */
export function isNearlyLate(stage: ApiStage, proxy: NodeProxy, aheadMs: number): boolean {
  const now = stage.clock.now();
  return isLate(proxy, now + aheadMs) && !isLate(proxy, now);
}

function isLate(proxy: NodeProxy, now: number): boolean {
  return families.some((family) => {
    const { pendingSince, lastUpdated } = proxy.levels[family];
    return lastUpdated !== null && pendingSince !== null && now - pendingSince >= timeoutMs;
  });
}

function isEligible({ api }: ApiStage, name: string, wasSeen: boolean): boolean {
  const node = api.find(nodes, undefined, name);
  // A Node that was never seen is unknown: its proxy may be ahead of it.
  if (node === null) return !wasSeen;
  const { taints = [] } = (node.spec ?? {}) as { taints?: readonly unknown[] };
  const isMarked = taints.some((one) => isFields(one) && one.key === 'ToBeDeletedByClusterAutoscaler');
  return node.metadata.deletionTimestamp === undefined && !isMarked;
}
