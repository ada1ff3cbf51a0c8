/** An event or effect as plain data: a type and whatever fields it has. The one home of this shape. */

export type PlainEvent = { readonly type: string } & Readonly<Record<string, unknown>>;
