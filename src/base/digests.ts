/**
 * Digests: the few fields of a Kubernetes object that some chart needs, as they stand in the `world` stream (I10).
 *
 * `kube/digest.ts` makes them, `actors/world.ts` joins them. A digest carries uid and resourceVersion, so that a stale or
 * a new object under an old name is told apart. No environment value and nothing of a Secret but the public part of a certificate is
 * ever part of one (I9).
 */

import type { ElectionTiming, LeasePlace } from '../machines/election/lease-record.ts';
import type { Address, IpFamily } from './address.ts';
import type { CertificateDigest } from './digests-certificates.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

export type Labels = Readonly<Record<string, string>>;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }>;
}

export interface DigestBase {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly labels: Labels;
}

export interface PodDigest extends DigestBase {
  readonly kind: 'pods';
  /** `status.podIPs[0]`: absent while there is none; `invalid` holds the text that does not parse. */
  readonly address: Address | { readonly invalid: string } | null;
  /** Condition types of `spec.readinessGates`. */
  readonly readinessGates: readonly string[];
  /** Status of those conditions that are readiness gates. */
  readonly conditions: Readonly<Record<string, ConditionStatus>>;
  /** Those `NAME=VALUE` pairs named by some RouteGate's `onlyIfEnv` that a container of the Pod has exactly. */
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
  /** Hosts that the annotation `orrery.dev/serve` wants served on port 443; absent without the annotation. */
  readonly serve?: ServeDigest;
  /** What EndpointSlices for workloads outside the cluster need; absent where it selects nothing: type ExternalName, or no selector. */
  readonly selecting?: SelectingService;
}

export interface ServeDigest {
  readonly hosts: readonly string[];
  /** Why the annotation cannot be read; the hosts are then those of the last one that could. null: it can. */
  readonly invalid: string | null;
}

export interface SelectingService {
  readonly selector: Labels;
  /** Of its slices. */
  readonly families: readonly IpFamily[];
  readonly headless: boolean;
  /** `spec.publishNotReadyAddresses` */
  readonly publishNotReady: boolean;
  readonly ports: ReadonlyArray<{
    readonly name: string;
    readonly protocol: string;
    readonly appProtocol: string | null;
    /** A port of the workload by name or by number. */
    readonly target: string | number;
  }>;
}

export interface NodeDigest extends DigestBase {
  readonly kind: 'nodes';
  /** The autoscaler has marked it (taint `ToBeDeletedByClusterAutoscaler`, whatever its value and effect). */
  readonly toBeDeleted: boolean;
}

export interface EndpointSliceDigest extends DigestBase {
  readonly kind: 'endpointslices';
  /** Name of the Service (label `kubernetes.io/service-name`). */
  readonly service: string;
  /** Canonical addresses of the endpoints that are ready. */
  readonly readyAddresses: readonly string[];
  /** What stands in it, if the slice is ours. */
  readonly managed?: SliceContent;
}

/** What an EndpointSlice says, in the form of discovery.k8s.io/v1. */
export interface SliceContent {
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
  readonly ownerReferences: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

export interface SlicePort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly appProtocol?: string;
  readonly [field: string]: unknown;
}

