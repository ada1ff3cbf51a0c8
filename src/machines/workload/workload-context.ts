/** The workload chart's context, and the pure functions over it. */

import { equal } from '../../base/equal.ts';
import type { KubeEventWrite } from '../effects.ts';
import { type EffectSettled, hasPassed, type Stamp } from '../stamp.ts';
import { type ProbePlan, readProbe } from './probe-annotation.ts';
import type { WorkloadConditionPatch, WorkloadProbeRun } from './workload-effects.ts';
import type { OwnWorkloadEvent } from './workload-events.ts';
import type { WorkloadFacts } from './workload-facts.ts';

export interface WorkloadContext {
  readonly namespace: string;
  readonly name: string;
  readonly facts: WorkloadFacts | null;
  /** Problems already reported in an Event. */
  readonly warned: readonly string[];
  /** Number of the current or last round of calls. */
  readonly round: number;
  /** Consecutive rounds that succeeded, and that failed. */
  readonly successes: number;
  readonly failures: number;
  /** The rounds' result; null: not enough of them yet. */
  readonly verdict: 'True' | 'False' | null;
  readonly lastError: string | null;
  /**
   * The condition as written, while the world has not shown another than before, and when, ms since the
   * epoch. Absent: nothing was, or an earlier release wrote it.
   */
  readonly marked?: { readonly status: 'True' | 'False'; readonly at: number } | null;
  /** The last rounds had no result: how many, and why the latest; null or absent: the last one had. */
  readonly missed?: { readonly rounds: number; readonly why: string } | null;
  /** The last writes of the condition failed: how many, and why the latest; null or absent: none did. */
  readonly unmarked?: { readonly times: number; readonly why: string } | null;
  /** When it came to be fine, ms since the epoch; null: not yet, or told to version 1. */
  readonly fineSince: number | null;
}

export type WorkloadInput = (OwnWorkloadEvent | EffectSettled) & Stamp;
export interface Args {
  readonly context: WorkloadContext;
  readonly event: WorkloadInput;
}

/** Rounds beyond the thresholds (at most 100) are not counted. */
const countMax = 100;

/** How the workload is to be probed; null: not at all. */
export function planOf({ facts }: Pick<WorkloadContext, 'facts'>): ProbePlan | null {
  if (facts === null || facts.probe === null || facts.addresses.length === 0) return null;
  const plan = readProbe(facts.probe);
  return 'invalid' in plan ? null : plan;
}

/** All problems, including those of the probe's annotation. */
export function problemsOf(facts: WorkloadFacts | null): readonly string[] {
  if (facts === null) return [];
  const plan = facts.probe === null ? null : readProbe(facts.probe);
  return plan !== null && 'invalid' in plan
    ? [...facts.problems, `orrery.dev/probe: ${plan.invalid}`]
    : facts.problems;
}

/** Attempts in a row that may fail, of rounds or of writing the condition, before somebody should look. */
const inVainMax = 3;

/** The condition that is due could not be written, again and again. */
const isUnwritable = (context: Pick<WorkloadContext, 'facts' | 'verdict' | 'marked' | 'unmarked'>): boolean =>
  isMarkDue(context) && (context.unmarked?.times ?? 0) >= inVainMax;

/** The states of the region `standing` that a workload has while it exists. */
export type Standing = 'undecided' | 'fine' | 'failing' | 'faulty';

export function standingOf(
  context: Pick<WorkloadContext, 'facts' | 'verdict' | 'marked' | 'missed' | 'unmarked'>,
): Standing {
  const { facts, verdict } = context;
  if (facts === null) return 'undecided';
  if (facts.addresses.length === 0) return 'faulty';
  if (planOf(context) === null) return facts.probe === null ? 'fine' : 'faulty';
  if (verdict === 'False') return 'failing';
  if (isUnwritable(context) || (context.missed?.rounds ?? 0) >= inVainMax) return 'faulty';
  return verdict !== null && readyOf(context) === verdict ? 'fine' : 'undecided';
}

/** Whether earlier results no longer say anything about the workload. */
export function isOtherProbe({ facts: before }: WorkloadContext, facts: WorkloadFacts): boolean {
  if (before === null) return true;
  return (
    before.uid !== facts.uid || before.probe !== facts.probe || !equal(before.addresses, facts.addresses)
  );
}

/**
 * How long the world may take to show what was written, ms. What it never shows somebody else has replaced,
 * perhaps before any watch could see it.
 */
const echoMs = 30_000;

/** The condition as far as known. */
export const readyOf = ({ facts, marked }: Pick<WorkloadContext, 'facts' | 'marked'>) =>
  marked?.status ?? facts?.ready ?? null;

