/**
 * Finds the arrows of a chart that a recorded step took. Pure.
 *
 * The record contains the event and the states before and after. One step may be several arrows: the event's,
 * then those without an event that follow at once. Of several ways the shortest is chosen. If two guarded
 * transitions have the same source and target, the record does not show which was taken; they look the same.
 */
import type { HistoryStep } from '../../../base/views.ts';
import { timerName } from '../../../base/words.ts';
import type { ChartLayout, TransitionRef } from '../../charts/chart-layout.ts';
import type { ChartState, ChartTransition } from '../../charts/chart-tree.ts';
import { activePaths, statesOf } from './drawings.ts';

/** `<path of the state>#<index of its transition>` */
export type RefKey = string;

export const refKey = ({ source, index }: TransitionRef): RefKey => `${source}#${index}`;

const arrowsMax = 6;

export function takenBy(layout: ChartLayout, step: Pick<HistoryStep, 'event' | 'from' | 'to'>): Set<RefKey> {
  const states = new Map(statesOf(layout.chart).map((state) => [state.path, state]));
  const before = step.from === null ? new Set(['']) : activePaths(step.from);
  const entered = step.to.split(',').filter((leaf) => !before.has(leaf));
  const left = (step.from ?? '').split(',').filter((leaf) => leaf !== '');
  const begins = [...states.values()].filter(({ path }) => before.has(path)).reverse();
  const first = begins.flatMap((state) => matching(state, step.event.type));
  const taken = new Set<RefKey>();
  for (const leaf of entered) {
    const initial = step.from === null ? [{ way: [] as RefKey[], at: leafOf(layout.chart, states) }] : [];
    const way = wayTo(leaf, [...initial, ...first.flatMap((ref) => begin(ref, left, states))], states);
    for (const key of way ?? []) taken.add(key);
  }
  if (entered.length === 0) for (const ref of first) if (isStay(ref, states)) taken.add(refKey(ref));
  return taken;
}

/** Transitions that may be taken next: those of the active states and their parents. */
export function possibleFrom(layout: ChartLayout, state: string): Set<RefKey> {
  const active = activePaths(state);
  return new Set(
    statesOf(layout.chart)
      .filter(({ path }) => active.has(path))
      .flatMap(({ path, transitions }) => transitions.map((_, index) => refKey({ source: path, index }))),
  );
}

interface Place {
  readonly way: readonly RefKey[];
  /** Path of the innermost state reached. */
  readonly at: string;
}

/** A transition without a target may enable one without an event, from the present state. */
function begin(ref: TransitionRef, left: readonly string[], states: States): Place[] {
  if (transitionOf(ref, states)?.targets !== null) return follow(ref, states, []);
  return left.map((leaf) => ({ way: [refKey(ref)], at: leaf }));
}

type States = ReadonlyMap<string, ChartState>;

function wayTo(leaf: string, starts: readonly Place[], states: States): readonly RefKey[] | null {
  let places = starts;
  for (let length = 0; length < arrowsMax && places.length > 0; length++) {
    const found = places.find(({ at }) => at === leaf);
    if (found) return found.way;
    places = places.flatMap(({ way, at }) =>
      around(at, states).flatMap((state) =>
        state.transitions.flatMap((transition, index) =>
          transition.on === 'always' ? follow({ source: state.path, index }, states, way) : [],
        ),
      ),
    );
  }
  return null;
}

/** Follows the transition into its targets, and there into their initial states. */
function follow(ref: TransitionRef, states: States, way: readonly RefKey[]): Place[] {
  const targets = transitionOf(ref, states)?.targets ?? [];
  const key = refKey(ref);
  if (way.includes(key)) return [];
  return targets.flatMap((target) => {
    const state = states.get(target);
    return state ? [{ way: [...way, key], at: leafOf(state, states) }] : [];
  });
}

function leafOf(state: ChartState, states: States): string {
  const inner = state.initial === null ? undefined : states.get(join(state.path, state.initial));
  return inner ? leafOf(inner, states) : state.path;
}

/** The state and its parents, innermost first. */
function around(path: string, states: States): ChartState[] {
  return [...activePaths(path)].reverse().flatMap((one) => states.get(one) ?? []);
}

function matching(state: ChartState, eventType: string): TransitionRef[] {
  return state.transitions.flatMap((transition, index) =>
    isTriggeredBy(transition, eventType) ? [{ source: state.path, index }] : [],
  );
}

function isTriggeredBy({ on, trigger }: ChartTransition, eventType: string): boolean {
  if (on === 'event') return trigger === eventType || trigger === '*';
  if (on === 'after') return isDelay(trigger, timerName(eventType)) && eventType.startsWith('xstate.after');
  return on === 'done' && eventType.startsWith('xstate.done');
}

/** A constant delay is drawn with its time: `lookAgain (5 min)`. */
export function isDelay(trigger: string, name: string): boolean {
  return trigger === name || trigger.startsWith(`${name} (`);
}

function isStay(ref: TransitionRef, states: States): boolean {
  const targets = transitionOf(ref, states)?.targets;
  return targets === null || targets?.includes(ref.source) === true;
}

function transitionOf({ source, index }: TransitionRef, states: States): ChartTransition | undefined {
  return states.get(source)?.transitions[index];
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
