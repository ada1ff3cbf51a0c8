/**
 * The fields of Kubernetes objects that the development cluster reads, with helpers to read them.
 *
 * Pure functions over plain objects. Every field may be absent, as on the wire.
 */
import type { LabelSelector, Labels } from '../../src/base/digests.ts';
import type { KubeMeta, KubeObject, KubeResource } from '../../src/base/kube-port.ts';

export const replicaSets: KubeResource = {
  group: 'apps',
  version: 'v1',
  plural: 'replicasets',
  kind: 'ReplicaSet',
  namespaced: true,
};

/** Prefix of the annotations that only the development cluster reads. */
export const devPrefix = 'dev.orrery.dev/';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly ports?: readonly ContainerPort[];
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly Container[];
  readonly terminationGracePeriodSeconds?: number;
  readonly readinessGates?: ReadonlyArray<{ readonly conditionType: string }>;
  readonly volumes?: ReadonlyArray<{ readonly name: string } & Readonly<Record<string, unknown>>>;
  readonly [field: string]: unknown;
}

export interface PodStatus {
  readonly phase?: string;
  readonly podIP?: string;
  readonly podIPs?: ReadonlyArray<{ readonly ip: string }>;
  readonly startTime?: string;
  readonly conditions?: readonly Condition[];
  readonly containerStatuses?: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

export interface PodObject extends KubeObject {
  readonly metadata: KubeMeta & { readonly deletionGracePeriodSeconds?: number };
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

export interface PodTemplate {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec?: PodSpec;
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
  readonly appProtocol?: string;
}

export interface ServiceObject extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly selector?: Labels;
    readonly ports?: readonly ServicePort[];
    readonly publishNotReadyAddresses?: boolean;
  };
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
  readonly nodeName?: string;
  readonly targetRef?: Readonly<Record<string, string>>;
}

export interface EndpointPort {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

export interface EndpointSliceObject extends KubeObject {
  readonly addressType?: string;
  readonly endpoints?: readonly Endpoint[];
  readonly ports?: readonly EndpointPort[];
}

/** The fields that StatefulSets, ReplicaSets and Deployments share. */
export interface WorkloadObject extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector;
    readonly template?: PodTemplate;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
    readonly volumeClaimTemplates?: ReadonlyArray<{ readonly metadata?: { readonly name?: string } }>;
    readonly revisionHistoryLimit?: number;
    readonly paused?: boolean;
  };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** `<namespace>/<name>`; a cluster-scoped object has an empty namespace. */
export function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && object.metadata.deletionTimestamp !== null;
}

export function conditionOf(pod: PodObject, type: string): Condition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

export function isTrue(pod: PodObject, type: string): boolean {
  return conditionOf(pod, type)?.status === 'True';
}

/** Ready and not on its way out: what a rolling update waits for. */
export function isHealthy(pod: PodObject): boolean {
  return isTrue(pod, 'Ready') && !isDeleting(pod);
}

export function hasEnded(pod: PodObject): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** The uid of the object that controls this one, if it is of the kind. */
export function controllerUid(object: KubeObject, kind: string): string | undefined {
  const owner = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
  return owner?.kind === kind && typeof owner.uid === 'string' ? owner.uid : undefined;
}

export function devAnnotation(object: KubeObject, name: string): string | undefined {
  return object.metadata.annotations?.[`${devPrefix}${name}`];
}
