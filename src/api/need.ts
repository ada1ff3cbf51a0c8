/** What a feature needs of Kubernetes beside its watches, for the role that `orrery access` prints. */

export interface Need {
  /** Empty for the core group. */
  readonly apiGroup: string;
  /** `pods`, `pods/eviction` */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** For whoever reads the role: what it is for. */
  readonly why: string;
}
