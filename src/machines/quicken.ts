/**
 * xstate's `machine.transition`, faster; a third of the time of a step was spent there.
 *
 * Promise: the result is the same, and the actions come in the same order (test/actors/host/quicken.test.ts
 * steps charts both ways). Three things are quicker. An `assign` computes the context only: xstate computes
 * value and tags anew, although states change only between actions. A state that does not know an event says
 * so without a search. And most steps move no state: they need no sets of states to leave and to enter.
 */
import type { AnyActorScope, AnyMachineSnapshot, AnyStateNode } from 'xstate';
import type { Chart } from './chart.ts';

type Machine = Chart['machine'];
type Context = Readonly<Record<string, unknown>>;

interface Moment {
  readonly context: Context;
  readonly event: { readonly type: string };
}
type Computed<T> = T | ((moment: Moment) => T);

type Test = (moment: Moment, params: unknown) => boolean;
/** `and`, `or` and `not` */
interface Compound {
  check(snapshot: AnyMachineSnapshot, moment: Moment, self: unknown): boolean;
}
type Guard = string | Test | { readonly type: string; readonly params?: Computed<unknown> };
type Action = string | (() => void) | { readonly type: string; readonly params?: Computed<unknown> };

interface Transition {
  readonly target: readonly AnyStateNode[] | undefined;
  readonly guard: Guard | undefined;
  readonly actions: readonly Action[];
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
  for (const node of nodesBelow(machine.root)) quickenNext(node);
  const choose = machine.getTransitionData.bind(machine);
  let chosen: ReturnType<typeof choose> | null = null;
  machine.getTransitionData = (snapshot, event) => {
    const already = chosen;
    chosen = null;
    return already ?? choose(snapshot, event);
  };
  const isEventlessDue = eventless();
  const isStill = stillness(machine);
  return (snapshot, event, scope) => {
    if (snapshot.status !== 'active' || event.type.startsWith('xstate.'))
      return machine.transition(snapshot, event, scope);
    const now = choose(snapshot, event);
    const transitions = now as unknown as readonly Transition[];
    if (!transitions.every(isStill)) {
      chosen = now;
      return machine.transition(snapshot, event, scope);
    }
    const still = perform(machine, snapshot, event, transitions, scope);
    if (!isEventlessDue(still, event)) return still;
    // What was chosen is done: only what follows by itself is left.
    chosen = [];
    return machine.transition(still, event, scope);
  };
}

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

function paramsOf(of: Guard | Action, moment: Moment): unknown {
  if (typeof of !== 'object') return undefined;
  return typeof of.params === 'function' ? of.params(moment) : of.params;
}

/** Whether a transition that needs no event is due in one of the active states. */
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
  return (snapshot: AnyMachineSnapshot, event: Moment['event']) =>
    snapshot._nodes.some(
      (node) =>
        (node.type === 'atomic' || node.type === 'final') &&
        of(node).some(({ guard }) => isMet(guard, snapshot, event)),
    );
}

/** Whether a transition moves no state, and its actions are effects and plain assignments. */
function stillness({ implementations: { actions } }: Machine) {
  const known = new WeakMap<Transition, boolean>();
  const isPlain = (action: Action) => {
    if (typeof action === 'function') return false;
    const found: unknown = actions[typeof action === 'string' ? action : action.type];
    return isAssign(found) || typeof found !== 'function' || !('resolve' in found);
  };
  return (transition: Transition) => {
    let isStill = known.get(transition);
    if (isStill === undefined) {
      const { target = [] } = transition;
      isStill = target.length === 0 && transition.actions.every(isPlain);
      known.set(transition, isStill);
    }
    return isStill;
  };
}

function perform(
  { implementations: { actions } }: Machine,
  before: AnyMachineSnapshot,
  event: Moment['event'],
  transitions: readonly Transition[],
  scope: AnyActorScope,
): AnyMachineSnapshot {
  let context = before.context as Context;
  for (const transition of transitions)
    for (const action of transition.actions) {
      const params = paramsOf(action, { context, event });
      const type = typeof action === 'object' ? action.type : String(action);
      const found: unknown = actions[type];
      if (isAssign(found)) context = contextAfter({ context, event }, params, found);
      else scope.actionExecutor({ type, params, info: {} as never, exec: undefined });
    }
  return context === before.context ? before : ({ ...before, context } as AnyMachineSnapshot);
}

type Assigner = (moment: Moment, params: unknown) => Context;
interface AssignAction {
  readonly assignment: Assigner | Readonly<Record<string, unknown>>;
  resolve: typeof assigned;
}

/** Within `enqueueActions`, xstate's own `assign` is kept. */
function isAssign(action: unknown): action is AssignAction {
  return typeof action === 'function' && 'type' in action && action.type === 'xstate.assign';
}

/**
 * In the signature in which xstate calls it: scope, snapshot, action arguments, parameters, the action
 * itself. Charts spawn nothing, so there are no children to add.
 */
function assigned<S extends { readonly context: Context }>(
  _scope: unknown,
  snapshot: S,
  { event }: { readonly event: Moment['event'] },
  params: unknown,
  action: AssignAction,
): [S, undefined, undefined] {
  const context = contextAfter({ context: snapshot.context, event }, params, action);
  return [{ ...snapshot, context }, undefined, undefined];
}

function contextAfter(moment: Moment, params: unknown, { assignment }: AssignAction): Context {
  const change =
    typeof assignment === 'function' ? assignment(moment, params) : each(assignment, moment, params);
  return { ...moment.context, ...change };
}

function each(assignment: Readonly<Record<string, unknown>>, moment: Moment, params: unknown): Context {
  const changes: Record<string, unknown> = {};
  for (const field in assignment) {
    const value = assignment[field];
    changes[field] = typeof value === 'function' ? (value as Assigner)(moment, params) : value;
  }
  return changes;
}
