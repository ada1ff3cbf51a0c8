/**
 * The pod chart's context and the pure functions over it: what is proven, what is owed, what the condition is
 * believed to be. The words for people and Services are in pod-words.ts.
 *
 * An actor represents one Pod and one RouteGate. If several gates of different condition types hold a Pod,
 * the oldest speaks to `pod/<ns>/<name>` and every other one to an actor of its own, `pod/<ns>/<name>@<gate>`
 * (docs/features/routes.md §2.3).
 */
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type {
  MissedAnswer,
  RouteLost,
  RouteMissed,
  RouteProof,
  RouteProven,
  RouteUnverifiable,
  SpokenAt,
} from '../service/route-events.ts';
import { lastChanceMs } from '../service/route-words.ts';
import type { Stamp } from '../stamp.ts';
import type { ConditionPatched, ConditionRefused, PodEvent, PodObserved } from './pod-events.ts';
import type { PodFacts } from './pod-facts.ts';

type ByService<T> = Readonly<Record<string, T>>;

export interface PodContext {
  readonly namespace: string;
  readonly name: string;
  /** null: nothing is known, or nothing calls for the actor any more. */
  readonly facts: PodFacts | null;
  /** Service → its uid when it gave its proof. */
  readonly proofs: ByService<string>;
  /** Service → its uid when it said that it cannot tell its Pods apart. */
  readonly unverified: ByService<string>;
  /** Services that were never seen to reach the Pod: its condition was already True and vouches for them. */
  readonly adopted: readonly string[];
  /** Services that have been asked for a proof since the Pod began to prove. */
  readonly asked: readonly string[];
  /**
   * Services that were asked to say what answers in the Pod's place as well. Absent in records of an earlier
   * release.
   */
  readonly curious?: readonly string[];
  /** Of the last message to Services that asks for anything. Absent in records of an earlier release. */
  readonly spokenAt?: SpokenAt;
  /**
   * Service → whether it watches the route, or how often it was told to. If a gate withdraws, each that has
   * proven the Pod has to. Absent in records of an earlier release.
   */
  readonly watches?: ByService<true | number>;
  /** The group's last Service left, and the Pod waits for another (`timed`: its deadline runs). */
  readonly lastLeft?: 'untimed' | 'timed' | null;
  /** How often the unproven Services have been asked again since then. */
  readonly askings: number;
  /** When they were last asked, ms since the epoch. */
  readonly askedAt: number;
  /** Service → what answered in the Pod's place, for people. */
  readonly answers: ByService<string>;
  /** Service → since when it has owed the ready Pod a proof, ms since the epoch. */
  readonly doubts: ByService<number>;
  /** Since when the Pod has been held back, ms since the epoch; null while it is not. */
  readonly heldSince: number | null;
  /** The last `heldSince`, until the Pod is held back again: a wait is measured after it ends. */
  readonly heldBefore: number | null;
  /** When the present wait began, ms since the epoch. */
  readonly waitsSince: number;
  /** What the False condition says, and since when; null: we have not written it. */
  readonly told: { readonly reason: string; readonly message: string; readonly at: number } | null;
  /** The condition was set to False, but the world still shows the earlier True. */
  readonly awaitsFalse: boolean;
  /** The True condition that said that nothing was verified is being written anew. */
  readonly restated?: boolean;
  /** Service whose route was lost, for the condition's message. */
  readonly lostRoute: string | null;
  /** Failed attempts in a row to write the condition. */
  readonly failures: number;
  readonly lastError: string | null;
}

export type PodInput = PodEvent & Stamp;

/** The context before the first event. */
export const newborn = ({ namespace, name }: ActorInput): PodContext => ({
  namespace,
  name,
  facts: null,
  proofs: {},
  unverified: {},
  adopted: [],
  asked: [],
  askings: 0,
  askedAt: 0,
  answers: {},
  doubts: {},
  heldSince: null,
  heldBefore: null,
  waitsSince: 0,
  told: null,
  awaitsFalse: false,
  lostRoute: null,
  failures: 0,
  lastError: null,
});

/** The facts with an address that parses; null without one. */
export const valid = (facts: PodFacts | null) =>
  facts?.address && 'ip' in facts.address ? { facts, address: facts.address } : null;

const isHeldUnverified = ({ gate }: PodFacts): boolean => gate.whenUnverifiable === 'hold';

type Standing = Pick<PodContext, 'facts' | 'proofs' | 'unverified'>;

