/**
 * Merges a Service's waiting events into one step: questions of many Pods, and answers of one sampling round.
 *
 * A step saves the actor's whole record. When a thousand Pods ask one Service and its rounds reach them, a
 * step for each event would write a record of a thousand questions about a thousand times. Only events of the
 * same type are merged, with the same result as one after another. An idle actor takes each event as it
 * comes.
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import type { Waiting } from '../chart.ts';
import { isIn } from '../tell.ts';
import type { ServiceEvent, ServiceObserved } from './route-events.ts';
import { isRerouted, isWatching, type ServiceContext } from './service-context.ts';
import type { EndpointsObserved } from './slices-events.ts';

/** Each event of a merged one may request an effect, and an outbox keeps room for 32 in one step. */
const mergedMax = 24;

/** The event that stands for both; null if they cannot be merged. */
export function merged(waiting: PlainEvent, next: PlainEvent): PlainEvent | null {
  return mergedEvents(waiting as ServiceEvent, next as ServiceEvent);
}

/** Longest wait, ms. `watched`: of news that may mean the loss of a watched route. */
const patienceMs = { most: 5_000, watched: 500 } as const;

/**
 * While a round waits for its turn, nothing follows from questions or from news of the same routes; its first
 * answer, or its end, takes them along. While nobody wants a proof, nothing follows from such news, nor ever
 * from the word that the Service still has no slices of ours.
 */
export function patienceOfService(standing: Waiting, events: readonly PlainEvent[]): number {
  const context = standing.context as ServiceContext;
  const isSampling = () => isIn(standing, 'routes.sampling') || isIn(standing, 'routes.waiting.waking');
  const isResting = () => isIn(standing, 'routes.resting') && !isWatching(context);
  // The event is tested first: most cannot wait, whatever the state.
  const patience = (event: ServiceEvent): number => {
    if (event.type === 'route.wanted') return isSampling() ? patienceMs.most : 0;
    if (event.type === 'service.endpoints.observed')
      return isOfNoSlices(context, event) ? patienceMs.most : 0;
    const isNews = event.type === 'service.observed' && isOfSameRoutes(context, event);
    if (!isNews || !(isSampling() || isResting())) return 0;
    return isWatching(context) ? patienceMs.watched : patienceMs.most;
  };
  return Math.min(...(events as readonly ServiceEvent[]).map(patience));
}

/** Orrery keeps no slices for the Service, and has none to forget. */
const isOfNoSlices = ({ facts, slices }: ServiceContext, event: EndpointsObserved) =>
  event.facts === null && slices.facts === null && facts !== null;

function isOfSameRoutes(context: ServiceContext, { facts }: ServiceObserved): boolean {
  if (facts === null || context.facts === null || isRerouted(context, facts)) return false;
  return (facts.readyAddresses === null) === (context.facts.readyAddresses === null);
}

function mergedEvents(waiting: ServiceEvent, next: ServiceEvent): ServiceEvent | null {
  if (waiting.type === 'route.wanted' && next.type === 'route.wanted') {
    const { type: _, also = [], ...place } = next;
    const all = [...(waiting.also ?? []), place, ...also];
    return all.length < mergedMax ? { ...waiting, also: all } : null;
  }
  if (waiting.type === 'sample.answered' && next.type === 'sample.answered') {
    const all = [...(waiting.also ?? []), next.ip, ...(next.also ?? [])];
    // Keeps `heardAt` of the earlier one.
    if (waiting.round !== next.round || all.length >= mergedMax) return null;
    const isTold = waiting.pods !== undefined || next.pods !== undefined;
    return { ...waiting, also: all, ...(isTold ? { pods: { ...waiting.pods, ...next.pods } } : {}) };
  }
  return null;
}
