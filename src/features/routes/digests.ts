/** The digests that routes need in the world. */

import type { Address, IpFamily } from '../../base/address.ts';
import type { ConditionStatus, DigestBase, Labels } from '../../base/digests.ts';
import type { Invalid } from '../../kube/api/spec-fields.ts';
import type { RouteGateSpec } from './route-gate.ts';

export interface PodDigest extends DigestBase {
  readonly kind: 'pods';
  /** `status.podIPs[0]`; null while there is none; `invalid` holds a text that does not parse. */
  readonly address: Address | { readonly invalid: string } | null;
  /** Condition types of `spec.readinessGates`. */
  readonly readinessGates: readonly string[];
  /** Status of the conditions that are readiness gates. */
  readonly conditions: Readonly<Record<string, ConditionStatus>>;
  /** Reasons of those of them that are True and state one. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** Those of them that are False and say why a RouteGate holds the Pod back. */
  readonly heldBack?: readonly string[];
  /** When those of them that say of a lost route that they are False came to say so, ms since the epoch. */
  readonly lostAt?: Readonly<Record<string, number>>;
  /** The Pod has ended, successfully or not (phase Succeeded or Failed), and serves no more. */
  readonly finished?: true;
  /** The `NAME=VALUE` pairs of RouteGates' `onlyIfEnv` that some container of the Pod has exactly. */
  readonly matchedEnv: readonly string[];
  /** It is on the network of its node, and has its address. */
  readonly hostNetwork?: true;
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
  /** Of a headless Service: in which families its name leads to its Pods. */
  readonly families?: readonly IpFamily[];
  /** What can keep a Pod from being reached through the Service before it is Ready; absent if nothing can. */
  readonly routing?: ServiceRouting;
}

export interface ServiceRouting {
  /** Its selector, if it publishes only Ready Pods. */
  readonly readyOnly?: Labels;
  /** Its selector, if it publishes all Pods. */
  readonly selector?: Labels;
  /** `sessionAffinity: ClientIP` */
  readonly affine?: true;
  /** `internalTrafficPolicy: Local` */
  readonly local?: true;
  /** `trafficDistribution`, or a topology mode: Pods of the same zone or node come first. */
  readonly near?: true;
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
  /** What its status says (saidIn); absent: mirrored by an earlier release. */
  readonly said?: string;
}

/** The object that owns a group. RouteGates name its kind, which is known only at run time. */
export interface GroupResourceDigest extends DigestBase {
  readonly kind: 'groupresource';
  /** `<plural>.<group>`, e.g. `proxygroups.tailscale.com`. */
  readonly resource: string;
  /** The values at the field paths that RouteGates name; a path that leads nowhere is absent. */
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}