/** Services that cannot be verified, and why: docs/features/routes.md §5. */
export function unverifiable(context: Standing): ByService<string> {
  const reasons: Record<string, string> = {};
  for (const name of Object.keys(context.facts?.services ?? {})) {
    const reason = whyUnverifiable(context, name);
    if (reason !== null) reasons[name] = reason;
  }
  return reasons;
}

function whyUnverifiable({ facts, proofs, unverified }: Standing, name: string): string | null {
  const uid = facts?.services[name] ?? null;
  if (uid === null) return facts?.unaskable[name] ?? 'cannot be probed';
  if (proofs[name] === uid) return null;
  if (facts?.verifiable !== true) return whyUnrecognized(facts?.sharesAddressWith);
  return unverified[name] === uid ? 'its answers carry no header' : null;
}

const whyUnrecognized = (sharer: string | undefined): string =>
  sharer === undefined
    ? 'the Pod lacks the environment variable of onlyIfEnv'
    : `Pod ${sharer} has the address of the same node, so answers do not say which of them gave them`;

/** Services of the group that the Pod waits for. */
export function unproven(context: Standing): string[] {
  const { facts, proofs } = context;
  if (facts === null) return [];
  return Object.keys(facts.services).filter((name) =>
    whyUnverifiable(context, name) === null ? proofs[name] !== facts.services[name] : isHeldUnverified(facts),
  );
}

/**
 * Whether nothing is owed. A RouteGate that holds what cannot be verified also holds a Pod without Services.
 */
export function isAllProven(context: PodContext): boolean {
  const { facts } = context;
  if (!provable(facts) || unproven(context).length > 0 || context.lastLeft) return false;
  return Object.keys(facts.services).length > 0 || !isHeldUnverified(facts);
}

/** Services that owe a proof, can be asked for it, and have not been asked. */
export function unasked(context: PodContext): string[] {
  const { facts, asked } = context;
  if (facts?.verifiable !== true) return [];
  return unproven(context).filter((name) => facts.services[name] !== null && !asked.includes(name));
}

/** Proofs for every Service: a condition that is already True vouches for them. */
export function adopted({ facts }: PodContext): Partial<PodContext> {
  const services = Object.entries(facts?.services ?? {}).flatMap(
    ([name, uid]): Array<[string, string]> => (uid === null ? [] : [[name, uid]]),
  );
  return { proofs: Object.fromEntries(services), adopted: services.map(([name]) => name) };
}

/** The condition is gone, and with it the proofs that it vouched for. */
export function takenBack(context: PodContext): Partial<PodContext> {
  const seen = Object.entries(context.proofs).filter(([name]) => !context.adopted.includes(name));
  return { proofs: Object.fromEntries(seen), adopted: [] };
}

const isSameGate = (before: PodFacts, after: PodFacts): boolean =>
  before.gate.conditionType === after.gate.conditionType;

export const isSame = (before: PodFacts | null, after: PodFacts | null): boolean =>
  before !== null && after !== null && before.uid === after.uid && isSameGate(before, after);

/** What new facts change. Another Pod under the name, or another condition type, starts afresh. */
export function remembered(context: PodContext, facts: PodFacts | null): Partial<PodContext> {
  if (facts === null) return { facts };
  const { facts: before, namespace, name } = context;
  if (before !== null && !isSame(before, facts))
    return { ...newborn({ namespace, name } as ActorInput), ...notRestated(context), facts };
  const isElsewhere = !equal(before?.address, facts.address);
  // A Service that went and came back does not know the question.
  const isStill = (service: string) => !isElsewhere && facts.services[service] === before?.services[service];
  return {
    facts,
    proofs: stillOf(context.proofs, facts, isElsewhere),
    unverified: stillOf(context.unverified, facts, isElsewhere),
    adopted: isElsewhere ? [] : context.adopted,
    asked: context.asked.filter(isStill),
    answers: Object.fromEntries(Object.entries(context.answers).filter(([service]) => isStill(service))),
    awaitsFalse: context.awaitsFalse && facts.condition === 'True',
    // Somebody removed it, or set it to Unknown.
    ...(facts.saysUnverified ? {} : notRestated(context)),
    told: before?.condition === 'False' && facts.condition !== 'False' ? null : context.told,
  };
}

const notRestated = ({ restated }: PodContext): Partial<PodContext> => (restated ? { restated: false } : {});

