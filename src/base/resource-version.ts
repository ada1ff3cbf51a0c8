/**
 * The order of Kubernetes resource versions: which of two versions of one object, or of two objects of one
 * resource, is later.
 *
 * Resource versions are growing decimal numbers of any length (KEP-5504; always true of etcd), so a longer
 * text is a later version. Promises: if one of the two is no such number, they have no order unless both are
 * the same text.
 */

/** Negative: `a` is older; 0: equal; positive: `a` is newer; undefined: unknown. */
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

/** Whether `a` is certainly older than `b`. */
export function isOlderVersion(a: string | null | undefined, b: string | null | undefined): boolean {
  return (compareVersions(a, b) ?? 0) < 0;
}

function isNumber(version: string): boolean {
  return /^(0|[1-9][0-9]*)$/.test(version);
}
