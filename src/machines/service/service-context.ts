/**
 * The service chart's context, and the pure functions about requests: wants, watches, and evidence kept for
 * Pods that have not asked yet. The content of a round is in route-rounds.ts, the messages in route-words.ts.
 */
import { equal } from '../../base/equal.ts';
import type { ActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ActorInput } from '../actor-input.ts';
import { hasPassed, type Stamp } from '../stamp.ts';
import type {
  Asker,
  PodPlace,
  RouteUnwanted,
  RouteWanted,
  RouteWatched,
  SampleSummary,
  ServiceEvent,
  SpokenAt,
} from './route-events.ts';
import type { ServiceFacts } from './route-facts.ts';
import { noSlices, type SlicesContext } from './slices-context.ts';

/** A Pod that wants to know whether the Service reaches it, or no longer does. */
export interface Want {
  readonly pod: ActorId;
  readonly uid: string;
  readonly ip: string;
  readonly family: 'IPv4' | 'IPv6';
  /** Of the last question that it stands for; absent: of an earlier release. */
  readonly spokenAt?: SpokenAt;
  /** When it last asked or was last reached, ms since the epoch. */
  readonly at: number;
  /** When a round last looked for it after it was reached, ms since the epoch. */
  readonly lookedAt: number;
  /** Looks in a row that missed it after it was reached. */
  readonly missed: number;
  /** It was seen among the Service's ready endpoints; otherwise it cannot leave them. */
  readonly listed: boolean;
  /** It wants to hear what answers instead, and has not been told. */
  readonly curious: boolean;
  /** It has heard that the Service cannot be verified, and waits on. */
  readonly judged?: true;
}

export interface ServiceContext {
  readonly namespace: string;
  readonly name: string;
  readonly facts: ServiceFacts | null;
  /** Unanswered wants, one for each Pod, oldest first. */
  readonly wants: readonly Want[];
  /**
   * Pods that were reached and want to hear when they no longer are. They are kept while the gate says keep:
   * they may never hear of that, and would not ask again.
   */
  readonly watched: readonly Want[];
  /**
   * Pods of the group (by uid) that answered. `told`: they heard it; until then the answer is kept for when
   * they ask.
   */
  readonly met: Readonly<Record<string, { readonly ip: string; readonly told: boolean }>>;
  /** Number of the round in progress, or of the last one; answers to older ones are ignored. */
  readonly round: number;
  /** When it began, ms since the epoch. */
  readonly startedAt: number;
  /** Addresses of the watched Pods that the round looks for. */
  readonly checking: readonly string[];
  /** The group's Pods changed during the round, so an answer cannot be credited to a Pod that did not ask. */
  readonly mixed: boolean;
  /** Rounds in a row that proved nothing new. */
  readonly fruitless: number;
  /** Something changed during a round: another one follows at once. */
  readonly hurried: boolean;
  /**
   * yes: some answer of the group carried the header; no: every Service was asked and none has seen it;
   * unknown: not all have said.
   */
  readonly header: 'unknown' | 'yes' | 'no';
  /** Another Service of the group asked for the header before it was seen here; it is told once it is. */
  readonly inquired: boolean;
  /** Those that wait for the end of a round to hear that it was not seen. */
  readonly inquirers: readonly ActorId[];
  /** Services of the group that have not seen it. */
  readonly unseen: readonly ActorId[];
  readonly lastRound: SampleSummary | null;
  readonly lastError: string | null;
  readonly slices: SlicesContext;
}

export type ServiceInput = ServiceEvent & Stamp;

/** The context before the first event. */
export const newborn = ({ namespace, name }: ActorInput): ServiceContext => ({
  namespace,
  name,
  facts: null,
  wants: [],
  watched: [],
  met: {},
  round: 0,
  startedAt: 0,
  checking: [],
  mixed: false,
  fruitless: 0,
  hurried: false,
  header: 'unknown',
  inquired: false,
  inquirers: [],
  unseen: [],
  lastRound: null,
  lastError: null,
  slices: noSlices,
});

/** A Pod asks again at least once a minute; after three minutes of silence it is gone. */
const wantLifetimeMs = 180_000;
/** A repeated question renews the want only when it has aged, so it seldom costs a write. */
const wantRenewalMs = 50_000;

/** Whether this is another Service under the name, serves another gate, or is asked at another place. */
export function isRerouted({ facts: before }: ServiceContext, facts: ServiceFacts | null): boolean {
  if (before === null || facts === null) return false;
  return before.uid !== facts.uid || isOtherGate(before, facts) || !equal(before.probes, facts.probes);
}

const isOtherGate = (before: ServiceFacts, facts: ServiceFacts) =>
  before.gate !== undefined && facts.gate !== undefined && before.gate !== facts.gate;

export const isStale = (want: Want, event: ServiceInput): boolean => event.at - want.at > wantLifetimeMs;

