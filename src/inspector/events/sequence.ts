/**
 * How one step led to others: from a step back to the first of its sequence, and from there to every step
 * that it caused, across actors.
 *
 * A step names its cause: `<actor>/<revision>/<index>`, an effect of another step. Promises: bounded in
 * depth, steps and pages read; a step without such a cause (a deadline, an observation) starts a sequence.
 * Absent: how the history is read.
 */
import type { ActorId } from '../../base/ids.ts';
import type { HistoryRequest, StoredPort, Transition } from '../../base/views.ts';
import { senderOf } from '../../base/words.ts';

export interface StepPlace {
  readonly id: ActorId;
  readonly rev: number;
  /** When it was taken, ms since the epoch. */
  readonly at: number;
}

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
/** The replicas' clocks differ. */
const overlapMs = 10_000;

type History = Pick<StoredPort, 'history'>;

/** @returns null: the step is not stored */
export async function readSequence(history: History, place: StepPlace): Promise<SequenceView | null> {
  const chosen = await find(history, place);
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
    const before = sender && (await find(history, { ...sender, at: root.at - reachMs }));
    if (!before) return root;
    root = before;
  }
  return root;
}

/** Reads the actor's own steps, starting shortly before the time. */
async function find({ history }: History, { id, rev, at }: StepPlace): Promise<Transition | null> {
  let place: HistoryRequest = { id, since: Math.max(0, at - overlapMs) };
  for (let page = 0; page < pagesMax; page++) {
    const { steps, next } = await history(place);
    const found = steps.find((step) => step.rev === rev);
    if (found) return found;
    if (next === null) return null;
    place = { id, after: next };
  }
  return null;
}

async function readAround(
  { history }: History,
  from: number,
  to: number,
): Promise<{ readonly found: readonly Transition[]; readonly isWhole: boolean }> {
  const found: Transition[] = [];
  let place: HistoryRequest = { since: Math.max(0, from - overlapMs) };
  for (let page = 0; page < pagesMax; page++) {
    const { steps, next } = await history(place);
    found.push(...steps);
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
    const key = `${step.id}/${step.rev}`;
    if (told.has(key)) return;
    if (steps.length >= stepsMax || depth > 2 * depthMax) {
      isCut = true;
      return;
    }
    told.add(key);
    steps.push({ step, depth });
    const next = caused.get(key) ?? [];
    for (const one of next.toSorted((a, b) => a.at - b.at)) visit(one, depth + 1);
  };
  visit(root, 0);
  return { steps, isCut };
}
