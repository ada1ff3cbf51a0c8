/** What a Pod's actor tells people (conditions, Events) and Services (questions). Pure. */
import type { ActorId } from '../../base/ids.ts';
import type { KubeEventWrite, MessageSend } from '../effects.ts';
import {
  isConditionTrue,
  isSame,
  type PodContext,
  type PodInput,
  unasked,
  unproven,
  unverifiable,
  valid,
} from './pod-context.ts';
import type { PodConditionPatch } from './pod-effects.ts';
import type { Hindrance, PodFacts } from './pod-facts.ts';
import { returnMs } from './pod-last-service.ts';

export interface Moment {
  readonly context: PodContext;
  readonly event: PodInput;
}
type Sending = Omit<MessageSend, 'type'>;
type Patch = Omit<PodConditionPatch, 'type'>;

/** The object that an actor represents: the name without `@<gate>`. */
export const objectName = (actor: string): string => actor.split('@')[0] ?? actor;

/** A Kubernetes Event about the Pod. */
function note({ context, event }: Moment, about: Pick<KubeEventWrite, 'eventType' | 'reason' | 'note'>) {
  const { namespace, name, facts } = context;
  const regarding = {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace,
    name: objectName(name),
    uid: facts?.uid ?? '',
  };
  return { regarding, at: event.at, ...about };
}

/** The condition became True; a Warning if nothing was verified. */
export function openedNote(moment: Moment) {
  const { reason, message } = opened(moment.context);
  return note(moment, {
    eventType: reason === 'RoutesVerified' ? 'Normal' : 'Warning',
    reason,
    note: message,
  });
}

export const withdrawnNote = (moment: Moment) =>
  note(moment, { eventType: 'Warning', reason: 'RouteLost', note: lostMessage(moment.context) });

export const missingNote = (moment: Moment) =>
  note(moment, {
    eventType: 'Warning',
    reason: moment.context.facts?.refused?.reason ?? 'GroupResourceMissing',
    note: heldMessage(moment.context),
  });

export const invalidNote = (moment: Moment) =>
  note(moment, { eventType: 'Warning', reason: 'InvalidAddress', note: invalidMessage(moment.context) });

/** For those who see a Pod that is not Ready, and look for the reason in the Pod. */
export const unopenedNote = (moment: Moment) => unwrittenNote(moment, 'True');

export const unwithdrawnNote = (moment: Moment) => unwrittenNote(moment, 'False');

function unwrittenNote(moment: Moment, status: 'True' | 'False') {
  const { facts, failures, lastError } = moment.context;
  const text = `The condition ${facts?.gate.conditionType ?? ''} could not be set to ${status}, ${failures} times in a row: ${lastError ?? 'unknown error'}`;
  return note(moment, { eventType: 'Warning', reason: 'ConditionNotWritten', note: text });
}

/** Why the gate leaves a Pod alone that waits for its condition. */
export function strandedNote(moment: Moment) {
  const { reason, message } = held(moment.context);
  return note(moment, { eventType: 'Warning', reason, note: message });
}

const unselectedText = ({ name }: PodFacts['gate'], { lacks }: NonNullable<PodFacts['unselected']>) =>
  lacks === null
    ? `RouteGate ${name} does not select this Pod (spec.podSelector), nor does another one for this condition`
    : `RouteGate ${name} holds no Pod without the label ${lacks} (spec.group.podLabel), which this Pod lacks`;

/** For `kubectl describe`, which shows no message of a condition. */
export function longHeldNote(moment: Moment) {
  const { reason, message } = held(moment.context);
  return note(moment, { eventType: 'Warning', reason, note: message });
}

function missingMessage({ facts }: PodContext): string {
  const gate = `RouteGate ${facts?.gate.name ?? ''}`;
  // Facts of an earlier release do not name it.
  if (facts?.owner === undefined)
    return `The object that owns this Pod's group, named by ${gate}, does not exist.`;
  const { apiVersion, kind, name, label } = facts.owner;
  const [version, otherwise] =
    apiVersion === undefined
      ? ['', '']
      : [` (${apiVersion})`, "; if the cluster has no such kind, the RouteGate's groupResource"];
  return `${kind} ${name}${version}, which owns this Pod's group by ${gate}, does not exist. Create it, or correct the Pod's label ${label}${otherwise}.`;
}

export function foreignMessage({ gate, unselected }: PodFacts): string {
  if (unselected !== undefined)
    return `${unselectedText(gate, unselected)}, so that nothing sets this condition to True unless another program does. If the Pod is to become Ready, correct its labels in its template or the RouteGate, or remove ${gate.conditionType} from spec.readinessGates of its template.`;
  return `The object that owns this Pod's group does not match what RouteGate ${gate.name} requires (groupResource.require), so that verifies nothing, and does not set this condition to True. If the Pod is to become Ready, remove ${gate.conditionType} from spec.readinessGates of its template, or correct require.`;
}

/** The scheduler, or its node, says why in Events on the Pod. */
const noAddressMessage =
  'This Pod has no address yet (status.podIPs); if that lasts, kubectl describe pod says why.';

