/**
 * Which Services watch the routes of a Pod whose gate withdraws (docs/features/routes.md §6): each that has
 * proven it has to, and says so with its proof, or once it is told. One that watches no longer tells the Pod
 * so. Pure.
 */
import { equal } from '../../base/equal.ts';
import type { RouteProven, RouteWatching } from '../service/route-events.ts';
import {
  isWithdrawn,
  ownProofs,
  type PodContext,
  remembered,
  valid,
  without,
  withProof,
} from './pod-context.ts';
import type { PodFacts } from './pod-facts.ts';

/** Whether lost routes are to be noticed, and can be noticed. */
export function isWatched(context: Pick<PodContext, 'facts'>): boolean {
  return isWithdrawn(context) && context.facts?.verifiable === true && valid(context.facts) !== null;
}

/** What new facts change, with who still watches: the same Services, the same Pod, at the same address. */
export function rememberedWatches(context: PodContext, facts: PodFacts | null): Partial<PodContext> {
  const { facts: before, watches = {} } = context;
  const changes = remembered(context, facts);
  if (facts === null || Object.keys(watches).length === 0) return changes;
  const isSamePod = before?.uid === facts.uid && equal(before.address, facts.address);
  const isStill = ([service]: readonly [string, unknown]) =>
    isSamePod && facts.services[service] === before.services[service] && isWatched({ facts });
  return { ...changes, watches: Object.fromEntries(Object.entries(watches).filter(isStill)) };
}

/**
 * What a proof changes: it says whether the Service watches the route. One that crossed the withdrawal of its
 * question does not: the Service has forgotten the Pod.
 */
export function provenAndWatched(context: PodContext, event: RouteProven): Partial<PodContext> {
  const { watches = {}, asked } = context;
  const changes = withProof(context, event);
  if (!isWatched(context)) return changes;
  const proofs = ownProofs(context, event);
  const known = without(watches, ...proofs.map(({ service }) => service));
  const news = proofs.filter(({ service, watched }) => watched === true && asked.includes(service));
  const added = news.map(({ service }) => [service, true as const]);
  return { ...changes, watches: { ...known, ...Object.fromEntries(added) } };
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

/** Whom the Pod tells now: those that do not know it yet, or else those that it told in vain. */
export function toTell(context: PodContext): string[] {
  const names = unwatched(context);
  return names.length > 0 ? names : unconfirmed(context);
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
