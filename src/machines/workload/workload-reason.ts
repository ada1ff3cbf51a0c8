/**
 * Why a workload outside the cluster stands as it does: its problems, and the result of its probe. Pure.
 */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing, tells } from '../tell.ts';
import { isMarkDue, planOf, problemsOf, readyOf, type WorkloadContext } from './workload-context.ts';

type WorkloadStanding = Standing<WorkloadContext>;

export const tellWorkload = tells<WorkloadContext>((standing) => {
  const { context } = standing;
  if (context.facts === null) return { text: 'the workload no longer exists', next: null };
  // Parsed from the annotation only once.
  const plan = planOf(context);
  const told = [problemsText(context), probeText(standing, plan), missedText(context)].filter(
    (text) => text !== null,
  );
  const { fineSince } = context;
  return {
    text: told.join('; '),
    facts: factsOf(context, plan),
    ...(fineSince === null ? {} : { since: fineSince }),
  };
});

function problemsText({ facts }: WorkloadContext): string | null {
  const problems = problemsOf(facts);
  if (problems.length === 0) return null;
  const isLeftOut = facts?.addresses.length === 0;
  const how = isLeftOut ? 'no Service publishes the workload' : 'the workload is published with a limit';
  return `${how}: ${problems.join(', ')}`;
}

/** Rounds without a result: the verdict stands, and grows old. */
function missedText({ missed = null }: WorkloadContext): string | null {
  if (missed === null) return null;
  const rounds = missed.rounds === 1 ? 'last round' : `last ${missed.rounds} rounds`;
  return `the ${rounds} had no result, which counts neither way: ${missed.why}`;
}

type Plan = ReturnType<typeof planOf>;

function probeText(standing: WorkloadStanding, plan: Plan): string | null {
  const { context } = standing;
  if (plan === null) return context.facts?.probe === null ? 'no probe is configured' : null;
  const { unmarked } = context;
  if (isIn(standing, 'health.waiting') || (unmarked != null && isMarkDue(context)))
    return `the condition Ready could not be set to ${context.verdict}${timesText(unmarked?.times)}: ${unmarked?.why ?? context.lastError ?? 'unknown error'}`;
  if (isIn(standing, 'health.marking'))
    return `${verdictText(context, plan)}; the condition Ready is being set to ${context.verdict}`;
  return verdictText(context, plan);
}

const timesText = (times = 1) => (times === 1 ? '' : `, ${times} times in a row`);

function verdictText(
  { verdict, lastError, successes, failures, facts }: WorkloadContext,
  plan: Plan,
): string {
  const addresses = facts?.addresses.length === 1 ? 'the address' : 'every address';
  if (verdict === 'True')
    return failures === 0
      ? `${addresses} answers the probe`
      : `the probe failed ${failures} of ${plan?.failures} times: ${lastError}`;
  if (verdict === 'False')
    return successes === 0
      ? `the workload is not ready, the probe fails: ${lastError}`
      : `the workload is not ready yet, ${addresses} answered ${successes} of ${plan?.successes} times`;
  return 'the probe has not run often enough to say whether the workload is ready';
}

function factsOf(context: WorkloadContext, plan: Plan): readonly Fact[] {
  const { facts, verdict } = context;
  return [
    { label: 'Addresses', value: (facts?.addresses ?? []).map(({ ip }) => ip).join(', ') || 'none' },
    { label: 'Ready', value: readyOf(context) ?? 'Unknown' },
    ...(plan === null ? [] : [{ label: 'Period', value: plan.periodMs, unit: 'ms' }]),
    ...(verdict === null ? [] : [{ label: 'Probe says', value: verdict }]),
  ];
}
