/** The routegate chart's context, and the pure functions over it. */
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { KubeEventWrite } from '../effects.ts';
import { isSaidByOther } from '../said.ts';
import { hasPassed, isToRestate, leftOf, type Stamp } from '../stamp.ts';
import type { RouteGateLook, RouteGateStatusPatch } from './routegate-effects.ts';
import type { RouteGateEvent } from './routegate-events.ts';
import type { GateFindings, RouteGateFacts } from './routegate-facts.ts';
import { type GateStatus, keyOf, saidIn, statusOf, type Warning, warningsOf } from './routegate-status.ts';

export interface RouteGateContext {
  readonly namespace: string;
  readonly name: string;
  /** null: nothing is known yet. */
  readonly facts: RouteGateFacts | null;
  /** Number of the current or last look; findings of an older one are ignored. */
  readonly look: number;
  /** The token at the start of the last look. */
  readonly lookedAt: string;
  /** Its findings; null: there was no look, or the specification is unusable. */
  readonly findings: GateFindings | null;
  /** When they were found, ms since the epoch. */
  readonly foundAt: number;
  /** Since when looks find unlisted objects, ms since the epoch; null: everything is listed. */
  readonly unlistedSince: number | null;
  /** The status in the object; null: unknown. */
  readonly reported: GateStatus | null;
  /** When it was written, ms since the epoch; absent: by an earlier release. */
  readonly reportedAt?: number;
  /** The object said something else while its status was being written. */
  readonly doubted?: boolean;
  /** Keys of the Warning Events already written for this generation of the object. */
  readonly told: readonly string[];
  /** Consecutive failed attempts. */
  readonly failures: number;
  readonly lastError: string | null;
}

export type RouteGateInput = RouteGateEvent & Stamp;

export interface Moment {
  readonly context: RouteGateContext;
  readonly event: RouteGateInput;
}

/** Before the first event. */
export const newborn = ({ namespace, name }: ActorInput): RouteGateContext => ({
  namespace,
  name,
  facts: null,
  look: 0,
  lookedAt: '',
  findings: null,
  foundAt: 0,
  unlistedSince: null,
  reported: null,
  told: [],
  failures: 0,
  lastError: null,
});

/** How long lists may be incomplete before the status says so, ms. */
const listPatienceMs = 10_000;

export const listPatience = ({ context: { unlistedSince }, event }: Moment): number =>
  leftOf(listPatienceMs, unlistedSince ?? event.at, event.at);

/** Whether the observation is of another object or another generation: everything is counted again. */
export function isOther({ context: { facts: before }, event }: Moment): boolean {
  if (event.type !== 'routegate.observed' || event.facts === null) return false;
  const { uid, generation, invalid } = event.facts;
  return before?.uid !== uid || before.generation !== generation || before.invalid !== invalid;
}

/** Warnings are made once for each generation; a new object's status is unknown. */
export function remembered({ context, event }: Moment): Partial<RouteGateContext> {
  if (event.type !== 'routegate.observed') return {};
  const { facts } = event;
  const isSameObject = context.facts?.uid === facts?.uid;
  if (isSameObject && context.facts?.generation === facts?.generation) return { facts };
  return { facts, told: [], findings: null, ...(isSameObject ? {} : { reported: null }) };
}

export function found({ context, event }: Moment): Partial<RouteGateContext> {
  if (event.type !== 'routegate.counted') return {};
  const { findings, stirred } = event;
  const unlistedSince = findings.isComplete ? null : (context.unlistedSince ?? event.at);
  return { findings, lookedAt: stirred, foundAt: event.at, unlistedSince };
}

/** The desired status; an invalid specification overrides any findings. */
export function wanted({ facts, findings, foundAt }: RouteGateContext): GateStatus | null {
  return facts === null ? null : statusOf(facts, findings, foundAt);
}

/** The object says what it should, and that was written not long ago: somebody else may write it, too. */
export const isReported = ({ context, event }: Moment): boolean =>
  !isToRestate(context.reportedAt, event.at) && equal(context.reported, wanted(context));

/** Whether the object says what we did not write. */
export const isMistold = (moment: Moment): boolean =>
  moment.context.reported !== null && isSaidOtherwise(moment, [moment.context.reported]);

/** The same while the status is on its way, when the object may say the one before, too. */
export const isMistoldMeanwhile = (moment: Moment): boolean =>
  isSaidOtherwise(moment, [moment.context.reported, wanted(moment.context)]);

function isSaidOtherwise({ context, event }: Moment, known: ReadonlyArray<GateStatus | null>): boolean {
  if (event.type !== 'routegate.status.observed') return false;
  return isSaidByOther(
    event.facts,
    context.facts?.uid,
    known.map((status) => status && saidIn(status)),
    event.at,
  );
}

/**
 * Somebody should look: the status has a condition that is False, Pods that should be held are not, or a
 * right may be missing.
 */
export function isTroubled(context: RouteGateContext): boolean {
  const { valid, verifying } = wanted(context) ?? {};
  const isAnyFalse = valid?.status === 'False' || verifying?.status === 'False';
  const { pods, unlistedOwner, formerTypes } = context.findings ?? {};
  const isAnyUngated = (pods?.ungated ?? 0) > 0 || formerTypes !== undefined;
  return isAnyFalse || isAnyUngated || unlistedOwner !== undefined;
}

/** Something may have changed since the last look. */
export const isStirred = ({ facts, lookedAt }: RouteGateContext): boolean =>
  facts !== null && facts.invalid === null && facts.stirred !== lookedAt;

/** Lists are incomplete, as after a start of all replicas: a correct status is not replaced for a moment. */
export const isUnlisted = ({ context, event }: Moment): boolean =>
  context.findings?.isComplete === false &&
  context.reported?.verifying.reason !== 'NotListed' &&
  !hasPassed(listPatienceMs, context.unlistedSince ?? event.at, event.at);

export const looked = ({ context: { namespace, name, look } }: Moment): Omit<RouteGateLook, 'type'> => ({
  namespace,
  name,
  look,
});

/** The look that an event is the outcome of; undefined: of none. */
export const lookOf = (event: RouteGateInput): number | undefined =>
  'look' in event ? event.look : undefined;

export function report({ context, event }: Moment): Omit<RouteGateStatusPatch, 'type'> {
  const { namespace, name, facts } = context;
  const status = wanted(context);
  if (facts === null || status === null) throw new Error('only what is known is reported');
  return { namespace, name, uid: facts.uid, status, at: event.at };
}

/** Warnings not yet made for this generation. */
export function untold(context: RouteGateContext): Warning[] {
  const status = wanted(context);
  const all = status === null ? [] : warningsOf(status, context.findings);
  return all.filter((one) => !context.told.includes(keyOf(one)));
}

export function warning(
  { context, event }: Moment,
  { reason, message }: Warning,
): Omit<KubeEventWrite, 'type'> {
  const { namespace, name, facts } = context;
  const kind = { apiVersion: 'orrery.dev/v1alpha1', kind: 'RouteGate' };
  const regarding = { ...kind, namespace, name, uid: facts?.uid ?? '' };
  return { regarding, eventType: 'Warning', reason, note: message, at: event.at };
}
