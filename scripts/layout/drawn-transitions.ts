/**
 * What of a chart is drawn, and how: which transitions become arrows, and which become lines inside their
 * state. Pure.
 *
 * - Transitions between the same two states share an arrow, one label below another.
 * - A transition that stays, or enters its own state again, is a line in the state.
 * - If many states leave for the same one over the same guard (`isTerminating`), arrows that all say one
 *   thing would cover the drawing. Each gets a line "→ terminating" instead, as circuit diagrams do with
 *   supply lines.
 */

import type { DrawnText, TransitionRef } from '../../src/inspector/charts/chart-layout.ts';
import type { ChartState, ChartTransition } from '../../src/inspector/charts/chart-tree.ts';
import { statesOf } from '../../src/inspector/charts/chart-tree.ts';

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly labels: readonly DrawnText[];
  readonly transitions: readonly TransitionRef[];
}

export interface Drawn {
  readonly arrows: readonly Arrow[];
  /** Path → lines inside the state. */
  readonly lines: ReadonlyMap<string, readonly DrawnText[]>;
}

interface Found {
  readonly ref: TransitionRef;
  readonly transition: ChartTransition;
  readonly to: string;
}

/** From this many sources on, an equal exit is a line. */
const exitSources = 4;
/** More lines in one state than this are counted instead of shown. */
const linesMax = 4;
/** The most characters of a label on one line. */
const labelChars = 30;

/** @param effectTypes actions that request effects: shown on entry */
export function drawnTransitions(chart: ChartState, effectTypes: ReadonlySet<string>): Drawn {
  const states = [...statesOf(chart)];
  const moves = states.flatMap(movesOf);
  const common = commonExits(moves);
  const arrows = new Map<string, Arrow>();
  for (const move of moves) {
    if (common.has(exitKey(move))) continue;
    const from = isInside(move.to, move.ref.source) ? `${move.ref.source}*` : move.ref.source;
    const key = `${from} ${move.to}`;
    const known = arrows.get(key) ?? { from, to: move.to, labels: [], transitions: [] };
    arrows.set(key, {
      ...known,
      labels: [...known.labels, ...labelsOf(move)],
      transitions: [...known.transitions, move.ref],
    });
  }
  const lines = new Map(states.map((state) => [state.path, linesOf(state, common, effectTypes)]));
  return { arrows: [...arrows.values()], lines };
}

function movesOf(state: ChartState): Found[] {
  return state.transitions.flatMap((transition, index) =>
    (transition.targets ?? [])
      .filter((to) => to !== state.path)
      .map((to) => ({ ref: { source: state.path, index }, transition, to })),
  );
}

function commonExits(moves: readonly Found[]): ReadonlySet<string> {
  const sources = new Map<string, Set<string>>();
  for (const move of moves) {
    const key = exitKey(move);
    sources.set(key, (sources.get(key) ?? new Set()).add(move.ref.source));
  }
  return new Set([...sources].filter(([, from]) => from.size >= exitSources).map(([key]) => key));
}

function exitKey({ transition: { on, trigger, guard }, to }: Found): string {
  return JSON.stringify([on, trigger, guard, to]);
}

function linesOf(
  state: ChartState,
  common: ReadonlySet<string>,
  effectTypes: ReadonlySet<string>,
): DrawnText[] {
  const entry: DrawnText[] = state.entry
    .filter((action) => effectTypes.has(action))
    .map((action) => ({ text: `entry / ${action}`, tone: 'effect' }));
  const exits: DrawnText[] = movesOf(state)
    .filter((move) => common.has(exitKey(move)))
    .map((move) => ({
      text: `${triggerText(move.transition)} → ${lastWord(move.to)}`,
      tone: 'exit',
      of: move.ref,
      to: move.to,
    }));
  const stays: DrawnText[] = state.transitions.flatMap((transition, index) => {
    const returns = transition.targets?.includes(state.path) ?? false;
    if (transition.targets !== null && !returns) return [];
    const text = `${returns ? '↻' : '·'} ${triggerText(transition)}`;
    return [
      {
        text,
        tone: transition.on === 'after' ? 'delay' : 'event',
        of: { source: state.path, index },
      } as const,
    ];
  });
  const others = stays.length + exits.length > linesMax ? shortened(stays, exits) : [...stays, ...exits];
  return [...entry, ...others];
}

/**
 * Exits are always shown, because nothing else says where they lead. The chart's text form has all
 * transitions that stay.
 */
function shortened(stays: readonly DrawnText[], exits: readonly DrawnText[]): DrawnText[] {
  const room = Math.max(1, linesMax - exits.length);
  if (stays.length <= room) return [...stays, ...exits];
  const left = stays.length - room;
  return [...stays.slice(0, room), { text: `… ${left} more`, tone: 'more' }, ...exits];
}

/** Trigger and guard on one line if that is short; otherwise the guard is below, indented. */
function labelsOf({ ref, transition }: Found): DrawnText[] {
  const { on, trigger, guard } = transition;
  const guarded = guard === null ? {} : { guard: `[${guard}]` };
  if (on === 'always')
    return [{ text: guard === null ? 'otherwise' : '', ...guarded, tone: 'guard', of: ref }];
  const cause = { text: causeText(on, trigger), tone: on === 'after' ? 'delay' : 'event', of: ref } as const;
  if (guard === null || cause.text.length + guard.length < labelChars) return [{ ...cause, ...guarded }];
  return [cause, { text: ' ', ...guarded, tone: 'guard', of: ref }];
}

function triggerText({ on, trigger, guard }: ChartTransition): string {
  const cause = on === 'always' ? '' : causeText(on, trigger);
  return [cause, guard === null ? '' : `[${guard}]`].filter(Boolean).join(' ') || 'always';
}

function causeText(on: ChartTransition['on'], trigger: string): string {
  if (on === 'after') return `after ${trigger}`;
  return trigger || 'done';
}

function isInside(path: string, outer: string): boolean {
  return outer === '' || path.startsWith(`${outer}.`);
}

function lastWord(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