/** The condition differs from the rounds' result. */
export const isMarkDue = (context: Pick<WorkloadContext, 'facts' | 'verdict' | 'marked'>): boolean =>
  context.facts !== null && context.verdict !== null && readyOf(context) !== context.verdict;

/** What the world shows from now on. */
export const shown = (context: WorkloadContext, facts: WorkloadFacts | null): Partial<WorkloadContext> => ({
  facts,
  ...(facts?.ready === context.facts?.ready ? {} : { marked: null }),
});

/** What was written at this time; the world may have shown it already. */
export const noted = (
  { facts }: WorkloadContext,
  status: 'True' | 'False',
  at: number,
): Partial<WorkloadContext> => ({
  marked: facts?.ready === status ? null : { status, at },
  unmarked: null,
});

/** The condition could not be written. */
export const withUnmarked = ({ unmarked }: WorkloadContext, why: string): Partial<WorkloadContext> => ({
  lastError: why,
  unmarked: { times: Math.min((unmarked?.times ?? 0) + 1, countMax), why },
});

/** @param at when the round ended */
export function counted(
  context: WorkloadContext,
  failures: readonly string[],
  at: number,
): Partial<WorkloadContext> {
  const { marked = null } = context;
  const plan = planOf(context);
  const isGood = failures.length === 0;
  const successes = isGood ? Math.min(context.successes + 1, countMax) : 0;
  const failed = isGood ? 0 : Math.min(context.failures + 1, countMax);
  const isUp = plan !== null && successes >= plan.successes;
  const isDown = plan !== null && failed >= plan.failures;
  const verdict = isUp ? 'True' : isDown ? 'False' : context.verdict;
  const isLapsed = marked !== null && hasPassed(echoMs, marked.at, at);
  const counts = { successes, failures: failed, verdict, lastError: failures[0] ?? null, missed: null };
  return isLapsed ? { ...counts, marked: null } : counts;
}

/** What a round without a result changes: as with Kubernetes' own probes, it counts as neither. */
export const withMissed = ({ missed }: WorkloadContext, why: string): Partial<WorkloadContext> => ({
  missed: { rounds: Math.min((missed?.rounds ?? 0) + 1, countMax), why },
});

export function probeRun({ context }: Pick<Args, 'context'>): Omit<WorkloadProbeRun, 'type'> {
  const { facts, round } = context;
  const plan = planOf(context);
  const nothing = { scheme: 'tcp', host: null, port: 1, path: '/', timeoutMs: 1 } as const;
  return { round, addresses: (facts?.addresses ?? []).map(({ ip }) => ip), probe: plan?.probe ?? nothing };
}

export function mark({ context, event }: Args): Omit<WorkloadConditionPatch, 'type'> {
  const { namespace, name, facts, verdict, lastError } = context;
  const isReady = verdict === 'True';
  return {
    namespace,
    name,
    uid: facts?.uid ?? '',
    status: isReady ? 'True' : 'False',
    reason: isReady ? 'ProbeSucceeded' : 'ProbeFailed',
    message: isReady ? 'Every address answers the probe.' : (lastError ?? 'The probe fails.'),
    at: event.at,
  };
}

function regarding({ namespace, name }: WorkloadContext, uid: string): KubeEventWrite['regarding'] {
  return { apiVersion: 'workload.linkerd.io/v1beta1', kind: 'ExternalWorkload', namespace, name, uid };
}

/** Problems not reported yet. */
export function unsaid({ warned }: WorkloadContext, facts: WorkloadFacts | null): readonly string[] {
  return problemsOf(facts).filter((problem) => !warned.includes(problem));
}

export function warning({ context, event }: Args): Omit<KubeEventWrite, 'type'> {
  const facts = event.type === 'workload.observed' ? event.facts : null;
  return {
    regarding: regarding(context, facts?.uid ?? ''),
    eventType: 'Warning',
    reason: (facts?.addresses.length ?? 0) === 0 ? 'InvalidWorkload' : 'WorkloadLimited',
    note: unsaid(context, facts).join('; '),
    at: event.at,
  };
}

export function verdictNews({ context, event }: Args): Omit<KubeEventWrite, 'type'> {
  const { facts, verdict, lastError } = context;
  const isReady = verdict === 'True';
  return {
    regarding: regarding(context, facts?.uid ?? ''),
    eventType: isReady ? 'Normal' : 'Warning',
    reason: isReady ? 'ProbeSucceeded' : 'ProbeFailed',
    note: isReady
      ? 'Every address answers the probe; the workload is ready.'
      : `The workload is not ready: ${lastError ?? ''}`,
    at: event.at,
  };
}
