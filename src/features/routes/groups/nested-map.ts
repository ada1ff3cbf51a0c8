/** Maps within a map: an inner one that is empty is not kept. */

/** @param value null: it is gone */
export function put<T>(
  maps: Map<string, Map<string, T>>,
  outer: string,
  inner: string,
  value: T | null,
): void {
  const map = maps.get(outer) ?? new Map<string, T>();
  if (value === null) map.delete(inner);
  else map.set(inner, value);
  if (map.size === 0) maps.delete(outer);
  else maps.set(outer, map);
}
