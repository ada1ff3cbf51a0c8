/** Semantic versions (semver.org) of releases. Of two, only major.minor.patch are compared. Pure. */

const form =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/**
 * Whether the text is a semantic version; what stands behind major.minor.patch is allowed and means nothing
 * here.
 */
export function isRelease(text: string): boolean {
  return form.test(text);
}

/** Below 0, 0 or above 0, as `a` is older than, equal to or newer than `b`. */
export function compareReleases(a: string, b: string): number {
  // As a rule all replicas are of one release.
  if (a === b) return 0;
  const [left, right] = [parts(a), parts(b)];
  for (let at = 0; at < 3; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** What is no release counts as the oldest: nobody is led by what cannot be read. */
function parts(release: string): readonly number[] {
  return form.exec(release)?.slice(1, 4).map(Number) ?? [0, 0, 0];
}
