/**
 * Guards and changes for one type of event: a chart's setup names the type, and the function receives the
 * typed event. For other events they do not hold and change nothing.
 */

interface Moment<Context, Event> {
  readonly context: Context;
  readonly event: Event;
}

type Of<Event extends { readonly type: string }, Type extends Event['type']> = Event & {
  readonly type: Type;
};

export interface TypedEvents<Context, Event extends { readonly type: string }> {
  /** A guard that holds only for events of the type. */
  when<Type extends Event['type']>(
    type: Type,
    holds: (context: Context, event: Of<Event, Type>) => boolean,
  ): (moment: Moment<Context, Event>) => boolean;
  /** The context change that an event of the type makes, for `assign`. */
  change<Type extends Event['type']>(
    type: Type,
    changed: (context: Context, event: Of<Event, Type>) => Partial<Context>,
  ): (moment: Moment<Context, Event>) => Partial<Context>;
  /** The items in an event of the type; empty for others. */
  list<Type extends Event['type'], What>(
    type: Type,
    listed: (context: Context, event: Of<Event, Type>) => readonly What[],
  ): (moment: Moment<Context, Event>) => readonly What[];
}

export function eventsOf<Context, Event extends { readonly type: string }>(): TypedEvents<Context, Event> {
  const is = <Type extends Event['type']>(event: Event, type: Type): event is Of<Event, Type> =>
    event.type === type;
  return {
    when:
      (type, holds) =>
      ({ context, event }) =>
        is(event, type) && holds(context, event),
    change:
      (type, changed) =>
      ({ context, event }) =>
        is(event, type) ? changed(context, event) : {},
    list:
      (type, listed) =>
      ({ context, event }) =>
        is(event, type) ? listed(context, event) : [],
  };
}
