/** A rule of a role: what a feature needs of Kubernetes beside its watches (`deploy/`, `orrery access`). */

export interface Need {
  /** Empty for the core group. */
  readonly apiGroup: string;
  /** `pods`, `pods/eviction` */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** In Orrery's own namespace alone. Absent: in the whole cluster. */
  readonly isOwnNamespace?: true;
  /** For whoever reads the role: what it is for. */
  readonly why: string;
}
