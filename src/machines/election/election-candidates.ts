/** Who campaigns in an election, who of them leads, and until when. Pure. */
import { limits } from '../../base/limits.ts';
import { type Candidate, type ElectionContext, type ElectionInput, timingOf } from './election-context.ts';
import type { ElectionCampaign, ElectionRenew } from './election-events.ts';

/**
 * Of a candidate's time, what may pass between two renewals that are saved: one that asks at each third of
 * its time is saved every second time (§8.4).
 */
const unsavedPart = 1 / 2;
/** Candidates whose subjects are remembered: those of now, and as many that were. */
const boundMax = 2 * limits.electionCandidates;
const boundBytesMax = 1.5 * limits.electionNamesBytes;
const utf8 = new TextEncoder();
/** The longest time that a timer holds, ms. */
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
 * Who is a candidate already stays where it is: else candidates that renew in turn would change the record
 * each time. Where there are too many, who is no candidate now is forgotten first: nobody can push a living
 * one out.
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

/** It speaks for a candidate that has a subject of its own, and not on that. */
export function isImpostor({ bound }: Pick<ElectionContext, 'bound'>, event: ElectionInput): boolean {
  return 'candidate' in event && event.isBound !== true && bound.includes(event.candidate);
}

/** Nobody more may campaign (§5.7). */
export function isFull(context: ElectionContext, candidate: string, at: number): boolean {
  const those = living(context, at);
  if (Object.hasOwn(those, candidate)) return false;
  const names = Object.keys(those);
  return (
    names.length >= limits.electionCandidates || bytesOf([...names, candidate]) > limits.electionNamesBytes
  );
}

/** Names come from outside: what every object inherits is no candidate. */
export function candidateOf(
  { candidates }: Pick<ElectionContext, 'candidates'>,
  id: string,
): Candidate | undefined {
  return Object.hasOwn(candidates, id) ? candidates[id] : undefined;
}

/**
 * A process that campaigns for itself is its own witness; whoever campaigns over NATS is heard of again
 * within a lease or what it named.
 */
function untilOf(context: ElectionContext, ttlMs: number | null, at: number): number | null {
  if (ttlMs !== null) return at + ttlMs;
  return context.facts?.uid == null ? null : at + timingOf(context).leaseMs;
}

/** The candidate was heard of again. */
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

/** Candidates that were heard of in time, who came first in front. */
export function waiting(context: ElectionContext, at: number): string[] {
  return Object.entries(context.candidates)
    .filter(([id, one]) => id !== context.reign?.holder && isLiving(one, at))
    .sort(([a, { since: x }], [b, { since: y }]) => x - y || (a < b ? -1 : 1))
    .map(([id]) => id);
}

export function isHolder(context: ElectionContext, event: ElectionInput): boolean {
  return 'candidate' in event && event.candidate === context.reign?.holder;
}

/** What the leader says of its own term; of another one it is late news of an earlier reign. */
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
  return (context.reign?.renewedAt ?? 0) + timingOf(context).renewDeadlineMs;
}

export function isDeadlineOver(context: ElectionContext, at: number): boolean {
  return context.reign !== null && at >= deadlineOf(context);
}

export const renewalAt = (context: ElectionContext): number =>
  (context.reign?.renewedAt ?? 0) + timingOf(context).retryMs;

/** Until when the leader need not say anything. */
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
 * The election has another owner than at its last step, who knows of no renewal that was not saved, and
 * nobody could take those that came while it moved. The leader has its whole time again (§5.9), everybody at
 * least what it was told.
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
 * Whether a renewal need not be saved: by what is stored the candidate has still so much of its time that a
 * new owner gives it back all that it is told now. Of a heartbeat only.
 */
export function isSoonAfterSaved(saved: ElectionContext, after: ElectionContext, candidate: string): boolean {
  const [stored, now] = [candidateOf(saved, candidate), candidateOf(after, candidate)];
  if (stored?.until == null || now?.until == null) return false;
  if (stored.ttlMs !== now.ttlMs || stored.since !== now.since) return false;
  return now.until - stored.until <= unsavedPart * ttlOf(after, now);
}
