/**
 * How one step led to others: from a step back to the first of its sequence, and from there to every step
 * that it caused, across actors.
 *
 * A step names its cause: `<actor>/<revision>/<index>`, an effect of another step. Promises: bounded in
 * depth, steps and pages read; a step without such a cause (a deadline, an observation) starts a sequence.
 * Absent: how the history is read.
 */

import { clocksDifferMs, indexOfStep, type StepName, stepKey } from '../../actors/step-order.ts';
import { OrreryError } from '../../base/errors.ts';
import type { HistoryRequest, StoredPort, Transition } from '../../base/views.ts';
import { senderOf } from '../../base/words.ts';

export interface SequenceStep {
  readonly step: Transition;
  /** The number of steps between it and the first. */
  readonly depth: number;
}

/** Each step follows its cause. */
export interface SequenceView {
  readonly steps: readonly SequenceStep[];
  /** There are more steps than the view contains. */
  readonly isCut: boolean;
}

const depthMax = 12;
const stepsMax = 80;
/** Of `limits.pageMessages` each. */
const pagesMax = 8;
/**
 * The time between a cause and its effect is short; a message waits for a moving shard at most this long.
 */
const reachMs = 60_000;
/** How far back is looked for a step, ms; most people ask about what has just happened. */
const spansMs = [0.25, 1, 3, 6, 12, 24].map((hours) => hours * 3_600_000);

type History = Pick<StoredPort, 'history'>;

/**
 * @param now ms since the epoch
 * @returns null: the step is not stored
 * @throws OrreryError USAGE if the actor has too many steps to find it without being told when it was taken
 */
export async function readSequence(
  history: History,
  name: StepName,
  now: number,
): Promise<SequenceView | null> {
  const chosen = await find(history, name, now);
  if (chosen === null) return null;
  const root = await rootOf(history, chosen);
  const { found, isWhole } = await readAround(history, root.at, chosen.at + reachMs);
  const { steps, isCut } = descendants(root, found);
  return { steps, isCut: isCut || !isWhole };
}

async function rootOf(history: History, chosen: Transition): Promise<Transition> {
  let root = chosen;
  for (let depth = 0; depth < depthMax; depth++) {
    const sender = senderOf(root.cause);
    const span = { from: root.at - reachMs, to: root.at };
    const before = sender && (await findWithin(history, { ...sender, by: root.at }, span)).step;
    if (!before) return root;
    root = before;
  }
  return root;
}

/** Looks at the latest time first: of two steps of one revision the later is meant. */
async function find(history: History, name: StepName, now: number): Promise<Transition | null> {
  const end = name.by ?? now;
  let to = end;
  let isWhole = true;
  for (const span of spansMs) {
    const looked = await findWithin(history, name, { from: end - span, to });
    if (looked.step) return looked.step;
    isWhole &&= looked.isWhole;
    to = end - span;
  }
  if (isWhole) return null;
  const reason = `${name.id} has too many steps to look through them all for step ${name.rev}`;
  throw new OrreryError('USAGE', `${reason}; say when it was taken ("at" over HTTP, --to)`);
}

/** Reads the actor's own steps of that time, and a little more. */
async function findWithin(
  { history }: History,
  name: StepName,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<{ readonly step: Transition | null; readonly isWhole: boolean }> {
  const { id, by } = name;
  let step: Transition | null = null;
  let place: HistoryRequest = { id, since: Math.max(0, from - clocksDifferMs) };
  for (let page = 0; page < pagesMax; page++) {
    const { steps, next } = await history(place);
    step = steps[indexOfStep(steps, name)] ?? step;
    const isOver = next === null || steps.every(({ at }) => at > to + clocksDifferMs);
    if (isOver || step?.at === by) return { step, isWhole: true };
    place = { id, after: next };
  }
  return { step, isWhole: false };
}

async function readAround(
  { history }: History,
  from: number,
  to: number,
): Promise<{ readonly found: readonly Transition[]; readonly isWhole: boolean }> {
  const found: Transition[] = [];
  let place: HistoryRequest = { since: Math.max(0, from - clocksDifferMs) };
  for (let page = 0; page < pagesMax; page++) {
    const { steps, next } = await history(place);
    found.push(...steps.filter(({ at }) => at <= to + clocksDifferMs));
    if (next === null || steps.every(({ at }) => at > to)) return { found, isWhole: true };
    place = { after: next };
  }
  return { found, isWhole: false };
}

function descendants(root: Transition, found: readonly Transition[]): SequenceView {
  const caused = new Map<string, Transition[]>();
  for (const step of found) {
    const sender = senderOf(step.cause);
    if (sender === null) continue;
    const key = `${sender.id}/${sender.rev}`;
    caused.set(key, [...(caused.get(key) ?? []), step]);
  }
  const steps: SequenceStep[] = [];
  const told = new Set<string>();
  let isCut = false;
  const visit = (step: Transition, depth: number): void => {
    const key = `${step.id}/${stepKey(step)}`;
    if (told.has(key)) return;
    if (steps.length >= stepsMax || depth > 2 * depthMax) {
      isCut = true;
      return;
    }
    told.add(key);
    steps.push({ step, depth });
    const next = caused.get(`${step.id}/${step.rev}`) ?? [];
    const after = next.filter(({ at }) => at >= step.at - clocksDifferMs);
    for (const one of after.toSorted((a, b) => a.at - b.at)) visit(one, depth + 1);
  };
  visit(root, 0);
  return { steps, isCut };
}
