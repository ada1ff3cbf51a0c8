/**
 * Since when each of many things has been so without a break: each is judged by itself, because where
 * something is always done there may be no moment at which nothing is.
 *
 * @returns a function that is told what is so now, and says since when, ms
 */
export function createSince(now: () => number) {
  const since = new Map<string, number>();
  return (things: Iterable<string>): ReadonlyMap<string, number> => {
    const present = new Set(things);
    for (const known of since.keys()) if (!present.has(known)) since.delete(known);
    for (const one of present) if (!since.has(one)) since.set(one, now());
    return since;
  };
}
