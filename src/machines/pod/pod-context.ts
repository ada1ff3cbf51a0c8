/**
 * The pod chart's context and everything pure that is computed from it: what is owed, what is asked, what is told to people.
 */

import { equal } from '../../base/equal.ts';
import type { ActorId } from '../../base/ids.ts';
import type { ActorInput } from '../actor-input.ts';
import type { KubeEventWrite, MessageSend } from '../effects.ts';
import type { PodEvent, RouteLost, RouteProven, RouteUnverifiable, Stamp } from '../events.ts';
import type { PodFacts } from '../facts.ts';

export interface PodContext {
  readonly namespace: string;
  readonly name: string;
  /** null: nothing is known, or nothing calls for the actor any more. */
  readonly facts: PodFacts | null;
  /** Service → its uid when it was proven, or when it was found to be unverifiable. */
  readonly proofs: Readonly<Record<string, string>>;
  /** Services among them that were never seen to reach the Pod: its condition was True at first sight, and stands for them. */
  readonly adopted: readonly string[];
  /** Services that were asked for a proof since the Pod began to prove. */
  readonly asked: readonly string[];
  /** How often the unproven Services were asked since the Pod began to prove. */
  readonly askings: number;
  /** Service → since when it owes a proof to the Pod that is ready, ms since the epoch. */
  readonly doubts: Readonly<Record<string, number>>;
  /** When the Pod began to be held back, ms since the epoch; null while it is not. */
  readonly heldSince: number | null;
  /** The same for the last time that it was held back, until it is held back again: the wait can be told when it is over. */
  readonly heldBefore: number | null;
  /** Service whose route was lost, for the condition's message. */
  readonly lostRoute: string | null;
  /** Failed attempts in a row to write the condition. */
  readonly failures: number;
  readonly lastError: string | null;
}

export type PodInput = PodEvent & Stamp;

/** Before the first event. */
export const newborn = ({ namespace, name }: ActorInput): PodContext => ({
  namespace,
  name,
  facts: null,
  proofs: {},
  adopted: [],
  asked: [],
  askings: 0,
  doubts: {},
  heldSince: null,
  heldBefore: null,
  lostRoute: null,
  failures: 0,
  lastError: null,
});

/** The facts with an address that can be compared; null without one. */
export const valid = (facts: PodFacts | null) =>
  facts?.address && 'ip' in facts.address ? { facts, address: facts.address } : null;

/** Services of the group that still owe a proof. */
export function unproven({ facts, proofs }: Pick<PodContext, 'facts' | 'proofs'>): string[] {
  if (facts === null || !facts.verifiable) return [];
  return Object.entries(facts.services).flatMap(([name, uid]) =>
    uid === null || proofs[name] === uid ? [] : [name],
  );
}

export const unasked = (context: PodContext) =>
  unproven(context).filter((name) => !context.asked.includes(name));

/** Proofs for every Service: what a condition that is True already stands for. */
export function adopted({ facts }: PodContext): Partial<PodContext> {
  const services = Object.entries(facts?.services ?? {}).flatMap(
    ([name, uid]): Array<[string, string]> => (uid === null ? [] : [[name, uid]]),
  );
  return { proofs: Object.fromEntries(services), adopted: services.map(([name]) => name) };
}

/** Without the condition, what it stood for has to be seen. */
export function takenBack(context: PodContext): Partial<PodContext> {
  const seen = Object.entries(context.proofs).filter(([name]) => !context.adopted.includes(name));
  return { proofs: Object.fromEntries(seen), adopted: [] };
}

/** Keeps the proofs that still hold for the new facts: same Pod, same address, same Service. */
function keptProofs(context: PodContext, facts: PodFacts): Record<string, string> {
  const sameAddress = equal(context.facts?.address, facts.address);
  if (context.facts?.uid !== facts.uid || !sameAddress) return {};
  return Object.fromEntries(
    Object.entries(context.proofs).filter(([name, uid]) => facts.services[name] === uid),
  );
}

