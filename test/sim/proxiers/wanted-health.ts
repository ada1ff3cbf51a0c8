/** What is to be answered of a node, from how its proxy and its Node really stand (proxiers.md §2, §3). */

import { nodes } from '../../../src/features/proxiers/resources.ts';
import { isFields } from '../api/patching.ts';
import type { ApiStage } from '../features/feature-world.ts';
import type { Endpoint } from './load-balancer.ts';
import { families, type NodeProxy } from './node-proxy.ts';

export const timeoutMs = 6_000;

/** @param proxy how it stands @param wasSeen whether its proxier has ever seen the Node */
export function wantedStatus(
  stage: ApiStage,
  proxy: NodeProxy,
  endpoint: Endpoint,
  wasSeen: boolean,
): 200 | 503 {
  if (isLate(proxy, stage.clock.now())) return 503;
  return endpoint === 'livez' || isEligible(stage, proxy.node, wasSeen) ? 200 : 503;
}

/** Whether somebody's clock that is ahead by so much says otherwise than the right one. */
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
  // One that was never seen is not known: its proxy may be ahead of it.
  if (node === null) return !wasSeen;
  const { taints = [] } = (node.spec ?? {}) as { taints?: readonly unknown[] };
  const isMarked = taints.some((one) => isFields(one) && one.key === 'ToBeDeletedByClusterAutoscaler');
  return node.metadata.deletionTimestamp === undefined && !isMarked;
}
