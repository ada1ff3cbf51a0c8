/**
 * The order of resource versions: which of two versions of one object, or of two objects of one resource, came later.
 *
 * They are decimal numbers of any length that grow (KEP-5504; true of etcd always), so the longer text is the later one. Promises: two
 * versions of which one is no such number have no order, unless they are the same text.
 */

/** Negative: `a` is older; 0: they are the same; positive: it is newer; undefined: that cannot be told. */
export function compareVersions(
  a: string | null | undefined,
  b: string | null | undefined,
): number | undefined {
  if (!a || !b) return undefined;
  if (a === b) return 0;
  if (!isNumber(a) || !isNumber(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Whether `a` is surely older than `b`. */
export function isOlderVersion(a: string | null | undefined, b: string | null | undefined): boolean {
  return (compareVersions(a, b) ?? 0) < 0;
}

function isNumber(version: string): boolean {
  return /^(0|[1-9][0-9]*)$/.test(version);
}
