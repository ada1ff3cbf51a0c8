/**
 * The same text in memory of its own. A part of a text, and a text put together of parts, hold on to them:
 * each name to the whole subject in which it came.
 */
export const detached = <T extends string>(text: T): T => Buffer.from(text).toString() as T;
