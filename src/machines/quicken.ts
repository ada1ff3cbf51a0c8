/**
 * xstate's `machine.transition`, faster; a third of the time of a step was spent there.
 *
 * Promise: the result is the same, and the actions come in the same order (test/actors/host/quicken.test.ts
 * steps charts both ways). Four things are quicker. An `assign` computes the context only: xstate computes
 * value and tags anew, although states change only between actions. A state that does not know an event says
 * so without a search. Most steps move no state: they need no sets of states to leave and to enter. And a
 * move that was made once is remembered (quick-moves.ts).
 */
import type { AnyActorScope, AnyMachineSnapshot, AnyStateNode } from 'xstate';
import type { Chart } from './chart.ts';
import { assigned, isAssign, isPlain, type Moment, paramsOf, performAll } from './quick-actions.ts';
import { type MovingTransition, quickMoves } from './quick-moves.ts';

type Machine = Chart['machine'];

type Test = (moment: Moment, params: unknown) => boolean;
/** `and`, `or` and `not` */
interface Compound {
  check(snapshot: AnyMachineSnapshot, moment: Moment, self: unknown): boolean;
}
type Guard = string | Test | { readonly type: string; readonly params?: unknown };

interface Transition extends MovingTransition {
  readonly guard: Guard | undefined;
}

type Next = (snapshot: AnyMachineSnapshot, event: Moment['event']) => readonly Transition[] | undefined;

export type Step = (
  snapshot: AnyMachineSnapshot,
  event: Moment['event'],
  scope: AnyActorScope,
) => AnyMachineSnapshot;

const known = new WeakMap<Machine, Step>();

/** Changes the machine, once, and nothing that it does. */
export function quickened(machine: Machine): Step {
  const step = known.get(machine) ?? quicken(machine);
  known.set(machine, step);
  return step;
}

function quicken(machine: Machine): Step {
  for (const action of Object.values(machine.implementations.actions))
    if (isAssign(action)) action.resolve = assigned;
  const nodes = nodesBelow(machine.root);
  for (const node of nodes) quickenNext(node);
  const choose = machine.getTransitionData.bind(machine);
  let chosen: ReturnType<typeof choose> | null = null;
  machine.getTransitionData = (snapshot, event) => {
    const already = chosen;
    chosen = null;
    return already ?? choose(snapshot, event);
  };
  const eventlessIn = eventless();
  const isStill = stillness(machine);
  const moves = quickMoves(machine, nodes);
  /** What follows by itself after what was chosen is done. */
  const settle: Step = (snapshot, event, scope) => {
    const [only, ...others] = eventlessIn(snapshot, event);
    if (only === undefined) return snapshot;
    const isOne = others.length === 0;
    const moved = isOne ? moves.make(snapshot, event, only, scope) : null;
    if (moved !== null) return moved === snapshot ? snapshot : settle(moved, event, scope);
    chosen = [];
    const [, first, ...steps] = machine.microstep(snapshot, event, scope) as readonly AnyMachineSnapshot[];
    if (isOne && first) moves.learn(snapshot, only, first);
    return steps.at(-1) ?? first ?? snapshot;
  };
  return (snapshot, event, scope) => {
    if (snapshot.status !== 'active' || isOfXstate(event)) return machine.transition(snapshot, event, scope);
    const now = choose(snapshot, event);
    const transitions = now as unknown as readonly Transition[];
    const [only, ...others] = transitions;
    const isMove = only !== undefined && others.length === 0 && !isStill(only);
    const quick = isMove
      ? moves.make(snapshot, event, only, scope)
      : stay(snapshot, event, transitions, isStill, scope);
    if (quick !== null) return settle(quick, event, scope);
    chosen = now;
    const steps = machine.microstep(snapshot, event, scope) as readonly AnyMachineSnapshot[];
    if (isMove) moves.learn(snapshot, only, steps[0] as AnyMachineSnapshot);
    return steps.at(-1) as AnyMachineSnapshot;
  };
}

/** What no state is left for. @returns null: xstate has to do it */
function stay(
  snapshot: AnyMachineSnapshot,
  event: Moment['event'],
  transitions: readonly Transition[],
  isStill: (transition: Transition) => boolean,
  scope: AnyActorScope,
): AnyMachineSnapshot | null {
  if (!transitions.every(isStill)) return null;
  const actions = transitions.flatMap((one) => one.actions);
  const context = performAll(actions, snapshot, event, scope);
  if (context === null || context === snapshot.context) return context && snapshot;
  return { ...snapshot, context } as AnyMachineSnapshot;
}

/** Those of deadlines are events like others. */
const isOfXstate = ({ type }: Moment['event']) =>
  type.startsWith('xstate.') && !type.startsWith('xstate.after.');

export function nodesBelow(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesBelow(child as AnyStateNode))];
}

/** xstate looks candidates up by a text that it makes anew for each state and event. */
function quickenNext(node: AnyStateNode): void {
  const all = node.transitions as unknown as ReadonlyMap<string, readonly Transition[]>;
  if ([...all.keys()].some((type) => type.includes('*'))) return;
  const inside = node as unknown as { next: Next };
  const original = inside.next.bind(node);
  inside.next = (snapshot, event) => {
    const candidates = all.get(event.type);
    if (candidates === undefined) return undefined;
    try {
      const first = candidates.find(({ guard }) => isMet(guard, snapshot, event));
      return first && [first];
    } catch {
      // It fails again there, in words that name the guard.
      return original(snapshot, event);
    }
  };
}

function isMet(guard: Guard | undefined, snapshot: AnyMachineSnapshot, event: Moment['event']): boolean {
  if (guard === undefined) return true;
  const { machine, context } = snapshot;
  const moment = { context, event };
  const found: unknown =
    typeof guard === 'function'
      ? guard
      : machine.implementations.guards[typeof guard === 'string' ? guard : guard.type];
  if (typeof found !== 'function') throw new Error('a guard that the chart does not have');
  if ('check' in found) return (found as unknown as Compound).check(snapshot, moment, found);
  return (found as Test)(moment, paramsOf(guard, moment));
}

/** The transitions that need no event and are due, of each active state at most one. */
function eventless() {
  const byNode = new WeakMap<AnyStateNode, readonly Transition[]>();
  const above = (node: AnyStateNode): readonly Transition[] => {
    const own = (node.always ?? []) as unknown as readonly Transition[];
    return node.parent === undefined ? own : [...own, ...above(node.parent)];
  };
  const of = (node: AnyStateNode) => {
    const transitions = byNode.get(node) ?? above(node);
    byNode.set(node, transitions);
    return transitions;
  };
  return (snapshot: AnyMachineSnapshot, event: Moment['event']): readonly Transition[] => {
    const due: Transition[] = [];
    for (const node of snapshot._nodes) {
      if (node.type !== 'atomic' && node.type !== 'final') continue;
      const first = of(node).find(({ guard }) => isMet(guard, snapshot, event));
      if (first !== undefined && !due.includes(first)) due.push(first);
    }
    return due;
  };
}

/** Whether a transition moves no state, and nothing follows from its actions within the step. */
function stillness({ implementations: { actions } }: Machine) {
  const known = new WeakMap<Transition, boolean>();
  return (transition: Transition) => {
    let isStill = known.get(transition);
    if (isStill === undefined) {
      const { target = [] } = transition;
      isStill = target.length === 0 && transition.actions.every((action) => isPlain(action, actions));
      known.set(transition, isStill);
    }
    return isStill;
  };
}