export const isSamePod = (want: Want, { pod, uid, ip }: PodPlace): boolean =>
  want.pod === pod && want.uid === uid && want.ip === ip;

/** Every Pod that asks with this event. */
export const askers = (event: RouteWanted): readonly Asker[] => [event, ...(event.also ?? [])];

export const isNewWant = (context: ServiceContext, pod: PodPlace): boolean =>
  !isMet(context, pod) && !context.wants.some((want) => isSamePod(want, pod));

/** Worth a write, but not a new round. */
export const isAgedWant = ({ wants }: ServiceContext, pod: Asker, { at }: Stamp): boolean =>
  wants.some(
    (want) => isSamePod(want, pod) && (isAged(want, at) || isCurious(want, pod) || isEarlier(want, pod)),
  );

const isAged = (want: Want, at: number) => hasPassed(wantRenewalMs, want.at, at);

/** Whether the want stands for an earlier question than this one. */
const isEarlier = (want: Want, { spokenAt = 0 }: Asker) => (want.spokenAt ?? 0) < spokenAt;

/** Whether the Pod takes back what the want stands for: not a question that it sent later. */
export const isTakenBack = (want: Want, { pod, uid, spokenAt }: RouteUnwanted): boolean =>
  want.pod === pod && want.uid === uid && (want.spokenAt ?? 0) <= (spokenAt ?? Number.POSITIVE_INFINITY);

/** Who wants or watches once the Pod has taken its question back. */
export function withoutTakenBack({ wants, watched }: ServiceContext, event: RouteUnwanted) {
  const isOther = (want: Want) => !isTakenBack(want, event);
  return { wants: wants.filter(isOther), watched: watched.filter(isOther) };
}

const isCurious = (want: Want, { curious = false }: Asker) => curious && !want.curious;

/** Whether an answer is kept for this very Pod, at its present address. */
export const isMet = ({ met }: ServiceContext, { uid, ip }: PodPlace): boolean =>
  met[uid]?.told === false && met[uid].ip === ip;

/** The Pods of the event that need not wait, because an answer is kept for them. */
export const alreadyMet = (context: ServiceContext, event: RouteWanted): readonly Asker[] =>
  askers(event).filter((pod) => isMet(context, pod));

/** The wants, with those of the event that are new or have aged. */
export function withWants(context: ServiceContext, event: RouteWanted & Stamp): readonly Want[] {
  const news = askers(event).filter((pod) => isNewWant(context, pod) || isAgedWant(context, pod, event));
  return bounded(news.reduce((wants, pod) => withWant(wants, pod, event.at), context.wants));
}

/** Bytes that a want or a watched Pod takes in the record: its names, and about 100 for the rest. */
export const wantBytes = ({ pod, uid, ip }: PodPlace): number => pod.length + uid.length + ip.length + 100;

/**
 * The latest wants that fit. A Pod that was left out asks again within a minute and takes the place of
 * another, so that of too many each gets its turn.
 */
function bounded(wants: readonly Want[]): readonly Want[] {
  let room: number = limits.routeWantBytes;
  const first = wants.findLastIndex((want) => {
    room -= wantBytes(want);
    return room < 0;
  });
  return first < 0 ? wants : wants.slice(first + 1);
}

/** The watched Pods, with one that asks for it. */
export function withWatch({ watched, facts }: ServiceContext, event: RouteWatched & Stamp): readonly Want[] {
  return withWatched(watched, watchOf(facts, event, event.at));
}

const watchOf = (facts: ServiceFacts | null, pod: PodPlace, at: number): Want => ({
  ...newWant({ ...pod, curious: false }, at),
  listed: facts?.readyAddresses?.includes(pod.ip) ?? false,
});

/** Adds a Pod to watch, unless there is no room: those that are already watched stay. */
export function withWatched(watched: readonly Want[], one: Want): readonly Want[] {
  const others = watched.filter(({ pod }) => pod !== one.pod);
  const bytes = others.reduce((sum, other) => sum + wantBytes(other), wantBytes(one));
  return bytes > limits.routeWantBytes ? others : [...others, one];
}

/**
 * The list with the Pod's new entry instead of any older one. A question that only repeats the last one
 * changes nothing of what answers prove.
 */
export function withWant(wants: readonly Want[], asker: Asker, at: number): readonly Want[] {
  const known = wants.find((want) => isSamePod(want, asker));
  if (known === undefined || isAged(known, at) || isCurious(known, asker))
    return [...wants.filter((want) => want.pod !== asker.pod), newWant(asker, at)];
  return wants.map((want) => (want === known ? { ...want, ...spoken(asker) } : want));
}

export const newWant = (asker: Asker, at: number): Want => {
  const { pod, uid, ip, family, curious = false } = asker;
  return { pod, uid, ip, family, at, curious, ...spoken(asker), lookedAt: at, missed: 0, listed: false };
};

