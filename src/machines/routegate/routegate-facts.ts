/** What the actor of a RouteGate is told of the world, and what a look at the world finds. */

export interface RouteGateFacts {
  readonly uid: string;
  readonly generation: number;
  /** Why the specification cannot be used; null: it can. */
  readonly invalid: string | null;
  /**
   * Another token whenever something may have changed since the last look. It changes once for each look, so
   * that a thousand changes cost what one costs; and no two replicas use the same.
   */
  readonly stirred: string;
}

/** Objects of one sort: a few of them by name, and how many they are. */
export interface Named {
  readonly names: readonly string[];
  readonly count: number;
}

/** What stands in the world for one RouteGate: numbers and names, no opinion on them. */
export interface GateFindings {
  /** Everything that the RouteGate asks for was listed with it in mind. */
  readonly isComplete: boolean;
  readonly conditionType: string;
  /** Why the RouteGate is not in use although its specification could be; null: it is in use. */
  readonly refusal: { readonly reason: string; readonly message: string } | null;
  readonly pods: {
    /** Held back by this RouteGate until their condition is True. */
    readonly held: number;
    readonly waiting: number;
    /** Selected, and without the readiness gate. */
    readonly ungated: number;
    /** Selected, and held by an older RouteGate of the same condition type. */
    readonly others: number;
    /** True by at least one proof, and by none. */
    readonly verified: number;
    readonly unverified: number;
  };
  /** The Pod that has waited longest, and since when, ms since the epoch. */
  readonly first: { readonly name: string; readonly since: number } | null;
  readonly services: number;
  /** Services that cannot be asked: each with the reason. */
  readonly unaskable: Named;
  /** One of them lacks the port. */
  readonly isPortMissing: boolean;
  /** Groups that have Pods and no Service. */
  readonly emptyGroups: Named;
  /** Groups with more Services than a Pod can keep in mind: nothing is verified in them. */
  readonly crowdedGroups: Named;
  readonly servicesMax: number;
  /** Groups with more Pods than a Service looks for at one time; a few of them. */
  readonly largeGroups: ReadonlyArray<{ readonly group: string; readonly pods: number }>;
  /** Services that wait for the Pods that wait for them. */
  readonly notPublished: Named;
  readonly affine: Named;
  readonly local: Named;
}
