/**
 * The context of an actor that is owned here, for those who count something in it.
 *
 * Promises: an actor at rest is unpacked once for each of its steps, however often it is asked for, and stays at
 * rest. Absent: migrations; a record of an earlier version says what it said then.
 */
import type { Cell } from './owned.ts';
import { unpackRecord } from './records.ts';

const read = new WeakMap<Uint8Array, { readonly picked: unknown }>();

/**
 * @param pick takes what is wanted from the context, and is kept in its place; the same for every call
 * @returns undefined: the actor is new, or its record cannot be read
 */
export function pickContext<T>(cell: Cell, pick: (context: unknown) => T): T | undefined {
  const { hot, packed, id } = cell;
  if (hot !== null) {
    const context = hot.snapshot?.context ?? hot.record?.snapshot.context;
    return context === undefined ? undefined : pick(context);
  }
  if (packed === null) return undefined;
  const known = read.get(packed);
  if (known !== undefined) return known.picked as T | undefined;
  const picked = picking(() => pick(unpackRecord(packed, id).snapshot.context));
  read.set(packed, { picked });
  return picked;
}

function picking<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    // A release that is newer than this one wrote it.
    return undefined;
  }
}
