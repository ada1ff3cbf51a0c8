/**
 * Why an actor stands as it does, in words: what a chart says about its actors, and the default for charts
 * that say nothing.
 *
 * Owns what a chart is asked, and what follows from the chart alone (the tags `wrong` and `settled`, the
 * descriptions of states). The same words appear in `orrery get` and `explain`, on the page, in conditions
 * and Events, metrics and alerts. Pure.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { attempt } from '../base/errors.ts';
import type { Fact, Health } from '../base/views.ts';

/** An actor, as passed to its chart's `tell`. */
export interface Standing<Context = unknown> {
  /** Active states, innermost, regions side by side: `['routes.sampling', 'endpoints.ignored']`. */
  readonly states: readonly string[];
  readonly context: Context;
  /** Time of the question, ms since the epoch. */
  readonly at: number;
  /** When the present state was entered, ms since the epoch. */
  readonly since: number;
}

/**
 * The answer of a chart's `tell`. It does not contain the health (`Health`), which follows from the state's
 * tags and from `Chart.needsLook`: lists, metrics and alerts know it without asking, and a deadline has to
 * lead there.
 */
export interface Told {
  /** One sentence with the nouns in it: what is the case, and why. */
  readonly text: string;
  /**
   * What happens next without intervention, and when (ms since the epoch); null: nothing. Absent: the next
   * deadline.
   */
  readonly next?: { readonly text: string; readonly at: number } | null;
  /**
   * For a state that is constantly left and entered again, such as a renewing leader: since when all is well,
   * ms since the epoch. Absent: since the state was entered.
   */
  readonly since?: number;
  readonly facts?: readonly Fact[];
}

export type Tell<Context> = (standing: Standing<Context>) => Told;

/** Makes the engine's form of a chart's `tell`, which is typed by the chart's own context. */
export function tells<Context>(tell: Tell<Context>): Tell<unknown> {
  return tell as Tell<unknown>;
}

/** Whether the state, or one within it, is active: `isIn(standing, 'routes.lost')`. */
export function isIn({ states }: Pick<Standing, 'states'>, state: string): boolean {
  return states.some((active) => active === state || active.startsWith(`${state}.`));
}

/** What follows from the states alone. */
export interface StateWords {
  readonly health: Health;
  /** The description of the innermost state; of regions, the one with the worst health. */
  readonly text: string;
}

const known = new WeakMap<AnyStateMachine, Map<string, StateWords>>();

/**
 * Health and description of a state, by the chart's tags: `wrong` on an active state or one of its parents is
 * wrong; `settled` in every region is ok; otherwise waiting.
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

interface Judged {
  readonly machine: AnyStateMachine;
  readonly needsLook?: (context: unknown) => boolean;
}

/** How an actor stands: by its state, unless something needs a look in any state. */
export const healthIn = (chart: Judged, state: string, context: unknown): Health =>
  isToLookAt(chart, context) ? 'wrong' : stateWords(chart, state).health;

/** A context of another release may not be as the chart expects, and a feature's chart not as typed. */
export const isToLookAt = ({ needsLook }: Judged, context: unknown): boolean =>
  needsLook !== undefined && attempt(() => needsLook(context) === true, false);

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
