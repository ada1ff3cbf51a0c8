/** An event or effect as plain data: a type and any fields. The only definition of this shape. */

export type PlainEvent = { readonly type: string } & Readonly<Record<string, unknown>>;
