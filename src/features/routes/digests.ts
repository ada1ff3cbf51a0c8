/**
 * The form of the digests that routes need in the world.
 */

import type { Address } from '../../base/address.ts';
import type { ConditionStatus, DigestBase, Labels } from '../../base/digests.ts';
import type { Invalid } from '../../kube/api/spec-fields.ts';
import type { RouteGateSpec } from './route-gate.ts';

export interface PodDigest extends DigestBase {
  readonly kind: 'pods';
  /** `status.podIPs[0]`: absent while there is none; `invalid` holds the text that does not parse. */
  readonly address: Address | { readonly invalid: string } | null;
  /** Condition types of `spec.readinessGates`. */
  readonly readinessGates: readonly string[];
  /** Status of those conditions that are readiness gates. */
  readonly conditions: Readonly<Record<string, ConditionStatus>>;
  /** Reasons of those of them that are True and give one. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** It has ended, well or not (phase Succeeded or Failed), and serves no more. */
  readonly finished?: true;
  /**
   * Those `NAME=VALUE` pairs named by some RouteGate's `onlyIfEnv` that a container of the Pod has exactly.
   */
  readonly matchedEnv: readonly string[];
}

export interface ServicePortDigest {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
}

export interface ServiceDigest extends DigestBase {
  readonly kind: 'services';
  readonly clusterIPs: readonly Address[];
  readonly ports: readonly ServicePortDigest[];
  /** What of it can keep a Pod from being reached through it before it is Ready; absent without any. */
  readonly routing?: ServiceRouting;
}

export interface ServiceRouting {
  /** Its selector, where it publishes Ready Pods alone. */
  readonly readyOnly?: Labels;
  /** `sessionAffinity: ClientIP` */
  readonly affine?: true;
  /** `internalTrafficPolicy: Local` */
  readonly local?: true;
  /** `type: ExternalName` */
  readonly external?: true;
}

export interface EndpointSliceDigest extends DigestBase {
  readonly kind: 'endpointslices';
  /** Name of the Service (label `kubernetes.io/service-name`). */
  readonly service: string;
  /** Canonical addresses of the endpoints that are ready. */
  readonly readyAddresses: readonly string[];
}

export interface RouteGateDigest extends DigestBase {
  readonly kind: 'routegates';
  readonly generation: number;
  /** The specification with its defaults filled in, or why it cannot be used. */
  readonly spec: RouteGateSpec | Invalid;
}

/** The object that owns a group; its kind is named by RouteGates and known only at run time. */
export interface GroupResourceDigest extends DigestBase {
  readonly kind: 'groupresource';
  /** `<plural>.<group>`, e.g. `proxygroups.tailscale.com`. */
  readonly resource: string;
  /** The values at the field paths that some RouteGate names; a path that leads nowhere is absent. */
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}
