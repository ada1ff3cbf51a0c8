/**
 * The last Service of a group, when it leaves a Pod that waits for it: it may only be in the course of being
 * replaced, as by `kubectl replace --force`, so the Pod waits for a moment (docs/features/routes.md §3.9).
 * The deadline runs once, from when the chart has noted that: no time is compared. Pure.
 */
import { isConditionTrue, isSame, type PodContext } from './pod-context.ts';
import type { PodFacts } from './pod-facts.ts';

/** How long a Pod waits for another one, ms: a replacement takes less than a second. */
export const returnMs = 2_000;

/** Whether the last Service leaves a Pod that waits for it, or another one comes. */
export function withLastLeft(context: PodContext, facts: PodFacts | null): Pick<PodContext, 'lastLeft'> {
  const { facts: before, lastLeft } = context;
  if (facts === null) return {};
  if (Object.keys(facts.services).length > 0 || !isSame(before, facts))
    return lastLeft ? { lastLeft: null } : {};
  const isLeft = Object.values(before?.services ?? {}).some((uid) => uid !== null);
  return isLeft && !isConditionTrue({ ...context, facts }) ? { lastLeft: 'untimed' } : {};
}
