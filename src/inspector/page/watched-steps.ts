/** The steps of the watched actor: those that were read, and those that came over the feed. Pure. */
import { isLater, stepKey } from '../../actors/step-order.ts';
import type { HistoryStep } from '../../base/views.ts';

/** Those read at first and those since; older ones fall out. */
const stepsMax = 1_000;

type Steps = readonly HistoryStep[];

export function withStep(steps: Steps, step: HistoryStep): Steps {
  const key = stepKey(step);
  return steps.some((one) => stepKey(one) === key) ? steps : [...steps, step].slice(-stepsMax);
}

/** What was read, and behind it what came over the feed meanwhile. */
export function withPast(past: Steps, heard: Steps): Steps {
  const last = past.at(-1);
  return last === undefined ? heard : [...past, ...heard.filter((step) => isLater(step, last))];
}
