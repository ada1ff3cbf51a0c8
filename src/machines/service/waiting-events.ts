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
import type { Waiting } from '../chart.ts';
import { isIn } from '../tell.ts';
import type { ServiceEvent } from './route-events.ts';
import { isRerouted, type ServiceContext } from './service-context.ts';

/** Each event of a merged one may ask for an effect, and an outbox keeps room for 32 of a step. */
const mergedMax = 24;

/** The event that stands for both; null if each must be taken for itself. */
export function merged(waiting: PlainEvent, next: PlainEvent): PlainEvent | null {
  return mergedEvents(waiting as ServiceEvent, next as ServiceEvent);
}

/** While a round is in progress nothing follows from questions and news but the next round; ms. */
const patienceMs = 500;

/** Questions and what the world says of the same routes wait for the end of the round, or for its answers. */
export function patienceOfService(standing: Waiting, events: readonly PlainEvent[]): number {
  const context = standing.context as ServiceContext;
  const isBusy = isIn(standing, 'routes.sampling') || isIn(standing, 'routes.waiting.waking');
  const canWait = (event: ServiceEvent) =>
    event.type === 'route.wanted' ||
    (event.type === 'service.observed' && event.facts !== null && !isRerouted(context, event.facts));
  return isBusy && (events as readonly ServiceEvent[]).every(canWait) ? patienceMs : 0;
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
