/** Semantic versions (semver.org) of releases. Comparison uses major.minor.patch only. Pure. */

const form =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** Whether the text is a semantic version. Anything after major.minor.patch is accepted and ignored. */
export function isRelease(text: string): boolean {
  return form.test(text);
}

/** Negative, 0 or positive: `a` is older than, equal to or newer than `b`. */
export function compareReleases(a: string, b: string): number {
  // Usually all replicas run one release.
  if (a === b) return 0;
  const [left, right] = [parts(a), parts(b)];
  for (let at = 0; at < 3; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A text that is no version counts as the oldest, so a replica with an unreadable release never leads. */
function parts(release: string): readonly number[] {
  return form.exec(release)?.slice(1, 4).map(Number) ?? [0, 0, 0];
}
