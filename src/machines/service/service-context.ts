/**
 * The service chart's context and everything pure that is computed from it: who wants what, what a round has to ask, what is told.
 */

import { equal } from '../../base/equal.ts';
import type { ActorId } from '../../base/ids.ts';
import type { MessageSend, RouteSample } from '../effects.ts';
import type { PodPlace, RouteWanted, SampleAnswered, SampleSummary, ServiceEvent, Stamp } from '../events.ts';
import type { RouteProbe, ServiceFacts } from '../facts.ts';
import type { SlicesContext } from './slices-context.ts';

/** A Pod that wants to know whether the Service reaches it, or whether it stops to. */
export interface Want {
  readonly pod: ActorId;
  readonly uid: string;
  readonly ip: string;
  readonly family: 'IPv4' | 'IPv6';
  /** When it was asked last, or reached last, ms since the epoch. */
  readonly at: number;
  /** Rounds in a row that did not reach it, once it was reached. */
  readonly missed: number;
  /** It was seen among the Service's ready endpoints; only who was there can leave. */
  readonly listed: boolean;
}

export interface ServiceContext {
  readonly namespace: string;
  readonly name: string;
  readonly facts: ServiceFacts | null;
  /** Unanswered wants, one for each Pod, oldest first. */
  readonly wants: readonly Want[];
  /** Pods that were reached and want to hear of it when they are not any more. */
  readonly watched: readonly Want[];
  /** Number of the sampling round in work, or of the last one; answers to an older one are ignored. */
  readonly round: number;
  /** The round looks after watched Pods alone; another one may end before it met them. */
  readonly checking: boolean;
  /** Rounds in a row that proved nothing new. */
  readonly fruitless: number;
  /** Something changed while a round was in work: another one follows at once. */
  readonly hurried: boolean;
  /** yes: some answer of the group carried the header; no: the group was asked, none did; unknown: nobody asked yet. */
  readonly header: 'unknown' | 'yes' | 'no';
  /** Some Service of the group asked for the header before it was seen here; they are told once it is. */
  readonly inquired: boolean;
  readonly lastRound: SampleSummary | null;
  readonly lastError: string | null;
  readonly slices: SlicesContext;
}

export type ServiceInput = ServiceEvent & Stamp;
interface Moment {
  readonly context: ServiceContext;
  readonly event: ServiceInput;
}

/** A Pod asks again at least once a minute; three silent minutes mean that it is gone. */
const wantLifetimeMs = 180_000;
/** A repeated question renews the want only when it has aged, so that it seldom costs a write. */
const wantRenewalMs = 50_000;
/** With random balancing a round of three attempts for each replica misses a Pod with probability e^-3; three in a row, 1 in 8,000. */
const missesMax = 3;

/** What the next round asks: the wants of one family, else the watched Pods of one; null: there is nothing that can be asked. */
export function roundOf(context: ServiceContext): { probe: RouteProbe; targets: readonly Want[] } | null {
  return roundFor(context, context.wants) ?? roundFor(context, isWatching(context) ? context.watched : []);
}

/** Families take turns, so that Pods of one that are never reached do not keep the others waiting. */
function roundFor({ facts, round }: ServiceContext, wants: readonly Want[]) {
  const families = [...new Set(wants.map((want) => want.family))].filter((one) => facts?.probes[one]);
  const family = families[round % families.length];
  const probe = family && facts?.probes[family];
  return probe ? { probe, targets: wants.filter((want) => want.family === family) } : null;
}

/** Whether a want can be asked for: the Service has an address of its family and the port. */
export const isAskable = (context: ServiceContext): boolean => roundFor(context, context.wants) !== null;

/** Whether it is another Service under the name, or is asked at another place. */
export function isRerouted({ facts: before }: ServiceContext, facts: ServiceFacts | null): boolean {
  if (before === null || facts === null) return false;
  return before.uid !== facts.uid || !equal(before.probes, facts.probes);
}

export const isStale = (want: Want, event: ServiceInput): boolean => event.at - want.at > wantLifetimeMs;

export const isSamePod = (want: Want, { pod, uid, ip }: PodPlace): boolean =>
  want.pod === pod && want.uid === uid && want.ip === ip;

/** Everybody who asks with this event. */
export const askers = (event: RouteWanted): readonly PodPlace[] => [event, ...(event.also ?? [])];

export const isNewWant = ({ wants }: ServiceContext, pod: PodPlace): boolean =>
  !wants.some((want) => isSamePod(want, pod));

export const isAgedWant = ({ wants }: ServiceContext, pod: PodPlace, { at }: Stamp): boolean =>
  wants.some((want) => isSamePod(want, pod) && at - want.at > wantRenewalMs);

/** The wants with those of the event that are new or have aged. */
export function withWants(context: ServiceContext, event: RouteWanted & Stamp): readonly Want[] {
  const news = askers(event).filter((pod) => isNewWant(context, pod) || isAgedWant(context, pod, event));
  return news.reduce((wants, pod) => withWant(wants, pod, event.at), context.wants);
}

/** The list with the Pod's entry in it, and no older one of the same Pod. */
export function withWant(
  wants: readonly Want[],
  { pod, uid, ip, family }: PodPlace,
  at: number,
): readonly Want[] {
  return [
    ...wants.filter((want) => want.pod !== pod),
    { pod, uid, ip, family, at, missed: 0, listed: false },
  ];
}

/** Whom the answers met. An address belongs to one Pod at a time: whoever asked last. */
export function reached({ wants }: ServiceContext, { ip, also = [] }: SampleAnswered): readonly Want[] {
  return [...new Set([ip, ...also])].flatMap((one) => wants.findLast((want) => want.ip === one) ?? []);
}

