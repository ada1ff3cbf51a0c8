/** An event or effect as plain data: a type and any fields. The only definition of this shape. */

export type PlainEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Whether plain data has fields: an object, or a list. */
export const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
