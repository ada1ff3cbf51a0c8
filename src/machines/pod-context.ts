/**
 * The pod chart's context and everything pure that is computed from it: what is owed, what is asked, what is told to people.
 */
import type { ActorId } from '../ids.ts';
import type { KubeEventWrite, MessageSend } from './effects.ts';
import { equal } from './equal.ts';
import type { PodEvent, RouteProven, Stamp } from './events.ts';
import type { PodFacts } from './facts.ts';

export interface PodContext {
  readonly namespace: string;
  readonly name: string;
  /** null: nothing is known, or nothing calls for the actor any more. */
  readonly facts: PodFacts | null;
  /** Service → its uid when it was proven, or when it was found to be unverifiable. */
  readonly proofs: Readonly<Record<string, string>>;
  /** Services that were asked for a proof since the Pod began to prove. */
  readonly asked: readonly string[];
  /** How often the unproven Services were asked since the Pod began to prove. */
  readonly askings: number;
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
export function provenServices(facts: PodFacts | null): Record<string, string> {
  return Object.fromEntries(
    Object.entries(facts?.services ?? {}).flatMap(([name, uid]) => (uid === null ? [] : [[name, uid]])),
  );
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
    asked: isElsewhere ? [] : context.asked,
    ...(isAnother ? { heldSince: null, lostRoute: null, failures: 0, lastError: null } : {}),
  };
}

/** What changes when a Service's route is lost. */
export function withoutProof({ proofs, asked }: PodContext, service: string): Partial<PodContext> {
  const { [service]: _lost, ...kept } = proofs;
  return { proofs: kept, asked: asked.filter((name) => name !== service), lostRoute: service };
}

/** Whether the Service still owes this Pod a proof. */
export function isOwed({ facts, proofs }: PodContext, service: string, serviceUid: string): boolean {
  return facts?.services[service] === serviceUid && proofs[service] !== serviceUid;
}

/** Whether the proof is about this very Pod at its present address, and news. */
export function isOwnProof(context: PodContext, proof: RouteProven): boolean {
  const known = valid(context.facts);
  const isAboutMe = known?.facts.uid === proof.uid && known.address.ip === proof.ip;
  return isAboutMe && isOwed(context, proof.service, proof.serviceUid);
}

/** True at first sight, and not by a patch of ours that was taken back since. */
export function isConditionTrue({ facts, lostRoute }: PodContext): boolean {
  return facts?.condition === 'True' && lostRoute === null;
}

/** Whether lost routes are to be noticed, and can be. */
export function isWatched({ facts }: PodContext): boolean {
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
