/**
 * What a Pod's actor is told about the world: one small plain value, joined from several objects and
 * delivered as a whole. Equal facts are not delivered twice, and a missed or repeated delivery does no harm
 * (I5).
 */

import type { Address } from '../../base/address.ts';
import type { ConditionStatus } from '../../base/digests.ts';

/**
 * What makes a Service and its Pods wait for each other: it publishes Ready Pods only; its session affinity;
 * its internal traffic policy.
 */
export type Deadlock = 'notPublished' | 'affine' | 'local';

/** Or its selector does not select the Pod, or it prefers Pods of the zone or node that asks. */
export type Hindrance = Deadlock | 'unselected' | 'near';

export interface PodFacts {
  readonly uid: string;
  readonly address: Address | { readonly invalid: string } | null;
  readonly deleting: boolean;
  /** Whether the Pod has the readiness gate of the RouteGate's condition type. */
  readonly gated: boolean;
  /** Status of the gate's condition; null if the Pod does not have the condition. */
  readonly condition: ConditionStatus | null;
  /**
   * It is True, and its reason says that nothing was verified; only for a gate that withdraws, which goes on
   * verifying.
   */
  readonly saysUnverified?: true;
  /** Whether a probe can recognize this Pod (`onlyIfEnv`, an address that it has alone). */
  readonly verifiable: boolean;
  /** Another Pod of the group that has the address of the same node; then the Pod is not verifiable. */
  readonly sharesAddressWith?: string;
  /** What the Pod needs of the RouteGate that holds it. */
  readonly gate: {
    readonly name: string;
    readonly conditionType: string;
    readonly whenRouteIsLost: 'keep' | 'withdraw';
    readonly whenUnverifiable: 'pass' | 'hold';
  };
  /** The object that owns the group. `none`: the RouteGate names no such kind. */
  readonly groupResource: 'none' | 'found' | 'missing' | 'mismatch';
  /**
   * The RouteGate does not select the Pod, nor does another one of its condition type: the label that the Pod
   * lacks for its group, or null if podSelector does not match. `groupResource` then is `mismatch`, so that
   * an earlier release leaves the Pod alone as well. Absent: it does.
   */
  readonly unselected?: { readonly lacks: string | null };
  /** Where the group has no Service: the label, and its value, that one would have. */
  readonly noService?: { readonly label: string; readonly value: string };
  /**
   * Why nothing can be verified in the group; absent if it can. `groupResource` then is `missing`, so that an
   * earlier release holds the Pod back as well.
   */
  readonly refused?: { readonly reason: string; readonly message: string };
  /** The missing owner of the group, and the Pod's label that names it. */
  readonly owner?: {
    /** Absent in facts of an earlier release. */
    readonly apiVersion?: string;
    readonly kind: string;
    readonly name: string;
    readonly label: string;
  };
  /**
   * The actors of the group's Services: name → the first eight characters of the Service's uid, or `null` if
   * it cannot be asked.
   */
  readonly services: Readonly<Record<string, string | null>>;
  /** Why a Service cannot be asked, by name. */
  readonly unaskable: Readonly<Record<string, string>>;
  /** Why a Service may wait for the Pod or cannot lead to it, by name; absent if none does. */
  readonly deadlocks?: Readonly<Record<string, readonly Hindrance[]>>;
}
