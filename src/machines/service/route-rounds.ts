/**
 * The content of a Service's sampling round, and what the Service concludes at its end. Pure.
 *
 * A watched Pod that was reached is looked for about every ten seconds, whichever other Pods wait: rounds for
 * Pods that want a proof include it once it is due (docs/features/routes.md §6.3).
 */
import { limits } from '../../base/limits.ts';
import { hasPassed, type Stamp } from '../stamp.ts';
import type { RouteSample, RouteWiden } from './route-effects.ts';
import type { Answers, PodPlace, RouteWanted, SampleFinished, SampleSummary } from './route-events.ts';
import type { RouteProbe } from './route-facts.ts';
import {
  askers,
  isNewWant,
  isWatching,
  met,
  missesMax,
  nowWatched,
  type ServiceContext,
  type ServiceInput,
  type Want,
  withWants,
} from './service-context.ts';

/**
 * After so long without an answer one miss is enough: a doubt costs a question, and 30 s after the last
 * answer the condition is withdrawn.
 */
const silenceMaxMs = 20_000;
/** A watched Pod is looked for again this long after the last look, ms, by whether that met or missed it. */
const dueMs = { met: 7_000, missed: 1_500 } as const;

/** What the next round asks for: the Pods of one family; null: nothing can be asked. */
export function roundOf(
  context: ServiceContext,
  at: number,
): { probe: RouteProbe; targets: readonly Want[] } | null {
  const watched = isWatching(context) ? context.watched : [];
  const due = watched.filter((one) => isDue(one, at));
  return roundFor(context, [...context.wants, ...due]) ?? roundFor(context, watched);
}

const isDue = ({ lookedAt, missed }: Want, at: number) =>
  hasPassed(missed > 0 ? dueMs.missed : dueMs.met, lookedAt, at);

/** Families take turns, so that Pods of one that are never reached do not hold up the others. */
function roundFor({ facts, round }: ServiceContext, wants: readonly Want[]) {
  const families = [...new Set(wants.map((want) => want.family))].filter((one) => facts?.probes[one]);
  const family = families[round % families.length];
  const probe = family && facts?.probes[family];
  return probe ? { probe, targets: wants.filter((want) => want.family === family) } : null;
}

/** Whether some want can be asked for: the Service has an address and the port. */
export const isAskable = (context: ServiceContext): boolean => roundFor(context, context.wants) !== null;

/** Whether anybody, wanted or watched, can be asked for. */
export const isAnybodyAskable = (context: ServiceContext): boolean =>
  roundFor(context, [...context.wants, ...(isWatching(context) ? context.watched : [])]) !== null;

/** Whether some watched Pod was missed; it is looked for again soon. */
export const isAnyMissed = ({ watched }: ServiceContext): boolean => watched.some(({ missed }) => missed > 0);

/** The next round begins. Its answers prove what holds from now on. */
export function started(context: ServiceContext, { at }: Stamp): Partial<ServiceContext> {
  const [wants, watched] = [notAhead(context.wants, at), notAhead(context.watched, at)];
  const next = { ...context, wants, watched, round: context.round + 1 };
  const targets = roundOf(next, at)?.targets ?? [];
  const checking = targets.filter((one) => !wants.includes(one)).map(({ ip }) => ip);
  return { wants, watched, round: next.round, startedAt: at, hurried: false, mixed: false, checking };
}

/** Nobody has asked later than now: the clock that noted it was ahead, or was set back since. */
const notAhead = (wants: readonly Want[], at: number): readonly Want[] =>
  wants.some((one) => one.at > at || one.lookedAt > at)
    ? wants.map((one) => ({ ...one, at: Math.min(one.at, at), lookedAt: Math.min(one.lookedAt, at) }))
    : wants;

/**
 * The most calls of a round: attempts for each expected replica. Pods that ask or are watched are there,
 * even if the Service has not heard of them yet or the group's owner states fewer.
 */
