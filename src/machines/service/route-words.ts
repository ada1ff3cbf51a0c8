/** What a Service tells Pods, and the other Services of its group. Pure. */
import type { ActorId } from '../../base/ids.ts';
import type { MessageSend } from '../effects.ts';
import { hasPassed } from '../stamp.ts';
import type { PodPlace } from './route-events.ts';
import { hasLeft, isAskable, lostPods } from './route-rounds.ts';
import {
  isSamePod,
  isWatching,
  type ServiceContext,
  type ServiceInput,
  type Want,
} from './service-context.ts';

interface Moment {
  readonly context: ServiceContext;
  readonly event: ServiceInput;
}
type Sending = Omit<MessageSend, 'type'>;

const ownUid = ({ facts }: ServiceContext) => facts?.uid.slice(0, 8) ?? '';
const own = (context: ServiceContext) => ({ service: context.name, serviceUid: ownUid(context) });
const ownId = ({ namespace, name }: ServiceContext): ActorId => `service/${namespace}/${name}`;

/** Tells a Pod that it was reached, and whether it is watched from then on. */
export function proof(context: ServiceContext, place: PodPlace, watched: readonly Want[]): Sending {
  const { pod, uid, ip } = place;
  const isWatched = isWatching(context) && watched.some((one) => isSamePod(one, place));
  const event = { type: 'route.proven', ...own(context), uid, ip, ...(isWatched && { watched: true }) };
  return { to: [pod], event };
}

/** Tells a Pod that asked for it that it is watched. */
export function confirmation(context: ServiceContext, { pod, uid, ip }: PodPlace): Sending {
  return { to: [pod], event: { type: 'route.watching', ...own(context), uid, ip } };
}

/** Tells every Pod that asked, and has not heard it, that this Service cannot tell its Pods apart. */
export function verdict({ context }: Pick<Moment, 'context'>): Sending {
  const event = { type: 'route.unverifiable', ...own(context) } as const;
  return { to: context.wants.filter(({ judged }) => !judged).map(({ pod }) => pod), event };
}

/**
 * A Pod hears of its loss at least this long before its 30 s are over, however long nobody could look; ms.
 */
export const lastChanceMs = 4_000;

/** Pods that one message names: each of them gets the whole of it, and a step sends 32 at most. */
const lostMax = 100;

export function losses(moment: Moment): Sending[] {
  const { context, event } = moment;
  return tellingLoss(context, lostPods(context, event.at), (one) => lostSince(one, moment));
}

/** The Service goes, and forgets who asked. A Pod that does not hear of that has to ask again. */
export function farewells({ context, event }: Moment): Sending[] {
  if (context.facts === null) return [];
  const pods = new Map([...context.watched, ...context.wants].map((one) => [one.pod, one]));
  return tellingLoss(context, [...pods.values()], () => event.at);
}

function tellingLoss(context: ServiceContext, pods: readonly Want[], since: (one: Want) => number) {
  const messages = Math.ceil(pods.length / lostMax);
  return Array.from({ length: messages }, (_, n): Sending => {
    const lost = pods.slice(n * lostMax, (n + 1) * lostMax);
    const about = { ...own(context), uids: lost.map(({ uid }) => uid), since: lost.map(since) };
    return { to: lost.map(({ pod }) => pod), event: { type: 'route.lost', ...about } };
  });
}

/**
 * A Pod that left the endpoints is lost from now on. One that was missed may have been lost ever since it was
 * last reached.
 */
function lostSince(one: Want, { context, event }: Moment): number {
  if (hasLeft(one, context.facts)) return event.at;
  return Math.max(one.at, event.at - 30_000 + lastChanceMs);
}

/** How old a want is before its Pod hears what answers instead, ms: most are met sooner. */
const curiousMs = 3_000;

export const toTell = ({ wants, lastRound }: ServiceContext, at: number): readonly Want[] =>
  lastRound === null ? [] : wants.filter((want) => want.curious && hasPassed(curiousMs, want.at, at));

/** Tells waiting Pods what answers in their place. */
export function missedNews({ context, event }: Moment): Sending {
  return {
    to: toTell(context, event.at).map(({ pod }) => pod),
    event: {
      type: 'route.missed',
      ...own(context),
      answer: answerText(context),
      unhealthy: (context.lastRound?.unhealthy ?? []).slice(0, unhealthyMax),
    },
  };
}

const unhealthyMax = 100;
const answerCharsMax = 160;

export function answerText({ lastRound, facts }: ServiceContext): string {
  if (lastRound === null) return 'has not been probed yet';
  const { healthy, unhealthy, anonymous, anonymousStatus, unreachable, lastError } = lastRound;
  // No number that differs from round to round, or the message for people would be rewritten for nothing.
  const [one] = [...healthy].sort();
  const status = anonymousStatus === undefined ? '' : `with status ${anonymousStatus} and `;
  // Whoever is missed may be behind what went wrong, hardly behind the answers of others.
  const parts = [
    anonymous > 0 ? `answers ${status}without ${headerNames(facts)}` : '',
    unhealthy.length > 0 ? `answered with another status than 200 by ${[...unhealthy].sort()[0]}` : '',
    unreachable > 0 ? `calls failed: ${lastError ?? ''}` : '',
    one === undefined ? '' : `answered by ${one}${healthy.length > 1 ? ' and others' : ''}`,
  ].filter((part) => part !== '');
  return (parts.join('; ') || 'no answer').slice(0, answerCharsMax);
}

function headerNames(facts: ServiceContext['facts']): string {
  const probe = facts?.probes.IPv4 ?? facts?.probes.IPv6;
  return `${probe?.podIPHeaders.IPv4 ?? 'Pod-IPv4'} or ${probe?.podIPHeaders.IPv6 ?? 'Pod-IPv6'}`;
}

const peersOf = ({ namespace, facts }: ServiceContext): readonly ActorId[] =>
  (facts?.peers ?? []).map((peer): ActorId => `service/${namespace}/${peer}`);

const silentPeers = (context: ServiceContext) =>
  peersOf(context).filter((peer) => !context.unseen.includes(peer));

/** Every other Service of the group has said that no answer of its own carried the header. */
export const isGroupUnseen = (context: ServiceContext): boolean => silentPeers(context).length === 0;

/**
 * Asks the Services of the group that have not said so yet whether any of their answers ever carried the
 * header.
 */
export function headerQuestion({ context }: Pick<Moment, 'context'>): Sending {
  return { to: silentPeers(context), event: { type: 'header.asked', service: ownId(context) } };
}

/** Tells the group's other Services, some of which asked, that answers of this one carry the header. */
export function headerNews({ context }: Moment): Sending {
  return { to: peersOf(context), event: { type: 'header.seen' } };
}

export function headerAnswer({ event }: Moment): Sending {
  return { to: event.type === 'header.asked' ? [event.service] : [], event: { type: 'header.seen' } };
}

/**
 * Whether this Service can already say that it has not seen the header: a round of its own is over, or none
 * will come.
 */
export const canDeny = (context: ServiceContext): boolean =>
  context.header !== 'yes' && (context.lastRound !== null || !isAskable(context));

export function headerDenial({ context }: Moment): Sending {
  return { to: context.inquirers, event: { type: 'header.unseen', service: ownId(context) } };
}
