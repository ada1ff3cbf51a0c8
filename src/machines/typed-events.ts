/**
 * Guards and changes of one sort of event, typed by it: a chart's setup names the event, and the function
 * gets what that event carries. Elsewhere in the chart they hold for nothing and change nothing.
 */

interface Moment<Context, Event> {
  readonly context: Context;
  readonly event: Event;
}

type Of<Event extends { readonly type: string }, Type extends Event['type']> = Event & {
  readonly type: Type;
};

export interface TypedEvents<Context, Event extends { readonly type: string }> {
  /** A guard: holds only for events of the type. */
  when<Type extends Event['type']>(
    type: Type,
    holds: (context: Context, event: Of<Event, Type>) => boolean,
  ): (moment: Moment<Context, Event>) => boolean;
  /** What an event of the type changes in the context, for `assign`. */
  change<Type extends Event['type']>(
    type: Type,
    changed: (context: Context, event: Of<Event, Type>) => Partial<Context>,
  ): (moment: Moment<Context, Event>) => Partial<Context>;
  /** What an event of the type is about; nothing for others. */
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