export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
  readonly targetRef?: { readonly uid?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A workload outside the cluster (ExternalWorkload, `workload.linkerd.io/v1beta1`). */
export interface WorkloadDigest extends DigestBase {
  readonly kind: 'externalworkloads';
  /** Those that can be published, canonical, each once. */
  readonly addresses: readonly Address[];
  /** Those that cannot, as they were written: no addresses, loopback, link-local, unspecified, multicast. */
  readonly invalid: readonly string[];
  readonly ports: ReadonlyArray<{
    readonly name: string;
    readonly port: number;
    readonly protocol: string;
  }>;
  /** The condition `Ready`; null if there is none. */
  readonly ready: ConditionStatus | null;
  /** Its lastTransitionTime, ms since the epoch; 0 if it says none. */
  readonly readyAt: number;
  /** The annotation `orrery.dev/probe`; null without it. */
  readonly probe: string | null;
}

export interface RouteGateSpec {
  readonly conditionType: string;
  readonly podSelector: LabelSelector;
  readonly group: { readonly podLabel: string; readonly serviceLabel: string };
  readonly serviceSelector: LabelSelector;
  readonly groupResource: {
    readonly apiVersion: string;
    readonly kind: string;
    /** Field path → value that it must have, as text. */
    readonly require: Readonly<Record<string, string>>;
    readonly replicas: { readonly path: string; readonly default: number } | null;
  } | null;
  readonly probe: {
    readonly portName: string;
    readonly path: string;
    readonly podIPHeaders: { readonly IPv4: string; readonly IPv6: string };
    readonly timeoutSeconds: number;
    readonly attemptsPerReplica: number;
    readonly address: 'dns' | 'clusterIP';
    readonly onlyIfEnv: { readonly name: string; readonly value: string } | null;
  };
  readonly whenRouteIsLost: 'keep' | 'withdraw';
}

export interface RouteGateDigest extends DigestBase {
  readonly kind: 'routegates';
  readonly generation: number;
  /** The specification with its defaults filled in, or why it cannot be used. */
  readonly spec: RouteGateSpec | { readonly invalid: string };
}

export interface ElectionDigest extends DigestBase {
  readonly kind: 'elections';
  readonly generation: number;
  readonly spec: ElectionSpec;
}

/** How an election is to be held; where it cannot be, `invalid` says why. */
export interface ElectionSpec {
  readonly place: LeasePlace;
  readonly timing: ElectionTiming;
  readonly releaseOnCancel: boolean;
  readonly invalid: string | null;
}

/** The object that owns a group; its kind is named by RouteGates and known only at run time. */
export interface GroupResourceDigest extends DigestBase {
  readonly kind: 'groupresource';
  /** `<plural>.<group>`, e.g. `proxygroups.tailscale.com`. */
  readonly resource: string;
  /** The values at the field paths that some RouteGate names; a path that leads nowhere is absent. */
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/**
 * A statement of the one that mirrors a resource, at `world._synced._.<resource>`: everything that these RouteGates need of it stands
 * in the world. A group resource is named `<apiVersion>/<kind>` there, as RouteGates name it.
 */
export interface SyncedDigest {
  readonly kind: 'synced';
  /** `<uid>/<generation>` of each RouteGate. */
  readonly gates: readonly string[];
  /** Under which resource the objects of a group resource stand; null while the kind does not exist in the cluster. */
  readonly resource: ResourceName | null;
}

export type Digest =
  | PodDigest
  | ServiceDigest
  | EndpointSliceDigest
  | NodeDigest
  | RouteGateDigest
  | ElectionDigest
  | GroupResourceDigest
  | WorkloadDigest
  | SyncedDigest
  | CertificateDigest;

/**
 * The name of a watched resource: how it is addressed in `world.<resource>.<ns>.<name>`, in metrics and in the watch fence:
 * `pods`, `services`, `endpointslices`, `routegates`, else `<plural>.<group>`.
 */
export type ResourceName = string;

/** One entry of the world: a digest, or the fact that the object is gone. */
export interface WorldEntry {
  readonly resource: ResourceName;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  /** Absent: the object does not exist (any more, or not as something that any chart needs). */
  readonly digest: Digest | null;
}

/** Any digest, of whatever resource: plain data with the name of its form. */
export type AnyDigest = { readonly kind: string };

/** What a Node's digest says about new traffic; null: there is no such Node. */
export function nodeEligibility(digest: Digest | null): 'eligible' | 'ineligible' | 'absent' {
  if (digest?.kind !== 'nodes') return 'absent';
  return digest.deleting || digest.toBeDeleted ? 'ineligible' : 'eligible';
}

/** Whether `labels` satisfy `selector`; an empty selector matches everything (Kubernetes' rule for LabelSelector). */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    if (labels[key] !== value) return false;
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const value = labels[key];
    if (operator === 'Exists' && value === undefined) return false;
    if (operator === 'DoesNotExist' && value !== undefined) return false;
    if (operator === 'In' && (value === undefined || !values.includes(value))) return false;
    if (operator === 'NotIn' && value !== undefined && values.includes(value)) return false;
  }
  return true;
}
