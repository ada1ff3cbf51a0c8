/**
 * A rule of a Kubernetes role: a permission that a feature needs beside its watches (`deploy/`, `orrery
 * access`).
 */

export interface Need {
  /** Empty for the core group. */
  readonly apiGroup: string;
  /** `pods`, `pods/eviction` */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Only in Orrery's own namespace. Absent: in the whole cluster. */
  readonly isOwnNamespace?: true;
  /** The permission's purpose, for readers of the role. */
  readonly why: string;
}
