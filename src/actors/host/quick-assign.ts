/**
 * `assign` without the rest of the snapshot: xstate works out the value and the tags of all active states
 * anew whenever an action changes the context, though states only change between actions. That was a third
 * of the time of a step.
 *
 * Owns: what the `assign` actions of a chart do. The result is the one that xstate's own has; charts spawn
 * nothing, so there are no children to add. Inside of `enqueueActions` xstate's own is left as it is.
 */
import type { Chart } from '../../machines/chart.ts';

type Context = Readonly<Record<string, unknown>>;

interface Moment {
  readonly context: Context;
  readonly event: unknown;
}
type Assigner = (moment: Moment, params: unknown) => Context;
interface AssignAction {
  readonly assignment: Assigner | Readonly<Record<string, unknown>>;
  resolve: typeof assigned;
}

export function quickenAssigns({ implementations }: Chart['machine']): void {
  for (const action of Object.values(implementations.actions))
    if (isAssign(action)) action.resolve = assigned;
}

function isAssign(action: unknown): action is AssignAction {
  return typeof action === 'function' && 'type' in action && action.type === 'xstate.assign';
}

/** As xstate calls it: scope, snapshot, what actions are given, their parameters, the action itself. */
function assigned<S extends { readonly context: Context }>(
  _scope: unknown,
  snapshot: S,
  { event }: { readonly event: unknown },
  params: unknown,
  { assignment }: Pick<AssignAction, 'assignment'>,
): [S, undefined, undefined] {
  const moment = { context: snapshot.context, event };
  const change =
    typeof assignment === 'function' ? assignment(moment, params) : each(assignment, moment, params);
  return [{ ...snapshot, context: { ...snapshot.context, ...change } }, undefined, undefined];
}

function each(
  assignment: Readonly<Record<string, unknown>>,
  moment: Moment,
  params: unknown,
): Context {
  const changes = Object.entries(assignment).map(([field, value]) => [
    field,
    typeof value === 'function' ? (value as Assigner)(moment, params) : value,
  ]);
  return Object.fromEntries(changes);
}
