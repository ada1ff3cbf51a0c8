/**
 * Which Services watch the routes of a Pod whose gate withdraws (docs/features/routes.md §6): each that has
 * proven it has to, and says so with its proof, or once it is told. A Service that watches no longer tells the
 * Pod so. Pure.
 */
import type { RouteProof, RouteWatching } from '../service/route-events.ts';
import { isWithdrawn, type PodContext, valid, without } from './pod-context.ts';
import type { PodFacts } from './pod-facts.ts';

/** Whether lost routes are to be noticed, and can be noticed. */
export function isWatched(context: Pick<PodContext, 'facts'>): boolean {
  return isWithdrawn(context) && context.facts?.verifiable === true && valid(context.facts) !== null;
}

/** Of a gate that does not withdraw nobody need watch anything. */
export function watchesStill(
  { watches = {} }: PodContext,
  facts: PodFacts,
  isStill: (service: string) => boolean,
): Pick<PodContext, 'watches'> {
  if (!isWatched({ facts })) return Object.keys(watches).length === 0 ? {} : { watches: {} };
  return { watches: Object.fromEntries(Object.entries(watches).filter(([service]) => isStill(service))) };
}

/**
 * A proof says whether the Service watches the route. One that crossed the withdrawal of its question does
 * not count: the Service has forgotten the Pod.
 */
export function watchesSince(
  context: PodContext,
  proofs: readonly RouteProof[],
): Pick<PodContext, 'watches'> {
  const { watches = {}, asked } = context;
  if (!isWatched(context)) return {};
  const known = without(watches, ...proofs.map(({ service }) => service));
  const news = proofs.filter(({ service, watched }) => watched === true && asked.includes(service));
  return {
    watches: { ...known, ...Object.fromEntries(news.map(({ service }) => [service, true as const])) },
  };
}

/** Services that have proven this Pod and do not know that it wants to be watched. */
export function unwatched(context: PodContext): string[] {
  const { facts, proofs, watches = {} } = context;
  if (!isWatched(context)) return [];
  return Object.keys(proofs).filter((name) => facts?.services[name] === proofs[name] && !(name in watches));
}

/** Services that were told so and have not confirmed it. */
export function unconfirmed({ watches = {} }: PodContext): string[] {
  return Object.keys(watches).filter((name) => watches[name] !== true);
}

/** The Services have been told once more. */
export function toldToWatch({ watches = {} }: PodContext, names: readonly string[]): Partial<PodContext> {
  const told = names.map((name): [string, number] => [name, Number(watches[name] ?? 0) + 1]);
  return { watches: { ...watches, ...Object.fromEntries(told) } };
}

/**
 * How long a Pod waits for the word that it is watched: 5 s, doubling to ten minutes. A Service that is born
 * late, or has no room, has not taken the message.
 */
export function watchPauseMs(context: PodContext): number {
  const times = unconfirmed(context).map((name) => Number(context.watches?.[name]));
  return times.length === 0 ? 300_000 : Math.min(5_000 * 2 ** (Math.min(...times) - 1), 600_000);
}

/** The Services that confirm with this event that they watch the route to this very Pod. */
export function confirmedBy(context: PodContext, event: RouteWatching): string[] {
  const { facts, watches = {} } = context;
  const known = valid(facts);
  return [event, ...(event.also ?? [])].flatMap(({ service, serviceUid, uid, ip }) => {
    const isMine = known?.facts.uid === uid && known.address.ip === ip;
    const isOwed = service in watches && watches[service] !== true;
    return isMine && isOwed && facts?.services[service] === serviceUid ? [service] : [];
  });
}

/** The Services have confirmed that they watch. */
export function withWatches(context: PodContext, event: RouteWatching): Partial<PodContext> {
  const names = confirmedBy(context, event).map((name) => [name, true as const]);
  return { watches: { ...context.watches, ...Object.fromEntries(names) } };
}