/** What changes in the context with new facts: another Pod under the name begins anew. */
export function remembered(context: PodContext, facts: PodFacts | null): Partial<PodContext> {
  if (facts === null) return { facts };
  const isAnother = context.facts !== null && context.facts.uid !== facts.uid;
  const isElsewhere = isAnother || !equal(context.facts?.address, facts.address);
  return {
    facts,
    proofs: keptProofs(context, facts),
    adopted: isElsewhere ? [] : context.adopted,
    // A Service that went and came back knows nothing of the question.
    asked: isElsewhere
      ? []
      : context.asked.filter((name) => facts.services[name] === context.facts?.services[name]),
    ...(isAnother ? { heldSince: null, lostRoute: null, failures: 0, lastError: null } : {}),
  };
}

/** What changes when a Service was seen to reach the Pod, or cannot tell. */
export function withProof(
  { proofs, adopted: unseen, asked }: PodContext,
  { service, serviceUid }: RouteProven | RouteUnverifiable,
): Partial<PodContext> {
  const isOther = (name: string) => name !== service;
  return {
    proofs: { ...proofs, [service]: serviceUid },
    adopted: unseen.filter(isOther),
    asked: asked.filter(isOther),
  };
}

/** What changes when a Service's route is lost. */
export function withoutProof({ proofs, asked }: PodContext, service: string): Partial<PodContext> {
  const { [service]: _lost, ...kept } = proofs;
  return { proofs: kept, asked: asked.filter((name) => name !== service), lostRoute: service };
}

/** Whether the news is of a Pod that took the place of the one that is known. */
export function isAnotherPod({ facts }: PodContext, event: PodInput): boolean {
  if (event.type !== 'pod.observed' || event.facts === null || facts === null) return false;
  return event.facts.uid !== facts.uid;
}

/** Whether somebody took away this Pod's condition that was True. */
export function isTakenBack({ facts }: PodContext, event: PodInput): boolean {
  if (event.type !== 'pod.observed' || event.facts?.uid !== facts?.uid) return false;
  return facts?.condition === 'True' && event.facts?.condition !== 'True';
}

/** Whether this Pod's routes are to be watched from now on, which nobody did until now. */
export function isWatchNews(context: PodContext, event: PodInput): boolean {
  if (event.type !== 'pod.observed' || event.facts?.uid !== context.facts?.uid) return false;
  return !isWatched(context) && isWatched({ facts: event.facts });
}

/** Whether the loss is of a proof that this very Pod has, and is to be noticed. */
export function isOwnLoss({ facts, proofs }: PodContext, { service, serviceUid, uids }: RouteLost): boolean {
  if (facts?.gate.whenRouteIsLost !== 'withdraw') return false;
  return uids.includes(facts.uid) && proofs[service] === serviceUid;
}

/** Since when each Service owes a proof. */
export function doubted(context: PodContext, at: number): Record<string, number> {
  return Object.fromEntries(unproven(context).map((name) => [name, context.doubts[name] ?? at]));
}

/** Whether other Services owe a proof than those that are counted. */
export function isDoubtNews(context: PodContext): boolean {
  return !equal(Object.keys(context.doubts).sort(), unproven(context).sort());
}

/** The Service that owes a proof for the longest time. */
export function oldestDoubt({ doubts }: PodContext): { service: string; since: number } | null {
  const [first] = Object.entries(doubts).sort(([, a], [, b]) => a - b);
  return first ? { service: first[0], since: first[1] } : null;
}

/** Whether the Service still owes this Pod a proof. */
export function isOwed(
  { facts, proofs }: PodContext,
  { service, serviceUid }: { readonly service: string; readonly serviceUid: string },
): boolean {
  return facts?.services[service] === serviceUid && proofs[service] !== serviceUid;
}

/** Whether the proof is about this very Pod at its present address, and news. */
export function isOwnProof(context: PodContext, proof: RouteProven): boolean {
  const known = valid(context.facts);
  const isAboutMe = known?.facts.uid === proof.uid && known.address.ip === proof.ip;
  return isAboutMe && isOwed(context, proof);
}

