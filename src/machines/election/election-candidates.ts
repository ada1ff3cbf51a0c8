/** The candidates of an election: who campaigns, who of them leads, and until when. Pure. */
import { limits } from '../../base/limits.ts';
import { type Candidate, type ElectionContext, type ElectionInput, timingOf } from './election-context.ts';
import type { ElectionCampaign, ElectionRenew } from './election-events.ts';

/**
 * The fraction of a candidate's time that may pass between two saved renewals: of renewals at each third of
 * the time, every second one is saved (§8.4).
 */
const unsavedPart = 1 / 2;
/** Candidates whose own subjects are remembered: the present ones, and as many former ones. */
const boundMax = 2 * limits.electionCandidates;
const boundBytesMax = 1.5 * limits.electionNamesBytes;
const utf8 = new TextEncoder();
/** The longest time that a timer can hold, ms. */
const foreverMs = 2_147_483_647;

export function withCandidate(
  context: ElectionContext,
  { candidate, ttlMs, isBound = false }: Pick<ElectionCampaign, 'candidate' | 'ttlMs' | 'isBound'>,
  at: number,
): Partial<ElectionContext> {
  const known = candidateOf(context, candidate);
  const since = known !== undefined && isLiving(known, at) ? known.since : at;
  const one: Candidate = { ttlMs, until: untilOf(context, ttlMs, at), since };
  const those = living(context, at);
  const bound = isBound ? { bound: withBound(context.bound, candidate, those) } : {};
  return { candidates: { ...those, [candidate]: one }, ...bound };
}

/**
 * A present candidate keeps its place, because candidates that renew in turn would otherwise change the
 * record each time. If there are too many, former candidates are dropped first, so nobody can push out a live
 * one.
 */
function withBound(
  bound: readonly string[],
  candidate: string,
  those: Readonly<Record<string, Candidate>>,
): readonly string[] {
  if (Object.hasOwn(those, candidate) && bound.includes(candidate)) return bound;
  const all = [...bound.filter((one) => one !== candidate), candidate];
  let [names, bytes] = [all.length, bytesOf(all)];
  return all.filter((one) => {
    if (names <= boundMax && bytes <= boundBytesMax) return true;
    if (one === candidate || Object.hasOwn(those, one)) return true;
    names--;
    bytes -= bytesOf([one]);
    return false;
  });
}

const bytesOf = (names: readonly string[]): number => utf8.encode(names.join('')).byteLength;

/** It speaks for a candidate with a subject of its own, but not on that subject. */
export function isImpostor({ bound }: Pick<ElectionContext, 'bound'>, event: ElectionInput): boolean {
  return 'candidate' in event && event.isBound !== true && bound.includes(event.candidate);
}

/** No further candidate is accepted (§5.7). */
export function isFull(context: ElectionContext, candidate: string, at: number): boolean {
  const those = living(context, at);
  if (Object.hasOwn(those, candidate)) return false;
  const names = Object.keys(those);
  return (
    names.length >= limits.electionCandidates || bytesOf([...names, candidate]) > limits.electionNamesBytes
  );
}

/** Names come from outside, so inherited properties of objects are no candidates. */
export function candidateOf(
  { candidates }: Pick<ElectionContext, 'candidates'>,
  id: string,
): Candidate | undefined {
  return Object.hasOwn(candidates, id) ? candidates[id] : undefined;
}

/**
 * A process that campaigns for itself needs no renewals; a candidate over NATS has to be heard within a lease
 * or the time it named.
 */
function untilOf(context: ElectionContext, ttlMs: number | null, at: number): number | null {
  if (ttlMs !== null) return at + ttlMs;
  return context.facts?.uid == null ? null : at + timingOf(context).leaseMs;
}

/** The candidate was heard again. */
export function withRenewal(context: ElectionContext, event: ElectionRenew, at: number) {
  const known = candidateOf(context, event.candidate);
  return known === undefined ? {} : withCandidate(context, { ...event, ttlMs: known.ttlMs }, at);
}

export function withoutCandidate(context: ElectionContext, candidate: string): Partial<ElectionContext> {
  const { [candidate]: _, ...candidates } = context.candidates;
  return { candidates };
}