const spoken = ({ spokenAt }: Asker) => (spokenAt === undefined ? {} : { spokenAt });

/** What changes once Pods were told the answers that were kept for them. */
export function withKeptTold(context: ServiceContext, event: RouteWanted & Stamp): Partial<ServiceContext> {
  const pods = alreadyMet(context, event);
  return { ...met(context, pods), ...nowWatched(context, pods, event.at) };
}

/** Notes that the Pods were told. Only Pods in the facts are noted, so the list stays bounded. */
export function met({ met: before, facts }: ServiceContext, pods: readonly PodPlace[]) {
  const told = pods.filter(({ uid, ip }) => facts?.pods?.[ip] === uid);
  return {
    met: { ...before, ...Object.fromEntries(told.map(({ uid, ip }) => [uid, { ip, told: true }])) },
  };
}

/** Pods that were reached are watched from now on, if lost routes are to be noticed. */
export function nowWatched(
  context: ServiceContext,
  pods: readonly PodPlace[],
  at: number,
): Pick<ServiceContext, 'watched'> {
  if (!isWatching(context)) return { watched: context.watched };
  const added = pods.map((one) => watchOf(context.facts, one, at));
  return { watched: added.reduce(withWatched, context.watched) };
}

/** Whether Pods want to hear of lost routes. */
export const isWatching = ({ facts }: Pick<ServiceContext, 'facts'>): boolean =>
  facts !== null && facts.readyAddresses !== null;

/**
 * With random balancing, a round with three attempts for each replica misses a Pod with probability e^-3;
 * three in a row miss it with 1 in 8,000.
 */
export const missesMax = 3;

/**
 * What new facts change: watched Pods among the ready endpoints are marked, so that leaving is noticed. Pods
 * that another gate does not hold, or that the group has no more, are told that they are lost, in case they
 * have not heard of it. Those that it does hold see no change, so they do not ask again.
 */
export function remembered(
  context: ServiceContext,
  facts: ServiceFacts | null,
  at: number,
): Partial<ServiceContext> {
  const { facts: before } = context;
  const ready = facts?.readyAddresses ?? [];
  const isResumed = !isWatching(context) && isWatching({ facts });
  const isOther = before !== null && facts !== null && isOtherGate(before, facts);
  const isLarger = facts?.peers.some((peer) => !before?.peers.includes(peer)) ?? false;
  const isLeft = (one: Want) => isOther && !isHeld(facts, one);
  const isEnded = (one: Want) => isGoneFrom(before, facts, one);
  // A Pod whose gate says keep need not hear of it: it asks again once the gate says withdraw.
  const kept = isWatching({ facts }) ? context.watched : context.watched.filter((one) => !isEnded(one));
  return {
    facts,
    watched: kept.map((one) => ({
      ...one,
      ...(isResumed ? { at, lookedAt: at, missed: 0 } : {}),
      ...(isLeft(one) || isEnded(one) ? { missed: missesMax } : {}),
      listed: one.listed || ready.includes(one.ip),
    })),
    met: isRerouted(context, facts) ? {} : stillMet(context, facts),
    mixed: context.mixed || !equal(before?.pods, facts?.pods),
    unseen: context.unseen.filter((id) => isPeerStill(before, facts, id)),
    // A Service that joins the group has not said yet what its answers carry.
    ...(context.header === 'no' && isLarger ? { header: 'unknown' as const } : {}),
    ...(isOther && {
      ...{ wants: context.wants.filter((want) => !isLeft(want)), header: 'unknown' as const, unseen: [] },
    }),
  };
}

/** Whether it was and is one of the group; one that is made again under the same name is another. */
const isPeerStill = (before: ServiceFacts | null, facts: ServiceFacts | null, id: ActorId): boolean => {
  const name = id.slice(id.lastIndexOf('/') + 1);
  return [before, facts].every((one) => one?.peers.includes(name));
};

/**
 * Whether the Pod is gone from its address, or another has it, as on the network of a node: answers that name
 * it would keep the watch for ever. One that the Service has not heard of yet is not gone, nor is one whose
 * address several Pods share.
 */
function isGoneFrom(before: ServiceFacts | null, facts: ServiceFacts | null, { uid, ip }: Want): boolean {
  if (facts?.pods === undefined || facts.shared?.includes(ip)) return false;
  return facts.pods[ip] === undefined ? before?.pods?.[ip] === uid : facts.pods[ip] !== uid;
}

/** Whether the Pod is one of the group's; in a group too large to be told of, it may be. */
function isHeld({ pods = {} }: ServiceFacts, { uid, ip }: Want): boolean {
  return Object.keys(pods).length === 0 || pods[ip] === uid;
}

function stillMet(context: ServiceContext, facts: ServiceFacts | null): ServiceContext['met'] {
  const kept = Object.entries(context.met).filter(([uid, { ip }]) => facts?.pods?.[ip] === uid);
  return Object.fromEntries(kept);
}
