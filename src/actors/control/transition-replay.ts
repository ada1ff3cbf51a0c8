/**
 * Replays recorded transitions against the charts. A step follows from the state and from the event with its
 * stamp (I7), so every recorded step must give the same result again.
 *
 * Owns each actor's live snapshot, from its first step on. Transitions before an actor's first step in the
 * recording cannot be replayed: they are counted, and only checked for gaps. Pure. Absent: reading files, and
 * other versions of a chart than the present one.
 */

import { equal } from '../../base/equal.ts';
import { asError } from '../../base/errors.ts';
import { parseActorId } from '../../base/ids.ts';
import type { Transition } from '../../base/views.ts';
import type { Chart } from '../../machines/chart.ts';
import { createStepper, type Snapshot, type Stepper, type StepResult, stateText } from '../host/step.ts';

/** The first step of a recording whose result differs. */
export interface Difference {
  readonly id: string;
  readonly rev: number;
  /** When it was recorded, ms since the epoch. */
  readonly at: number;
  /** Type of the event. */
  readonly event: string;
  /** What differs, in words: `the state before`, `effect 1: field to.0`. */
  readonly what: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

export interface ReplaySummary {
  readonly actors: number;
  readonly transitions: number;
  /**
   * Actor → number of transitions that were not replayed, because the recording lacks the actor's first step.
   */
  readonly skipped: ReadonlyMap<string, number>;
}

export type Replay = ReturnType<typeof createReplay>;

interface Actor {
  rev: number;
  /** null: the actor has ended; its next step is a first step. */
  snapshot: Snapshot | null;
}

/** The last transition of an actor whose first step is not in the recording. */
interface Middle {
  readonly rev: number;
  readonly to: string;
}

export function createReplay(charts: readonly Chart[]) {
  const steppers = new Map<string, Stepper>();
  const actors = new Map<string, Actor>();
  const middles = new Map<string, Middle>();
  const skipped = new Map<string, number>();
  let transitions = 0;

  const stepperOf = (kind: string): Stepper | null => {
    const chart = charts.find(({ name, durable }) => durable && name === kind);
    if (!chart) return null;
    const stepper = steppers.get(kind) ?? createStepper(chart);
    steppers.set(kind, stepper);
    return stepper;
  };

  return {
    /**
     * Replays the next transition of the recording; null: same result, or left out. Must not be called after
     * a difference.
     */
    take(transition: Transition): Difference | null {
      const { id, rev, from } = transition;
      // Earlier steps were not reported, nor was their result, so the recording no longer has a first step.
      if (transition.resumes === null) actors.delete(id);
      const known = actors.get(id);
      if (!known && from !== null) {
        skipped.set(id, (skipped.get(id) ?? 0) + 1);
        const before = middles.get(id);
        middles.set(id, transition);
        return before ? broken(before, transition) : null;
      }
      const stepper = stepperOf(parseActorId(id).kind);
      if (!stepper)
        return difference(transition, 'the kind', 'a machine of this kind', 'none in this release');
      const missing = known && gap(known, transition);
      if (missing) return missing;
      const actor = known ?? { rev: 0, snapshot: null };
      actors.set(id, actor);
      transitions++;
      actor.rev = rev;
      if (isAnew(transition)) actor.snapshot = null;
      if (transition.resumes) actor.snapshot = stepper.restore(transition.resumes, stepper.chart.version);
      return step(stepper, actor, transition);
    },
    summary: (): ReplaySummary => ({ actors: actors.size, transitions, skipped }),
  };
}

/**
 * Finds a hole in the recording, or a wrong order. Revisions start again when an actor that ended was
 * forgotten, and when a record was lost.
 */
function gap({ rev }: Actor, transition: Transition): Difference | null {
  if (transition.rev === rev + 1 || isAnew(transition)) return null;
  return difference(transition, 'the revision', transition.rev, rev + 1);
}

const isAnew = ({ rev, from }: Transition) => rev === 1 && from === null;

/** Finds a break in an actor's recording that cannot be replayed. */
function broken({ rev, to }: Middle, transition: Transition): Difference | null {
  if (transition.rev !== rev + 1) return difference(transition, 'the revision', transition.rev, rev + 1);
  const isTold = transition.resumes === undefined;
  return !isTold || transition.from === to
    ? null
    : difference(transition, 'the state before', transition.from, to);
}

function step(stepper: Stepper, actor: Actor, transition: Transition): Difference | null {
  const { id, from, to, event, effects } = transition;
  const before = actor.snapshot === null ? null : stateText(actor.snapshot.value);
  if (before !== from) return difference(transition, 'the state before', from, before);
  const stamped = event as Parameters<Stepper['step']>[1];
  let result: StepResult;
  try {
    const input = { id, ...parseActorId(id) };
    result = actor.snapshot === null ? stepper.begin(input, stamped) : stepper.step(actor.snapshot, stamped);
  } catch (error) {
    return difference(transition, 'the step', `to ${to}`, asError(error).message);
  }
  const after = stateText(result.snapshot.value);
  actor.snapshot = result.done ? null : result.snapshot;
  if (after !== to) return difference(transition, 'the state after', to, after);
  return effectsDifference(transition, effects, plain(result.effects) as typeof effects);
}

function effectsDifference(
  transition: Transition,
  recorded: Transition['effects'],
  replayed: Transition['effects'],
): Difference | null {
  const types = (effects: Transition['effects']) => effects.map(({ type }) => type).join(', ') || 'none';
  if (types(recorded) !== types(replayed))
    return difference(transition, 'the effects', types(recorded), types(replayed));
  for (const [index, effect] of recorded.entries()) {
    const found = firstDifference(effect, replayed[index], '');
    if (found)
      return difference(transition, `effect ${index}: field ${found.path}`, found.recorded, found.replayed);
  }
  return null;
}

/** The first place where two plain values differ. */
function firstDifference(
  recorded: unknown,
  replayed: unknown,
  path: string,
): { path: string; recorded: unknown; replayed: unknown } | null {
  if (equal(recorded, replayed)) return null;
  if (!isObject(recorded) || !isObject(replayed)) return { path, recorded, replayed };
  for (const name of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
    const inner = path === '' ? name : `${path}.${name}`;
    const found = firstDifference(recorded[name], replayed[name], inner);
    if (found) return found;
  }
  return { path, recorded, replayed };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** As a recording stores it: without what JSON leaves out. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function difference(
  { id, rev, event }: Transition,
  what: string,
  recorded: unknown,
  replayed: unknown,
): Difference {
  return { id, rev, at: Number(event.at), event: event.type, what, recorded, replayed };
}

/**
 * Parses one line of a recording.
 *
 * @throws Error that says what is wrong with the line
 */
export function readTransition(line: string): Transition {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`it is not JSON: ${asError(error).message}`);
  }
  const lacking = isObject(value) ? lackingField(value) : 'an object';
  if (lacking !== null) throw new Error(`it is not a transition: ${lacking} is needed`);
  const transition = value as Transition;
  parseActorId(transition.id);
  return transition;
}

function lackingField(value: Record<string, unknown>): string | null {
  const { id, rev, from, to, event, effects } = value;
  if (typeof id !== 'string') return '"id"';
  if (typeof rev !== 'number') return '"rev"';
  if (from !== null && typeof from !== 'string') return '"from"';
  if (typeof to !== 'string') return '"to"';
  if (!isObject(event) || typeof event.type !== 'string') return '"event" with a type';
  if (typeof event.at !== 'number' || typeof event.random !== 'number')
    return 'the event\'s stamp ("at" and "random")';
  const isList =
    Array.isArray(effects) && effects.every((one) => isObject(one) && typeof one.type === 'string');
  return isList ? null : '"effects"';
}