/** What holds for the new facts, too: same address, same Service. */
function stillOf(proofs: ByService<string>, facts: PodFacts, isElsewhere: boolean): ByService<string> {
  if (isElsewhere) return {};
  return Object.fromEntries(Object.entries(proofs).filter(([name, uid]) => facts.services[name] === uid));
}

export function without<T>(known: ByService<T>, ...names: readonly string[]): ByService<T> {
  if (!names.some((name) => name in known)) return known;
  return Object.fromEntries(Object.entries(known).filter(([name]) => !names.includes(name)));
}

/** What changes when Services were seen to reach the Pod. */
export function withProof(context: PodContext, event: RouteProven): Partial<PodContext> {
  const own = ownProofs(context, event);
  const names = own.map(({ service }) => service);
  const proofs = own.map(({ service, serviceUid }) => [service, serviceUid] as const);
  return {
    proofs: { ...context.proofs, ...Object.fromEntries(proofs) },
    unverified: without(context.unverified, ...names),
    answers: without(context.answers, ...names),
    doubts: without(context.doubts, ...names),
    adopted: context.adopted.filter((name) => !names.includes(name)),
    asked: context.asked.filter((name) => !names.includes(name)),
  };
}

/**
 * What changes when a Service says that it cannot tell its Pods apart. If the gate holds such Pods, the
 * question stands.
 */
export function withVerdict(
  context: PodContext,
  { service, serviceUid }: RouteUnverifiable,
): Partial<PodContext> {
  const isHeld = context.facts !== null && isHeldUnverified(context.facts);
  return {
    unverified: { ...context.unverified, [service]: serviceUid },
    answers: without(context.answers, service),
    ...(isHeld
      ? {}
      : {
          doubts: without(context.doubts, service),
          asked: context.asked.filter((name) => name !== service),
        }),
  };
}

/**
 * What changes when a Service's route is lost; `since`: when it was lost. However late the news comes, there
 * is time to ask once more.
 */
export function withoutProof(context: PodContext, lost: RouteLost, at: number): Partial<PodContext> {
  const { service, uids, since } = lost;
  const lostAt = since?.[uids.indexOf(context.facts?.uid ?? '')] ?? at;
  return {
    proofs: without(context.proofs, service),
    ...(context.watches && { watches: without(context.watches, service) }),
    asked: context.asked.filter((name) => name !== service),
    doubts: {
      ...context.doubts,
      [service]: Math.max(Math.min(lostAt, at), at - doubtPatienceMs + lastChanceMs),
    },
  };
}

/** Notes what answered in the Pod's place. */
export function withAnswer(context: PodContext, event: RouteMissed): Partial<PodContext> {
  const ip = valid(context.facts)?.address.ip;
  const texts = ownAnswers(context, event).map(({ service, answer, unhealthy }) => {
    const isOwn = ip !== undefined && unhealthy.includes(ip);
    return [service, isOwn ? 'this Pod answered, but not with status 200' : answer];
  });
  return { answers: { ...context.answers, ...Object.fromEntries(texts) } };
}

/** The answers of Services that still owe a proof. */
export const ownAnswers = (context: PodContext, event: RouteMissed): readonly MissedAnswer[] =>
  [event, ...(event.also ?? [])].filter((answer) => isOwed(context, answer));

/** Whether the news is about a Pod that replaced the known one, or about another condition type. */
export function isAnotherPod({ facts }: PodContext, event: PodObserved): boolean {
  return event.facts !== null && facts !== null && !isSame(facts, event.facts);
}

/** Whether somebody took this Pod's condition back, which was True. */
export function isTakenBack({ facts }: PodContext, event: PodObserved): boolean {
  if (event.facts?.uid !== facts?.uid) return false;
  return facts?.condition === 'True' && event.facts?.condition !== 'True';
}

/** Whether this Pod's address has changed. */
export function isMoved({ facts }: PodContext, event: PodObserved): boolean {
  return isSame(facts, event.facts) && !equal(facts?.address, event.facts?.address);
}

/** Whether this Pod loses a proof that it has, and its gate cares. */
export function isOwnLoss({ facts, proofs }: PodContext, { service, serviceUid, uids }: RouteLost): boolean {
  if (facts === null || !isWithdrawn({ facts })) return false;
  return uids.includes(facts.uid) && proofs[service] === serviceUid;
}