function invalidMessage({ facts }: PodContext): string {
  const text = facts?.address && 'invalid' in facts.address ? facts.address.invalid : '';
  return `The Pod's first address (status.podIPs), which its node's network sets, is no IP address: ${JSON.stringify(text)}. No Service is probed until it is one.`;
}

export function lostMessage({ lostRoute }: PodContext): string {
  return `Service ${objectName(lostRoute ?? '')} does not reach this Pod.`;
}

/** Names in a message; the rest are counted. */
const namesMax = 5;

/** What several of them share is said once. */
function listed(entries: ReadonlyArray<readonly [string, string]>): string {
  const shown = Map.groupBy(entries.slice(0, namesMax), ([, why]) => why);
  const texts = [...shown].map(
    ([why, those]) => `${together(those.map(([name]) => objectName(name)))} (${why})`,
  );
  const rest = entries.length - namesMax;
  return rest > 0 ? `${texts.join(', ')} and ${rest} more` : texts.join(', ');
}

const together = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/**
 * Reason and message of the True condition: what was verified by then, what was not and why
 * (docs/features/routes.md §5.4). It is not written again when Services come or go, so it tells the past.
 */
export function opened(context: PodContext): { readonly reason: string; readonly message: string } {
  const total = Object.keys(context.facts?.services ?? {}).length;
  if (total === 0)
    return {
      reason: 'NothingToVerify',
      message: `${noServiceMessage(context, 'found')}; no traffic was verified.`,
    };
  const missing = Object.entries(unverifiable(context));
  const verified = total - missing.length;
  const gap = missing.length === 0 ? '' : ` Not verified: ${listed(missing)}.`;
  return {
    reason: verified > 0 ? 'RoutesVerified' : 'Unverified',
    message: `Traffic through ${verified} of ${total} Services reached this Pod.${gap}`,
  };
}

/** Reason and message of the False condition while the Pod is held back. */
function held(context: PodContext): { readonly reason: string; readonly message: string } {
  const { facts, lostRoute } = context;
  if (facts?.refused !== undefined) return facts.refused;
  if (facts?.groupResource === 'missing') return { reason: 'GroupMissing', message: missingMessage(context) };
  if (facts?.groupResource === 'mismatch')
    return { reason: facts.unselected ? 'NotSelected' : 'NotApplicable', message: foreignMessage(facts) };
  if (facts?.address === null) return { reason: 'WaitingForAddress', message: noAddressMessage };
  if (facts !== null && 'invalid' in facts.address)
    return { reason: 'InvalidAddress', message: invalidMessage(context) };
  const waiting = waitingMessage(context);
  if (lostRoute === null) return { reason: 'WaitingForRoutes', message: waiting };
  return { reason: 'RouteLost', message: `${lostMessage(context)} ${waiting}` };
}

function noServiceMessage({ facts }: PodContext, finds: 'finds' | 'found'): string {
  const gate = `RouteGate ${facts?.gate.name ?? ''}`;
  // Facts of an earlier release do not name the label.
  if (facts?.noService === undefined) return `${gate} ${finds} no Service for this Pod's group`;
  const { label, value } = facts.noService;
  return `${gate} ${finds} no Service for this Pod's group, which its serviceSelector selects and which has the label ${label}=${value}`;
}

function waitingMessage(context: PodContext): string {
  const { facts } = context;
  const services = facts?.services ?? {};
  if (context.lastLeft)
    return `The last Service of this Pod's group left a moment ago, perhaps to be replaced; unless one comes, this condition is set to True in ${returnMs / 1_000} s.`;
  if (Object.keys(services).length === 0)
    return `${noServiceMessage(context, 'finds')}, and holds what cannot be verified (whenUnverifiable: hold): create such a Service, correct the labels of the one that is meant, or set whenUnverifiable: pass.`;
  return missingList(context);
}

/** What to change where a Service cannot lead to the Pod, or waits for it. */
const remedies: Readonly<Record<Hindrance, string>> = {
  unselected: 'its selector does not select this Pod: correct the selector or the labels of the Pod',
  notPublished: 'publishes Ready Pods only: set publishNotReadyAddresses: true',
  affine: 'session affinity leads each replica to one Pod: remove it, or gate on a Service without it',
  near: 'trafficDistribution (or a topology mode) leads each replica to Pods of its own zone or node: remove it, or gate on a Service without it',
  local:
    'internalTrafficPolicy Local leads to Pods on nodes with a replica only: remove it, or gate on a Service without it',
};

/** Why a Service owes its proof: what keeps it from giving one, and its last answer. */
function debtOf({ facts, answers }: PodContext, name: string): string {
  const hindrances = facts?.deadlocks?.[name] ?? [];
  const known = [...hindrances.map((one) => remedies[one]), answers[name] ?? ''];
  return known.filter((text) => text !== '').join('; ') || 'no answer yet';
}

/** The Services that owe a proof, and why. */
export function missingList(context: PodContext): string {
  const services = context.facts?.services ?? {};
  const missing = unproven(context);
  const reasons = unverifiable(context);
  const entries = missing.map((name) => [name, reasons[name] ?? debtOf(context, name)] as const);
  return `${missing.length} of ${Object.keys(services).length} Services have not reached this Pod: ${listed(entries)}.`;
}

