/** Checks whether a value is plain data, which a record can store and return unchanged. */

/** Where the value is not plain, and what is there; null: it is plain. */
export function unplainIn(value: unknown, path = 'context', above: readonly unknown[] = []): string | null {
  if (value === null || ['string', 'boolean', 'undefined'].includes(typeof value)) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${path} is ${value}`;
  if (typeof value !== 'object') return `${path} is a ${typeof value}`;
  if (above.includes(value)) return `${path} holds itself`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
    return `${path} is a ${value.constructor.name}`;
  for (const [key, inner] of Object.entries(value)) {
    const found = unplainIn(inner, `${path}.${key}`, [...above, value]);
    if (found !== null) return found;
  }
  return null;
}
