/** The actions of a transition, done as xstate does them, for those of which nothing else follows. */
import type { AnyActorScope, AnyMachineSnapshot } from 'xstate';
import type { Chart } from './chart.ts';

type Context = Readonly<Record<string, unknown>>;

export interface Moment {
  readonly context: Context;
  readonly event: { readonly type: string };
}
type Computed<T> = T | ((moment: Moment) => T);
type Inline = (() => void) & { readonly type?: string; readonly delay?: unknown };
export type Action = string | Inline | { readonly type: string; readonly params?: Computed<unknown> };
type Implementations = Chart['machine']['implementations']['actions'];

export function paramsOf(of: unknown, moment: Moment): unknown {
  if (typeof of !== 'object') return undefined;
  const { params } = of as { readonly params?: Computed<unknown> };
  return typeof params === 'function' ? params(moment) : params;
}

/** An effect, an assignment, or a deadline that is set or cancelled. */
export function isPlain(action: Action, actions: Implementations): boolean {
  const found = implementationOf(action, actions);
  if (isAssign(found) || isDeadline(found)) return true;
  return typeof action !== 'function' && (typeof found !== 'function' || !('resolve' in found));
}

function implementationOf(action: Action, actions: Implementations): unknown {
  if (typeof action === 'function') return action;
  return actions[typeof action === 'string' ? action : action.type];
}

type Asked = Parameters<AnyActorScope['actionExecutor']>[0];

/**
 * Gives effects and deadlines to the scope.
 *
 * @returns the context after all; null: nothing was done, because one raises an event for this very step
 */
export function performAll(
  all: readonly Action[],
  before: AnyMachineSnapshot,
  event: Moment['event'],
  scope: AnyActorScope,
): Context | null {
  const { actions } = before.machine.implementations;
  const asked: Asked[] = [];
  const ask = (type: string, params: unknown) =>
    void asked.push({ type, params, info: {} as never, exec: undefined } as Asked);
  let context = before.context as Context;
  for (const action of all) {
    const found = implementationOf(action, actions);
    const params = paramsOf(action, { context, event });
    if (isAssign(found)) context = contextAfter({ context, event }, params, found);
    else if (isDeadline(found)) {
      const raised: unknown[] = [];
      const args = { context, event, self: scope.self, system: scope.system };
      const [, meant] = found.resolve(scope, before, args, params, found, { internalQueue: raised });
      if (raised.length > 0) return null;
      ask(found.type, meant);
    } else ask(typeof action === 'object' ? action.type : String(action), params);
  }
  for (const one of asked) scope.actionExecutor(one);
  return context;
}

interface DeadlineAction {
  readonly type: string;
  resolve(
    scope: AnyActorScope,
    snapshot: AnyMachineSnapshot,
    args: object,
    params: unknown,
    action: unknown,
    extra: { readonly internalQueue: unknown[] },
  ): [AnyMachineSnapshot, unknown, undefined];
}

/** A delayed event, or the end of one. */
function isDeadline(action: unknown): action is DeadlineAction {
  if (typeof action !== 'function' || !('type' in action)) return false;
  if (action.type === 'xstate.cancel') return true;
  return action.type === 'xstate.raise' && 'delay' in action && isDelay(action.delay);
}

const isDelay = (delay: unknown) => typeof delay === 'number' || typeof delay === 'string';

type Assigner = (moment: Moment, params: unknown) => Context;
interface AssignAction {
  readonly assignment: Assigner | Readonly<Record<string, unknown>>;
  resolve: typeof assigned;
}

/** Within `enqueueActions`, xstate's own `assign` is kept. */
export function isAssign(action: unknown): action is AssignAction {
  return typeof action === 'function' && 'type' in action && action.type === 'xstate.assign';
}

/**
 * In the signature in which xstate calls it: scope, snapshot, action arguments, parameters, the action
 * itself. Charts spawn nothing, so there are no children to add.
 */
export function assigned<S extends { readonly context: Context }>(
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
