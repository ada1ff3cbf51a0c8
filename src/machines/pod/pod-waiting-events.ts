/**
 * Merges a Pod's waiting events, which are messages from several Services, into one step. A step saves the
 * whole record: when a thousand Pods ask twenty Services each, a step for each message would be most of the
 * work. Only events of the same type are merged, with the same result as one after another.
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import type { Waiting } from '../chart.ts';
import { ownProofs, type PodContext, unproven } from './pod-context.ts';
import type { PodEvent } from './pod-events.ts';
import { confirmedBy, unconfirmed } from './pod-watches.ts';

/** The most messages in one step, so that a transition on the feed stays small. */
const mergedMax = 24;

/** The event that stands for both; null if they cannot be merged. */
export function mergedForPod(waiting: PlainEvent, next: PlainEvent): PlainEvent | null {
  return mergedEvents(waiting as PodEvent, next as PodEvent);
}

/** Longest wait, ms, of news that is only for people, and of a proof while others are owed. */
const patienceMs = 5_000;

/** Longest wait, ms, of the word that a Service watches: less than it takes to be told again. */
const watchPatienceMs = 2_000;

/**
 * Proofs wait for those that are still owed, since nothing follows from any before the last: twenty Services
 * that reach the Pod within a second cost one step.
 */
export function patienceOfPod(standing: Waiting, events: readonly PlainEvent[]): number {
  const context = standing.context as PodContext;
  const proven = new Set<string>();
  const watching = new Set<string>();
  for (const event of events as readonly PodEvent[]) {
    if (event.type === 'route.proven') {
      for (const { service } of ownProofs(context, event)) proven.add(service);
    } else if (event.type === 'route.watching') {
      for (const service of confirmedBy(context, event)) watching.add(service);
    } else if (event.type !== 'route.missed') return 0;
  }
  if (watching.size > 0 && proven.size === 0)
    return unconfirmed(context).every((name) => watching.has(name)) ? 0 : watchPatienceMs;
  return unproven(context).every((name) => proven.has(name)) ? 0 : patienceMs;
}

function mergedEvents(waiting: PodEvent, next: PodEvent): PodEvent | null {
  if (waiting.type === 'route.proven' && next.type === 'route.proven') {
    const also = together(waiting, next);
    return also === null ? null : { ...waiting, also };
  }
  if (waiting.type === 'route.watching' && next.type === 'route.watching') {
    const also = together(waiting, next);
    return also === null ? null : { ...waiting, also };
  }
  if (waiting.type === 'route.missed' && next.type === 'route.missed') {
    const also = together(waiting, next);
    return also === null ? null : { ...waiting, also };
  }
  return null;
}

function together<One extends object>(
  { also: known = [] }: { readonly also?: readonly One[] },
  next: One & { readonly type: string; readonly also?: readonly One[] },
): readonly One[] | null {
  const { type: _, also = [], ...own } = next;
  const all = [...known, own as unknown as One, ...also];
  return all.length < mergedMax ? all : null;
}
