/**
 * Waiting events that a Pod can take in one step: what several Services say to it. A step saves the whole
 * record, and where a thousand Pods ask twenty Services each, a step for each word is most of the work.
 * Merged events are of the same word, and the chart does with them what it would do with one after the other.
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import type { PodEvent } from './pod-events.ts';

/** So many words in one step: a transition on the feed stays small. */
const mergedMax = 24;

/** The event that stands for both; null if each must be taken for itself. */
export function mergedForPod(waiting: PlainEvent, next: PlainEvent): PlainEvent | null {
  return mergedEvents(waiting as PodEvent, next as PodEvent);
}

function mergedEvents(waiting: PodEvent, next: PodEvent): PodEvent | null {
  if (waiting.type === 'route.proven' && next.type === 'route.proven') {
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