/** True at first sight, and not by a patch of ours that was taken back since. */
export function isConditionTrue({ facts, lostRoute }: PodContext): boolean {
  return facts?.condition === 'True' && lostRoute === null;
}

/** Whether lost routes are to be noticed, and can be. */
export function isWatched({ facts }: Pick<PodContext, 'facts'>): boolean {
  return facts?.gate.whenRouteIsLost === 'withdraw' && facts.verifiable && valid(facts) !== null;
}

export const provable = (facts: PodFacts | null): facts is PodFacts =>
  valid(facts) !== null &&
  facts?.gated === true &&
  (facts.groupResource === 'none' || facts.groupResource === 'found');

interface Moment {
  readonly context: PodContext;
  readonly event: PodInput;
}

/** A Kubernetes Event about the Pod. */
function note({ context, event }: Moment, about: Pick<KubeEventWrite, 'eventType' | 'reason' | 'note'>) {
  const { namespace, name, facts } = context;
  return {
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: facts?.uid ?? '' },
    at: event.at,
    ...about,
  };
}

export const openedNote = (moment: Moment) =>
  note(moment, { eventType: 'Normal', reason: 'RoutesVerified', note: verifiedMessage(moment.context) });

export const withdrawnNote = (moment: Moment) =>
  note(moment, { eventType: 'Warning', reason: 'RouteLost', note: lostMessage(moment.context) });

export const missingNote = (moment: Moment) =>
  note(moment, {
    eventType: 'Warning',
    reason: 'GroupResourceMissing',
    note: `The object that owns this Pod's group, named by RouteGate ${moment.context.facts?.gate.name ?? ''}, does not exist.`,
  });

export const invalidNote = (moment: Moment) =>
  note(moment, {
    eventType: 'Warning',
    reason: 'InvalidAddress',
    note: `status.podIPs[0] is no IP address: ${JSON.stringify(moment.context.facts?.address)}`,
  });

export function lostMessage({ lostRoute }: PodContext): string {
  return `Service ${lostRoute ?? ''} does not reach this Pod any more.`;
}

export function conditionOf({ namespace, name, facts }: PodContext) {
  return { namespace, name, uid: facts?.uid ?? '', conditionType: facts?.gate.conditionType ?? '' };
}

export function verifiedMessage({ facts }: PodContext): string {
  const services = Object.values(facts?.services ?? {});
  if (facts?.verifiable === false)
    return `The Pod cannot be told by a probe; ${services.length} Services count as proven.`;
  return `Traffic through ${services.length} of ${services.length} Services reaches this Pod.`;
}

/** The same question to every Service that was not asked yet. */
export function question({ context }: { context: PodContext }): Omit<MessageSend, 'type'> {
  return {
    to: unasked(context).map((service): ActorId => `service/${context.namespace}/${service}`),
    event: { ...ownAddress(context), type: 'route.wanted' },
  };
}

/** Asks the Services to tell when they stop reaching this Pod, whose condition is True already. */
export function watching({ context }: { context: PodContext }): Omit<MessageSend, 'type'> {
  return {
    to: Object.keys(context.proofs).map((service): ActorId => `service/${context.namespace}/${service}`),
    event: { ...ownAddress(context), type: 'route.watched' },
  };
}

/** Takes the question back from the Services that were asked. */
export function withdrawal({ context }: { context: PodContext }): Omit<MessageSend, 'type'> {
  const pod: ActorId = `pod/${context.namespace}/${context.name}`;
  return {
    to: context.asked.map((service): ActorId => `service/${context.namespace}/${service}`),
    event: { type: 'route.unwanted', pod, uid: context.facts?.uid ?? '' },
  };
}

function ownAddress(context: PodContext) {
  const known = valid(context.facts);
  const pod: ActorId = `pod/${context.namespace}/${context.name}`;
  return {
    pod,
    uid: known?.facts.uid ?? '',
    ip: known?.address.ip ?? '',
    family: known?.address.family ?? ('IPv4' as const),
  };
}