/** The next message to Services: later than any before, whatever the clock says. */
export const spokenNow = ({ spokenAt = 0 }: PodContext, at: number): SpokenAt => Math.max(spokenAt + 1, at);

/** Whether a Service has forgotten a question of this Pod, because it was gone for a moment. */
export function isQuestionLost({ facts, asked }: PodContext, event: RouteLost): boolean {
  const { service, serviceUid, uids } = event;
  if (facts === null || !uids.includes(facts.uid)) return false;
  return asked.includes(service) && facts.services[service] === serviceUid;
}

/** Since when each Service has owed a proof. */
export function doubted(context: PodContext, at: number): Record<string, number> {
  return Object.fromEntries(unproven(context).map((name) => [name, context.doubts[name] ?? at]));
}

/** How long a route may be owed before the condition is withdrawn: docs/features/routes.md §6.3. */
export const doubtPatienceMs = 30_000;

/**
 * How long a Pod waits before it asks again. Services remember what they were asked, and mail is stored, so
 * this only makes up for a question that found no Service (I4); asked sooner, a Service whose proof is on its
 * way would have to meet the Pod once more. A Service that cannot tell its Pods apart has forgotten the
 * question: it is asked again after 20 s, 40 s, then 60 s.
 */
export function askPauseMs({ askings, unverified }: Pick<PodContext, 'askings' | 'unverified'>): number {
  if (Object.keys(unverified).length === 0) return 60_000;
  return Math.min(20_000 * 2 ** Math.min(askings, 2), 60_000);
}

/** Events that say why a Pod is held, by the time it has waited: after a minute, then each half hour. */
export const longHeldNotes = (waitedMs: number): number =>
  Math.max(0, Math.floor((waitedMs - 60_000) / 1_800_000) + 1);

/** Whether the Services that owe a proof are not those in `doubts`. */
export function isDoubtNews(context: PodContext): boolean {
  return !equal(Object.keys(context.doubts).sort(), unproven(context).sort());
}

/** The Service that has owed a proof longest. */
export function oldestDoubt(context: PodContext): { service: string; since: number } | null {
  const owed = unproven(context);
  const [first] = Object.entries(context.doubts)
    .filter(([service]) => owed.includes(service))
    .sort(([, a], [, b]) => a - b);
  return first ? { service: first[0], since: first[1] } : null;
}

/** Whether the Service still owes this Pod a proof. */
export function isOwed(
  { facts, proofs }: PodContext,
  { service, serviceUid }: { readonly service: string; readonly serviceUid: string },
): boolean {
  return facts?.services[service] === serviceUid && proofs[service] !== serviceUid;
}

/** The proofs that are news and about this very Pod at its present address. */
export function ownProofs(context: PodContext, event: RouteProven): readonly RouteProof[] {
  const known = valid(context.facts);
  // What was asked before another Pod had the same address proves nothing now.
  if (known?.facts.verifiable === false) return [];
  return [event, ...(event.also ?? [])].filter(
    (proof) => known?.facts.uid === proof.uid && known.address.ip === proof.ip && isOwed(context, proof),
  );
}

/** Whether a patch was for this very Pod: a patch for its predecessor may end late. */
export const isOfMine = ({ facts }: PodContext, { uid }: ConditionPatched | ConditionRefused): boolean =>
  uid === undefined || uid === facts?.uid;

/** True in the world, unless we have taken that True back since. */
export const isConditionTrue = ({ facts, awaitsFalse }: PodContext): boolean =>
  facts?.condition === 'True' && !awaitsFalse;

/** Whether a lost route takes the condition back; not from a Pod that the gate does not hold (§2.7). */
export const isWithdrawn = ({ facts }: Pick<PodContext, 'facts'>): boolean =>
  facts?.gate.whenRouteIsLost === 'withdraw' && facts.groupResource !== 'mismatch';

/** Whether the condition says that nothing was verified although Services have reached the Pod since. */
export function isVerifiedSince(context: PodContext): boolean {
  const { facts, proofs, adopted: unseen, restated = false } = context;
  if (facts?.saysUnverified !== true || restated || !isAllProven(context)) return false;
  return Object.entries(facts.services).some(
    ([name, uid]) => uid !== null && proofs[name] === uid && !unseen.includes(name),
  );
}

export const provable = (facts: PodFacts | null): facts is PodFacts =>
  valid(facts) !== null &&
  facts?.gated === true &&
  !facts.deleting &&
  (facts.groupResource === 'none' || facts.groupResource === 'found');