export function callsOf(
  { facts, wants, watched }: ServiceContext,
  probe: RouteProbe,
  newcomers: readonly PodPlace[] = [],
): number {
  const waiting = wants.length + newcomers.length;
  const lookedFor = isWatching({ facts }) ? watched.length : 0;
  return probe.attemptsPerReplica * Math.max(1, facts?.replicas ?? 1, waiting, lookedFor);
}

export function round({
  context,
  event,
}: {
  readonly context: ServiceContext;
  readonly event: ServiceInput;
}): Omit<RouteSample, 'type'> {
  const next = roundOf(context, event.at);
  return {
    group: groupOf(context),
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

/** The newcomers among those who ask during a round: it continues for them, not for whom they replace. */
export function widening(
  context: ServiceContext,
  event: RouteWanted & Stamp,
): Omit<RouteWiden, 'type'> | null {
  const probe = roundFor(context, context.wants)?.probe;
  const wanted = askers(event).filter((pod) => isNewWant(context, pod));
  if (probe === undefined || wanted.length === 0) return null;
  const left = addressesLeft(context, { wants: withWants(context, event) });
  return {
    ...{ group: groupOf(context), round: context.round, calls: callsOf(context, probe, wanted) },
    wanted: wanted.map(({ ip }) => ip),
    unmet: Object.fromEntries(
      wanted.flatMap(({ uid, ip }) => (context.met[uid] === undefined ? [[ip, uid]] : [])),
    ),
    ...(left.length > 0 && { unwanted: left }),
  };
}

/** Those who want or watch from now on; absent: the same as before. */
type Kept = Partial<Pick<ServiceContext, 'wants' | 'watched'>>;

/** Addresses that a round in progress looks for, and need not any more. */
function addressesLeft(context: ServiceContext, kept: Kept): readonly string[] {
  const wantedIn = ({ wants, watched, checking }: ServiceContext) =>
    [...wants, ...watched.filter(({ ip }) => checking.includes(ip))].map(({ ip }) => ip);
  const still = new Set(wantedIn({ ...context, ...kept }));
  return [...new Set(wantedIn(context))].filter((ip) => !still.has(ip));
}

/** Takes from a round in progress those whom nobody wants once only these are kept; null: nobody. */
export function narrowing(context: ServiceContext, kept: Kept): Omit<RouteWiden, 'type'> | null {
  const unwanted = addressesLeft(context, kept);
  return unwanted.length === 0 ? null : { ...roundInProgress(context), unwanted };
}

/** Ends a round in progress whose answers would count for nothing. */
export const ending = (context: ServiceContext): Omit<RouteWiden, 'type'> => ({
  ...roundInProgress(context),
  unwanted: 'all',
});

const roundInProgress = (context: ServiceContext) => ({
  ...{ group: groupOf(context), round: context.round, calls: 0 },
  wanted: [],
});

const groupOf = ({ namespace, name }: ServiceContext) => `${namespace}/${name}`;

/** Longest wait for the outcome of a round, ms; past it, the outcome is lost (I4). */
export const roundPatienceMs = limits.probeLineMs + limits.probeRoundMs + 5_000;

const named = ({ ip, also = [] }: Answers): readonly string[] => [...new Set([ip, ...also])];

/**
 * The wants that the answers met. An address belongs to one Pod at a time: to whoever is known to have had
 * it, or else to whoever asked last before they came.
 */
export function reached({ wants }: ServiceContext, event: Answers): readonly Want[] {
  const { heardAt = Number.POSITIVE_INFINITY, pods } = event;
  return named(event).flatMap((one) => {
    const want = wants.findLast(({ ip }) => ip === one);
    const isIts = want !== undefined && (want.at <= heardAt || pods?.[one] === want.uid);
    return isIts ? [want] : [];
  });
}

/**
 * Pods of the group that answered and have not asked yet, as uid and address, which were the same when the
 * call or the round began.
 */
export function strangers(context: ServiceContext, event: Answers): ReadonlyArray<[string, string]> {
  const { facts, mixed } = context;
  const wanted = new Set(reached(context, event).map(({ ip }) => ip));
  return named(event).flatMap((ip): Array<[string, string]> => {
    const uid = event.pods?.[ip] ?? (mixed ? undefined : facts?.pods?.[ip]);
    const isNews = uid !== undefined && context.met[uid] === undefined && !wanted.has(ip);
    return isNews && context.watched.every((one) => one.uid !== uid) ? [[uid, ip]] : [];
  });
}

/** Watched Pods that were missed, and that the answers met: they are reached, however long the round is. */
export function foundAgain({ watched }: ServiceContext, event: Answers): readonly Want[] {
  const ips = named(event);
  return watched.filter(({ missed, ip }) => missed > 0 && ips.includes(ip));
}

function withFoundAgain(context: ServiceContext, event: Answers): readonly Want[] {
  const again = foundAgain(context, event);
  if (again.length === 0) return context.watched;
  return context.watched.map((one) =>
    again.includes(one) ? { ...one, at: Math.max(one.at, context.startedAt), missed: 0 } : one,
  );
}

/**
 * What answers change: a Pod that was met is no longer wanted, and is watched if lost routes are to be
 * noticed.
 */
export function credited(before: ServiceContext, event: Answers): Partial<ServiceContext> {
  const context = { ...before, watched: withFoundAgain(before, event) };
  const pods = reached(context, event);
  const ips = new Set(pods.map(({ ip }) => ip));
  const kept = strangers(context, event).map(([uid, ip]) => [uid, { ip, told: false }]);
  const noted = met(context, pods as readonly PodPlace[]);
  return {
    wants: context.wants.filter(({ ip }) => !ips.has(ip)),
    met: { ...noted.met, ...Object.fromEntries(kept) },
    // The answer came after the round began; a loss is counted from there.
    ...nowWatched(context, pods, context.startedAt),
    ...(pods.length > 0 ? { fruitless: 0 } : {}),
    header: 'yes',
  };
}

/** What the end of a round changes, with the answers that came last. */
export function finished(context: ServiceContext, event: SampleFinished & Stamp): Partial<ServiceContext> {
  const credit = event.last === undefined ? {} : credited(context, event.last);
  return { ...credit, ...judged({ ...context, ...credit }, event.summary, event) };
}

/**
 * What a finished round changes. It missed every Pod that it looked for and did not meet: it ends early only
 * when it met all, or nothing answered.
 */
function judged(context: ServiceContext, summary: SampleSummary, { at }: Stamp): Partial<ServiceContext> {
  const hasHeader = summary.healthy.length > 0 || summary.unhealthy.length > 0;
  const watched = context.watched.map((one) => {
    if (summary.healthy.includes(one.ip))
      return { ...one, at: Math.max(one.at, context.startedAt), lookedAt: at, missed: 0 };
    return context.checking.includes(one.ip) ? { ...one, lookedAt: at, missed: one.missed + 1 } : one;
  });
  return {
    watched,
    lastRound: summary,
    lastError: summary.lastError,
    fruitless: context.fruitless + 1,
    ...(hasHeader ? { header: 'yes' as const } : {}),
  };
}

/**
 * Watched Pods that the Service no longer reaches: missed again and again, or no longer among its ready
 * endpoints.
 */
export function lostPods({ watched, facts }: ServiceContext, now: number): readonly Want[] {
  if (!isWatching({ facts })) return [];
  return watched.filter(
    (one) =>
      hasLeft(one, facts) || one.missed >= missesMax || (one.missed > 0 && now - one.at > silenceMaxMs),
  );
}

export function hasLeft({ listed, ip }: Want, facts: ServiceContext['facts']): boolean {
  const ready = facts?.readyAddresses;
  return listed && ready != null && !ready.includes(ip);
}

/** Whether something answered in the last round, and no answer carried the header. */
export function isAnonymous({ lastRound, header }: ServiceContext): boolean {
  if (lastRound === null || header === 'yes') return false;
  const { anonymous, healthy, unhealthy } = lastRound;
  return anonymous > 0 && healthy.length === 0 && unhealthy.length === 0;
}