/** After answers: who was met is wanted no more, and watched if lost routes are to be noticed. */
export function credited(context: ServiceContext, event: SampleAnswered & Stamp): Partial<ServiceContext> {
  const met = reached(context, event);
  const kept = context.watched.filter((one) => met.every((want) => want.pod !== one.pod));
  const watched = isWatching(context) ? [...kept, ...met.map((want) => watch(context, want, event.at))] : [];
  const ips = new Set(met.map(({ ip }) => ip));
  return { wants: context.wants.filter(({ ip }) => !ips.has(ip)), watched, fruitless: 0, header: 'yes' };
}

function watch({ facts }: ServiceContext, want: Want, at: number): Want {
  return { ...want, at, missed: 0, listed: facts?.readyAddresses?.includes(want.ip) ?? false };
}

/** Whether Pods want to hear of lost routes. */
export const isWatching = ({ facts }: ServiceContext): boolean =>
  facts !== null && facts.readyAddresses !== null;

/** What new facts change: who is among the ready endpoints is noted, to notice when it leaves; whom nobody watches any more is forgotten. */
export function remembered(context: ServiceContext, facts: ServiceFacts | null): Partial<ServiceContext> {
  const ready = facts?.readyAddresses ?? [];
  const isOver = isWatching(context) && facts?.readyAddresses === null;
  return {
    facts,
    watched: (isOver ? [] : context.watched).map((one) => ({
      ...one,
      listed: one.listed || ready.includes(one.ip),
    })),
  };
}

/** What a round that is over changes. Only a round that asked for the watched Pods alone says anything about them. */
export function judged(context: ServiceContext, summary: SampleSummary): Partial<ServiceContext> {
  const hasHeader = summary.healthy.length > 0 || summary.unhealthy.length > 0;
  const watched = context.watched.map((one) => {
    if (summary.healthy.includes(one.ip)) return { ...one, missed: 0 };
    return context.checking ? { ...one, missed: one.missed + 1 } : one;
  });
  return {
    watched,
    lastRound: summary,
    lastError: summary.lastError,
    fruitless: context.fruitless + 1,
    ...(hasHeader ? { header: 'yes' as const } : {}),
  };
}

/** Watched Pods that the Service does not reach any more: missed round after round, or not among its ready endpoints. */
export function lostPods({ watched, facts }: ServiceContext): readonly Want[] {
  const ready = facts?.readyAddresses;
  return watched.filter(({ ip, missed, listed }) => {
    const hasLeft = listed && ready != null && !ready.includes(ip);
    return hasLeft || missed >= missesMax;
  });
}

/** Every answer of the last round came without the header, and there was one. */
export function isAnonymous({ lastRound, header }: ServiceContext): boolean {
  if (lastRound === null || header === 'yes') return false;
  const { anonymous, healthy, unhealthy } = lastRound;
  return anonymous > 0 && healthy.length === 0 && unhealthy.length === 0;
}

/** The specification's bound: attempts for each expected replica. */
export function callsOf({ facts }: ServiceContext, probe: RouteProbe): number {
  return Math.max(1, probe.attemptsPerReplica * (facts?.replicas ?? 1));
}

export function round({ context }: { context: ServiceContext }): Omit<RouteSample, 'type'> {
  const next = roundOf(context);
  return {
    group: `${context.namespace}/${context.name}`,
    round: context.round,
    probe: next?.probe ?? emptyProbe,
    calls: next === null ? 0 : callsOf(context, next.probe),
    wanted: (next?.targets ?? []).map((want) => want.ip),
  };
}

const emptyProbe: RouteProbe = {
  url: '',
  podIPHeaders: { IPv4: '', IPv6: '' },
  timeoutMs: 1,
  attemptsPerReplica: 1,
};

const ownUid = ({ facts }: ServiceContext) => facts?.uid.slice(0, 8) ?? '';

/** Tells the Pod that was met. */
export function proof(context: ServiceContext, { pod, uid, ip }: Want): Omit<MessageSend, 'type'> {
  const service = { service: context.name, serviceUid: ownUid(context) };
  return { to: [pod], event: { type: 'route.proven', ...service, uid, ip } };
}

/** Tells every Pod that asked that this Service cannot tell its Pods apart. */
export function verdict({ context }: Moment): Omit<MessageSend, 'type'> {
  const event = { type: 'route.unverifiable', service: context.name, serviceUid: ownUid(context) } as const;
  return { to: context.wants.map(({ pod }) => pod), event };
}

export function loss({ context }: Moment): Omit<MessageSend, 'type'> {
  const lost = lostPods(context);
  const uids = lost.map(({ uid }) => uid);
  return {
    to: lost.map(({ pod }) => pod),
    event: { type: 'route.lost', service: context.name, serviceUid: ownUid(context), uids },
  };
}

/** Asks the group's other Services whether any answer of theirs ever carried the header. */
export function headerQuestion({ context }: Pick<Moment, 'context'>): Omit<MessageSend, 'type'> {
  return {
    to: (context.facts?.peers ?? []).map((peer): ActorId => `service/${context.namespace}/${peer}`),
    event: { type: 'header.asked', service: `service/${context.namespace}/${context.name}` },
  };
}

/** Tells those that asked, and were not answered then, that answers of this Service carry the header. */
export function headerNews({ context }: Moment): Omit<MessageSend, 'type'> {
  return { to: headerQuestion({ context }).to, event: { type: 'header.seen' } };
}

export function headerAnswer({ event }: Moment): Omit<MessageSend, 'type'> {
  return { to: event.type === 'header.asked' ? [event.service] : [], event: { type: 'header.seen' } };
}