/** What the condition says, or is about to say, while the Pod is held back. */
export const heldMessage = (context: PodContext): string => held(context).message;

/** Whether the condition says anything other than what holds. */
export function isUntold(context: PodContext): boolean {
  const { reason, message } = held(context);
  return context.told?.reason !== reason || context.told.message !== message;
}

/**
 * Whether the condition still says why the gate holds the Pod, which it does not: nobody else corrects that
 * (docs/features/routes.md §2.7).
 */
export const isToldWrongly = (context: PodContext): boolean =>
  context.facts?.groupResource === 'mismatch' &&
  context.facts.condition === 'False' &&
  context.told !== null &&
  isUntold(context);

/** Notes what is being written, before it is known whether the write succeeds. */
export const telling = ({ context, event }: Moment): Partial<PodContext> => ({
  told: { ...held(context), at: event.at },
});

function conditionOf({ namespace, name, facts }: PodContext) {
  const conditionType = facts?.gate.conditionType ?? '';
  return { namespace, name: objectName(name), uid: facts?.uid ?? '', conditionType };
}

/** The patch that says why the Pod is held back. */
export function heldPatch({ context, event }: Moment): Patch {
  const isFalse = context.facts?.condition === 'False' || context.awaitsFalse;
  return { ...conditionOf(context), status: 'False', ...held(context), at: isFalse ? null : event.at };
}

export function openedPatch({ context, event }: Moment): Patch {
  const at = isConditionTrue(context) ? null : event.at;
  return { ...conditionOf(context), status: 'True', ...opened(context), at };
}

export function lostPatch({ context, event }: Moment): Patch {
  return {
    ...conditionOf(context),
    status: 'False',
    reason: 'RouteLost',
    message: lostMessage(context),
    at: event.at,
  };
}

/** After a withdrawal: what the patch said, and whether the world may still show the earlier True. */
export const withdrawn = ({ context, event }: Moment): Partial<PodContext> => ({
  told: { reason: 'RouteLost', message: lostMessage(context), at: event.at },
  awaitsFalse: context.facts?.condition === 'True',
});

const service = ({ namespace }: PodContext, name: string): ActorId => `service/${namespace}/${name}`;

/** The Services that a message names. */
const named = (context: PodContext) => unproven(context).slice(0, namesMax);

/** The Services that have been asked, and those of them that were to say what answers. */
export function askedNow(context: PodContext): Pick<PodContext, 'asked' | 'curious'> {
  const news = unasked(context);
  const those = news.filter((name) => named(context).includes(name));
  const before = (context.curious ?? []).filter((name) => !news.includes(name));
  return { asked: [...context.asked, ...news], curious: [...before, ...those] };
}

/** Services that a message names now, and that never were to say what answers, have to be asked once more. */
export function askedByName(context: PodContext): Pick<PodContext, 'asked'> {
  const { asked, curious = [], answers } = context;
  const untold = named(context).filter((name) => !curious.includes(name) && answers[name] === undefined);
  return { asked: asked.filter((name) => !untold.includes(name)) };
}

/** The question to the Services that have not been asked, except those that a message names. */
export function question({ context }: { context: PodContext }): Sending {
  const names = unasked(context).filter((name) => !named(context).includes(name));
  return {
    to: names.map((name) => service(context, name)),
    event: { ...ownAddress(context), type: 'route.wanted', ...spoken(context) },
  };
}

/** The question to those that a message names: what answers them is wanted, too. */
export function curiousQuestion({ context }: { context: PodContext }): Sending {
  const names = unasked(context).filter((name) => named(context).includes(name));
  return {
    to: names.map((name) => service(context, name)),
    event: { ...ownAddress(context), type: 'route.wanted', ...spoken(context), curious: true },
  };
}

/** Asks these Services to say when they no longer reach this Pod, and that they will. */
export function watching(context: PodContext, names: readonly string[]): Sending {
  return {
    to: names.map((name) => service(context, name)),
    event: { ...ownAddress(context), type: 'route.watched', ...spoken(context), confirm: true },
  };
}

/** Orders the message among those that this Pod sent: what is overtaken by a later one counts for nothing. */
const spoken = ({ spokenAt }: PodContext) => (spokenAt === undefined ? {} : { spokenAt });

/** Withdraws the question from the Services that were asked. */
export function withdrawal({ context }: { context: PodContext }): Sending {
  const pod: ActorId = `pod/${context.namespace}/${context.name}`;
  return {
    to: context.asked.map((name) => service(context, name)),
    event: { type: 'route.unwanted', pod, uid: context.facts?.uid ?? '', ...spoken(context) },
  };
}

/**
 * The same from those that are no longer of its group: they would look for it in vain. Another Pod of the
 * name, or one with another condition, starts afresh and knows nothing of what was asked.
 */
export function withdrawalFromLeft(context: PodContext, facts: PodFacts): Sending {
  const isLeft = (name: string) => facts.services[name] === undefined || !isSame(context.facts, facts);
  return withdrawal({ context: { ...context, asked: context.asked.filter(isLeft) } });
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
