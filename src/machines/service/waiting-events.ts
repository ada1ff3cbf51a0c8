/**
 * Waiting events that one step can take together: questions of many Pods to one Service, and answers of one
 * sampling round.
 *
 * A step saves the whole record of its actor. Where a thousand Pods ask one Service, and each of them is met
 * in its rounds, a step for each would write a record of a thousand questions some thousand times. Merged
 * events are of the same word, and the chart does with them what it would do with one after the other. Events
 * that do not wait are never merged: an actor at leisure takes each as it comes.
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import type { ServiceEvent } from './route-events.ts';

/** Each event of a merged one may ask for an effect, and an outbox keeps room for 32 of a step. */
const mergedMax = 24;

/** The event that stands for both; null if each must be taken for itself. */
export function merged(waiting: PlainEvent, next: PlainEvent): PlainEvent | null {
  return mergedEvents(waiting as ServiceEvent, next as ServiceEvent);
}

function mergedEvents(waiting: ServiceEvent, next: ServiceEvent): ServiceEvent | null {
  if (waiting.type === 'route.wanted' && next.type === 'route.wanted') {
    const { type: _, also = [], ...place } = next;
    const all = [...(waiting.also ?? []), place, ...also];
    return all.length < mergedMax ? { ...waiting, also: all } : null;
  }
  if (waiting.type === 'sample.answered' && next.type === 'sample.answered') {
    const all = [...(waiting.also ?? []), next.ip, ...(next.also ?? [])];
    return waiting.round === next.round && all.length < mergedMax ? { ...waiting, also: all } : null;
  }
  return null;
}
