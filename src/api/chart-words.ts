/**
 * Helpers for a feature's charts: assignments for one event type, the guards that most charts need, reasons.
 */
import { assign } from 'xstate';
import { equal } from '../base/equal.ts';
import { type Standing, type Tell, type Told, tells } from '../machines/tell.ts';

interface AnyEvent {
  readonly type: string;
}

/** The events of the union with that type. */
type Of<E extends AnyEvent, T extends string> = Extract<E, { readonly type: T }>;

/**
 * A context change for events of this type only: for `setup({ actions })`, where `types` defines context and
 * events.
 */
export function on<C extends object, E extends AnyEvent, const T extends E['type']>(
  type: T,
  change: (args: { readonly context: C; readonly event: Of<E, T> }) => Partial<C>,
): ReturnType<typeof assign<C, E, undefined, E, never>> {
  return assign<C, E, undefined, E, never>(({ context, event }) =>
    event.type === type ? change({ context, event: event as Of<E, T> }) : ({} as Partial<C>),
  );
}

/** Guard: the world has nothing for the actor any more (`<kind>.observed` with `facts: null`). */
export const isGone = ({ event }: { readonly event: AnyEvent }): boolean =>
  'facts' in event && event.facts === null;

/** Guard: the facts of `<kind>.observed` differ from `context.facts`. */
export const isNews = ({
  context,
  event,
}: {
  readonly context: { readonly facts: unknown };
  readonly event: AnyEvent;
}): boolean => 'facts' in event && !equal(event.facts, context.facts);

/**
 * Why an actor stands as it does, for people, typed by the chart's own context. Must be pure and never throw.
 */
export function tell<Context>(say: (standing: Standing<Context>) => Told): Tell<unknown> {
  return tells(say);
}