export const isLiving = ({ until }: Candidate, at: number) => until === null || until > at;

/** The leader stays, whatever its time: its end is a step of its own. */
export function living(context: ElectionContext, at: number): Record<string, Candidate> {
  const { candidates, reign } = context;
  return Object.fromEntries(
    Object.entries(candidates).filter(([id, one]) => id === reign?.holder || isLiving(one, at)),
  );
}

/** Candidates whose time has not run out, oldest first. */
export function waiting(context: ElectionContext, at: number): string[] {
  return Object.entries(context.candidates)
    .filter(([id, one]) => id !== context.reign?.holder && isLiving(one, at))
    .sort(([a, { since: x }], [b, { since: y }]) => x - y || (a < b ? -1 : 1))
    .map(([id]) => id);
}

export function isHolder(context: ElectionContext, event: ElectionInput): boolean {
  return 'candidate' in event && event.candidate === context.reign?.holder;
}

/**
 * Whether the leader's message is about its present term; otherwise it is a late message about an earlier
 * one.
 */
export function isOfReign(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'election.renew' && event.type !== 'election.resign') return false;
  const isAnyTerm = event.type === 'election.resign' && event.term === 0;
  return isHolder(context, event) && (isAnyTerm || event.term === context.reign?.term);
}

export function isCandidate(context: ElectionContext, event: ElectionInput): boolean {
  return 'candidate' in event && candidateOf(context, event.candidate) !== undefined;
}

/** When a leader whose renewals fail stops leading. */
export function deadlineOf(context: ElectionContext): number {
  return (context.reign?.renewedAt ?? 0) + deadlineMsOf(context, context.reign);
}

export const deadlineMsOf = (
  context: ElectionContext,
  asked: { readonly deadlineMs?: number } | null,
): number => asked?.deadlineMs ?? timingOf(context).renewDeadlineMs;

export function isDeadlineOver(context: ElectionContext, at: number): boolean {
  return context.reign !== null && at >= deadlineOf(context);
}

export const renewalAt = (context: ElectionContext): number =>
  (context.reign?.renewedAt ?? 0) + timingOf(context).retryMs;

/** Until when the leader need not renew. */
export function holderEnd({ reign, candidates }: ElectionContext): number | null {
  const known = reign === null ? undefined : candidateOf({ candidates }, reign.holder);
  return known === undefined ? 0 : known.until;
}

export function isHolderOver(context: ElectionContext, at: number): boolean {
  const end = holderEnd(context);
  return context.reign !== null && end !== null && at >= end;
}

export function holderLeftMs(context: ElectionContext, at: number): number {
  const end = holderEnd(context);
  return end === null ? foreverMs : Math.max(0, end - at);
}

/**
 * The election has another owner than at its last step, which knows of no unsaved renewals, and renewals
 * during the move were lost. The leader gets its whole time again (§5.9), and each candidate at least what it
 * was promised.
 */
export function withTimesAnew(context: ElectionContext, at: number): Partial<ElectionContext> {
  const { reign, candidates } = context;
  const anew = (id: string, one: Candidate): Candidate => {
    if (one.until === null) return one;
    const told = one.until + unsavedPart * ttlOf(context, one);
    return { ...one, until: id === reign?.holder ? Math.max(told, at + ttlOf(context, one)) : told };
  };
  return {
    candidates: Object.fromEntries(Object.entries(candidates).map(([id, one]) => [id, anew(id, one)])),
  };
}

const ttlOf = (context: ElectionContext, { ttlMs }: Candidate): number => ttlMs ?? timingOf(context).leaseMs;

/**
 * Whether a renewal need not be saved: by the stored context, the candidate has enough time left that a new
 * owner grants at least what it is promised now. Only for heartbeats.
 */
export function isSoonAfterSaved(saved: ElectionContext, after: ElectionContext, candidate: string): boolean {
  const [stored, now] = [candidateOf(saved, candidate), candidateOf(after, candidate)];
  if (stored?.until == null || now?.until == null) return false;
  if (stored.ttlMs !== now.ttlMs || stored.since !== now.since) return false;
  return now.until - stored.until <= unsavedPart * ttlOf(after, now);
}
