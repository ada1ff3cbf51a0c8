/**
 * Why an actor stands as it stands, in words: what a chart tells of its actors, and what is told where a
 * chart has nothing of its own.
 *
 * Owns: what a chart is asked, and what follows from the chart alone (the tags `wrong` and `settled`, the
 * descriptions of states). The same words go to `orrery get` and `explain`, the page, conditions and Events,
 * metrics and alerts. Pure.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { Fact, Health } from '../base/views.ts';

/** An actor as a chart sees it when it is asked for the reason. */
export interface Standing<Context = unknown> {
  /** Active states, innermost, regions side by side: `['routes.sampling', 'endpoints.ignored']`. */
  readonly states: readonly string[];
  readonly context: Context;
  /** When it is asked, ms since the epoch. */
  readonly at: number;
  /** When the present state was entered, ms since the epoch. */
  readonly since: number;
}

/**
 * What a chart's `tell` answers. How the actor stands (`Health`) is none of it: that is the state's, by its
 * tags, so that lists, metrics and alerts know it without asking, and a deadline has to lead there.
 */
export interface Told {
  /** One sentence with the nouns in it: what stands how, and because of what. */
  readonly text: string;
  /**
   * What happens next by itself, and when (ms since the epoch); null: nothing does. Absent: the next
   * deadline.
   */
  readonly next?: { readonly text: string; readonly at: number } | null;
  /**
   * Since when what is well is so, ms since the epoch, where its state is left and entered again all the
   * time: a leader that renews. Absent: since the state was entered.
   */
  readonly since?: number;
  readonly facts?: readonly Fact[];
}

export type Tell<Context> = (standing: Standing<Context>) => Told;

/** A chart's `tell`, typed by its own context, as the engine takes it. */
export function tells<Context>(tell: Tell<Context>): Tell<unknown> {
  return tell as Tell<unknown>;
}

/** Whether the state is active, or one within it: `isIn(standing, 'routes.lost')`. */
export function isIn({ states }: Pick<Standing, 'states'>, state: string): boolean {
  return states.some((active) => active === state || active.startsWith(`${state}.`));
}

/** What follows from the states alone. */
export interface StateWords {
  readonly health: Health;
  /** The description of the innermost state; of regions, the one that is worst off. */
  readonly text: string;
}

const known = new WeakMap<AnyStateMachine, Map<string, StateWords>>();

/**
 * Health and words of a state, by the chart's tags: `wrong` anywhere on the way to an active state is wrong;
 * `settled` in every region is ok; else it waits.
 *
 * @param state as in `ActorSummary.state`
 */
export function stateWords({ machine }: { readonly machine: AnyStateMachine }, state: string): StateWords {
  let words = known.get(machine);
  if (words === undefined) {
    words = new Map();
    known.set(machine, words);
  }
  let found = words.get(state);
  if (found === undefined) {
    found = readState(machine, state);
    words.set(state, found);
  }
  return found;
}

const severity = { ok: 0, waiting: 1, wrong: 2 } as const satisfies Record<Health, number>;

function readState({ root }: AnyStateMachine, state: string): StateWords {
  const regions = state.split(',').map((path) => regionWords(root, path));
  return regions.reduce((worst, region) =>
    severity[region.health] > severity[worst.health] ? region : worst,
  );
}

function regionWords(root: AnyStateNode, path: string): StateWords {
  const tags = new Set<string>();
  let text = '';
  let node: AnyStateNode | undefined = root;
  for (const key of path.split('.')) {
    node = node?.states[key];
    for (const tag of node?.tags ?? []) tags.add(tag);
    text = node?.description ?? text;
  }
  const rest = tags.has('settled') || node?.type === 'final' ? 'ok' : 'waiting';
  return { health: tags.has('wrong') ? 'wrong' : rest, text };
}
