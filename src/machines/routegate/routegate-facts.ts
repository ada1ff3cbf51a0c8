/** What a RouteGate's actor is told of the world, and what a look at the world finds. */

export interface RouteGateFacts {
  readonly uid: string;
  readonly generation: number;
  /** Why the specification is unusable; null: it is usable. */
  readonly invalid: string | null;
  /**
   * A new token whenever something may have changed since the last look. It changes once for each look, so a
   * thousand changes cost as much as one; no two replicas use the same.
   */
  readonly stirred: string;
}

/** Objects of one sort: some of them by name, and their number. */
export interface Named {
  readonly names: readonly string[];
  readonly count: number;
}

/** What the world contains for one RouteGate: numbers and names, without judgement. */
export interface GateFindings {
  /** Everything that the RouteGate needs was listed with it in mind. */
  readonly isComplete: boolean;
  /** The kind of the groups' owner, if that alone was not listed. */
  readonly unlistedOwner?: string;
  /** The kind of the groups' owner, if the cluster has no such kind. */
  readonly unservedOwner?: string;
  readonly conditionType: string;
  /** Why the RouteGate is not in use although its specification is valid; null: it is in use. */
  readonly refusal: { readonly reason: string; readonly message: string } | null;
  readonly pods: {
    /** Pods that this RouteGate holds back until their condition is True. */
    readonly held: number;
    readonly waiting: number;
    readonly ungated: number;
    /** Selected Pods that an older RouteGate of the same condition type holds. */
    readonly others: number;
    /** Pods whose condition is True with at least one proof, and with none. */
    readonly verified: number;
    readonly unverified: number;
  };
  /**
   * Condition types that a RouteGate wrote and none has any more, which selected Pods list all the same: how
   * many do, and for how many of them it is not True. Absent: none.
   */
  readonly formerTypes?: ReadonlyArray<{
    readonly conditionType: string;
    readonly pods: number;
    readonly waiting: number;
  }>;
  /** The Pod that has waited longest, and since when, ms since the epoch. */
  readonly first: { readonly name: string; readonly since: number } | null;
  readonly services: number;
  /** Services that cannot be asked, each with the reason. */
  readonly unaskable: Named;
  /** One of them lacks the port. */
  readonly isPortMissing: boolean;
  /** Groups that hold Pods but have no Service. */
  readonly emptyGroups: Named;
  /** Groups with more Services than a Pod can remember: nothing is verified in them. */
  readonly crowdedGroups: Named;
  readonly servicesMax: number;
  /** Groups with more Pods than a Service watches at one time; some of them. */
  readonly largeGroups: ReadonlyArray<{ readonly group: string; readonly pods: number }>;
  /** Services that wait for the Pods that wait for them. */
  readonly notPublished: Named;
  readonly affine: Named;
  readonly local: Named;
}
