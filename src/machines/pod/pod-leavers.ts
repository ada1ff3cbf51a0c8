/**
 * Services that left the group while the Pod was held back: each may only be in the course of being replaced,
 * as by `kubectl replace --force`, so the Pod waits for a moment before it passes without its proof
 * (docs/decisions/0013-services-that-left.md). Pure.
 */
import { limits } from '../../base/limits.ts';
import { hasPassed } from '../stamp.ts';
import { isConditionTrue, isNothingOwed, isSame, type PodContext } from './pod-context.ts';
import type { PodFacts } from './pod-facts.ts';

/** How long the Pod waits, ms: longer than a Service is away that somebody replaces. */
export const returnMs = 10_000;

/** What new facts change: a Pod that is held back notes who leaves, until they are back or stay away. */
export function withLeavers(
  context: PodContext,
  facts: PodFacts | null,
  at: number,
): Pick<PodContext, 'left'> {
  const { facts: before, left = {} } = context;
  if (facts === null || before === null) return {};
  const isHeld = facts.gated && !facts.deleting && !isConditionTrue({ ...context, facts });
  const askable = Object.entries(isHeld ? before.services : {}).filter(([, uid]) => uid !== null);
  const known = isSame(before, facts)
    ? [...Object.entries(left), ...askable.map(([name]) => [name, at] as const)]
    : [];
  const leavers = known.filter(([name, since]) => !(name in facts.services) && isReturning(since, at));
  if (leavers.length === 0 && context.left === undefined) return {};
  return { left: Object.fromEntries(leavers.slice(-limits.groupServices)) };
}

const isReturning = (since: number, at: number): boolean => !hasPassed(returnMs, since, at);

const isAnyReturning = ({ left = {} }: PodContext, at: number): boolean =>
  Object.values(left).some((since) => isReturning(since, at));

/** Whether the Pod may pass: nothing is owed, nor will be in a moment. */
export const isAllProven = (context: PodContext, at: number): boolean =>
  isNothingOwed(context) && !isAnyReturning(context, at);

/** Whether nothing is owed but by Services that left a moment ago. */
export const isSettling = (context: PodContext, at: number): boolean =>
  isNothingOwed(context) && isAnyReturning(context, at);

/** When the last of those that left is given up, ms since the epoch. */
export const settledAt = ({ left = {} }: PodContext): number =>
  Math.max(0, ...Object.values(left)) + returnMs;
