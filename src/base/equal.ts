/**
 * Equality of plain JSON values. The order of keys does not matter; the order of list items does.
 */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
    );
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  for (const key of keys) if (!Object.hasOwn(right, key) || !equal(left[key], right[key])) return false;
  return true;
}

/**
 * Takes from `known` what is equal in both, so that it is in memory once.
 *
 * @param next changed in place: plain data that nobody else holds, down to `levels`
 */
export function shareEqual<T extends object>(next: T, known: object, levels: number): T {
  if (Array.isArray(next) !== Array.isArray(known)) return next;
  const [to, from] = [next as Record<string, unknown>, known as Record<string, unknown>];
  for (const key of Object.keys(to)) {
    const [value, other] = [to[key], from[key]];
    if (equal(value, other)) to[key] = other;
    else if (levels > 1 && isObject(value) && isObject(other)) shareEqual(value, other, levels - 1);
  }
  return next;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
