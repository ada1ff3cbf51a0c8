/**
 * What a Pod is told about the world, joined from several objects into one small plain value and delivered whole: equal facts are
 * not delivered twice, and a missed or repeated delivery does no harm (I5).
 */

import type { Address } from '../../base/address.ts';
import type { ConditionStatus } from '../../base/digests.ts';

export interface PodFacts {
  readonly uid: string;
  readonly address: Address | { readonly invalid: string } | null;
  readonly deleting: boolean;
  /** Whether the Pod has the readiness gate of the RouteGate's condition type. */
  readonly gated: boolean;
  /** Status of the gate's condition; null if the Pod does not have the condition. */
  readonly condition: ConditionStatus | null;
  /** Whether a probe can tell this Pod (`onlyIfEnv`). */
  readonly verifiable: boolean;
  /** The RouteGate that holds the Pod, and the parts of it that the Pod needs. */
  readonly gate: {
    readonly name: string;
    readonly conditionType: string;
    readonly whenRouteIsLost: 'keep' | 'withdraw';
  };
  /** The object that owns the group. `none`: the RouteGate names no such kind. */
  readonly groupResource: 'none' | 'found' | 'missing' | 'mismatch';
  /**
   * The Services of the group: name → the first eight characters of its uid, or `null` where the Service has no port of the
   * probe's name (it counts as proven).
   */
  readonly services: Readonly<Record<string, string | null>>;
}
