/** The digests that EndpointSlices need in the world. */
import type { Address, IpFamily } from '../../base/address.ts';
import type { ConditionStatus, DigestBase, Labels } from '../../base/digests.ts';

export interface ServiceDigest extends DigestBase {
  readonly kind: 'services';
  /** Absent if it selects nothing: type ExternalName, or no selector. */
  readonly selecting?: SelectingService;
}

export interface SelectingService {
  readonly selector: Labels;
  /** The address families of its slices. */
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

export interface EndpointSliceDigest extends DigestBase {
  readonly kind: 'endpointslices';
  /** Name of the Service (label `kubernetes.io/service-name`). */
  readonly service: string;
  /** Of slices with a content. Absent in what a mirror of 0.1.0 wrote. */
  readonly annotations?: Labels;
  /** Its content, if the slice is ours. */
  readonly managed?: SliceContent;
  /** Who else last wrote something in it that is ours to write (`managedFields`); absent: nobody. */
  readonly editor?: string;
  /** Its writer and content, if another controller made it for external workloads. */
  readonly foreign?: { readonly writer: string; readonly content: SliceContent };
}

/** The content of an EndpointSlice, in the form of discovery.k8s.io/v1. */
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
  /** Addresses that can be published, canonical, each once. */
  readonly addresses: readonly Address[];
  /** Addresses that cannot, as written: malformed, loopback, link-local, unspecified, multicast. */
  readonly invalid: readonly string[];
  readonly ports: ReadonlyArray<{
    readonly name: string;
    readonly port: number;
    readonly protocol: string;
  }>;
  /** Status of the condition `Ready`; null if there is none. */
  readonly ready: ConditionStatus | null;
  /** Its lastTransitionTime, ms since the epoch; 0 if it has none. */
  readonly readyAt: number;
  /** The annotation `orrery.dev/probe`; null without it. */
  readonly probe: string | null;
}
