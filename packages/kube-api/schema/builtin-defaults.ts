/**
 * Values that the API server fills in by itself, by built-in type. What depends on other fields is in
 * `kinds/`.
 *
 * Source: the defaults named in the Kubernetes API reference, and the form in which the real server answers.
 */
import type { JsonObject } from '../json.ts';

const container = { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' };

/** Filled in where the field is absent. */
export const defaults: Readonly<Record<string, JsonObject>> = {
  PodSpec: {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  },
  Container: container,
  EphemeralContainer: container,
  ContainerPort: { protocol: 'TCP' },
  Probe: { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  HTTPGetAction: { path: '/', scheme: 'HTTP' },
  GRPCAction: { service: '' },
  ObjectFieldSelector: { apiVersion: 'v1' },
  ConfigMapVolumeSource: { defaultMode: 420 },
  SecretVolumeSource: { defaultMode: 420 },
  DownwardAPIVolumeSource: { defaultMode: 420 },
  ProjectedVolumeSource: { defaultMode: 420 },
  ServiceAccountTokenProjection: { expirationSeconds: 3600 },
  HostPathVolumeSource: { type: '' },
  ServiceSpec: { type: 'ClusterIP', sessionAffinity: 'None' },
  ServicePort: { protocol: 'TCP' },
  DiscoveryV1EndpointPort: { name: '', protocol: 'TCP' },
  DeploymentSpec: {
    replicas: 1,
    strategy: { type: 'RollingUpdate' },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  },
  ReplicaSetSpec: { replicas: 1 },
  StatefulSetSpec: {
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate' },
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  },
  DeploymentStrategy: { type: 'RollingUpdate' },
  StatefulSetUpdateStrategy: { type: 'RollingUpdate' },
  Secret: { type: 'Opaque' },
};

/** Written even if empty, beside the fields that the type table marks so. */
export const always: Readonly<Record<string, JsonObject>> = {
  Pod: { spec: {}, status: {} },
  PodTemplateSpec: { metadata: {}, spec: {} },
  PodCondition: { lastProbeTime: null, lastTransitionTime: null },
  Container: { resources: {} },
  EphemeralContainer: { resources: {} },
  Service: { spec: {}, status: {} },
  ServiceStatus: { loadBalancer: {} },
  Deployment: { spec: {}, status: {} },
  DeploymentSpec: { selector: null, strategy: {} },
  DeploymentCondition: { lastUpdateTime: null, lastTransitionTime: null },
  ReplicaSet: { spec: {}, status: {} },
  ReplicaSetSpec: { selector: null, template: {} },
  ReplicaSetCondition: { lastTransitionTime: null },
  StatefulSet: { spec: {}, status: {} },
  StatefulSetSpec: { selector: null, updateStrategy: {} },
  StatefulSetStatus: { availableReplicas: 0 },
  StatefulSetCondition: { lastTransitionTime: null },
  Node: { spec: {}, status: {} },
  NodeStatus: { daemonEndpoints: {}, nodeInfo: {} },
  NodeDaemonEndpoints: { kubeletEndpoint: {} },
  NodeCondition: { lastHeartbeatTime: null, lastTransitionTime: null },
  Namespace: { spec: {}, status: {} },
  NamespaceCondition: { lastTransitionTime: null },
  Lease: { spec: {} },
  EndpointSlice: { endpoints: null, ports: null },
  Endpoint: { conditions: {} },
  CoreV1Event: {
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: '',
    reportingInstance: '',
  },
  EventsV1Event: {
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
  },
  ClusterRole: { rules: null },
  Role: { rules: null },
  CustomResourceDefinition: { status: {} },
  CustomResourceDefinitionStatus: { conditions: null, acceptedNames: {}, storedVersions: null },
  CustomResourceDefinitionCondition: { lastTransitionTime: null },
};

/** Left out when empty although they are plain values: the real server keeps no pointer for them. */
export const omittedIfEmpty: ReadonlySet<string> = new Set([
  'ObjectMeta.generateName',
  'ObjectMeta.namespace',
  'ObjectMeta.name',
  'ObjectMeta.uid',
  'ObjectMeta.resourceVersion',
  'ObjectMeta.generation',
  'PodSpec.nodeName',
  'PodSpec.serviceAccountName',
  'PodSpec.hostname',
  'PodSpec.subdomain',
  'PodSpec.hostNetwork',
  'PodSpec.priorityClassName',
  'PodStatus.phase',
  'PodStatus.podIP',
  'PodStatus.hostIP',
  'PodStatus.message',
  'PodStatus.reason',
  'PodCondition.message',
  'PodCondition.reason',
  'EnvVar.value',
  'ContainerPort.name',
  'ServiceSpec.clusterIP',
  'ServiceSpec.externalName',
  'ServiceSpec.loadBalancerIP',
  'ServiceSpec.publishNotReadyAddresses',
  'ServiceSpec.healthCheckNodePort',
  'ServicePort.name',
  'ServicePort.nodePort',
  'NodeSpec.unschedulable',
  'CoreV1Event.message',
  'CoreV1Event.reason',
  'CoreV1Event.type',
  'CoreV1Event.count',
  'CoreV1Event.action',
]);

/** Fields that hold a quantity: a text or a number, kept as text. */
export const quantities: ReadonlySet<string> = new Set([
  'ContainerStatus.allocatedResources',
  'EmptyDirVolumeSource.sizeLimit',
  'NodeStatus.allocatable',
  'NodeStatus.capacity',
  'PodSpec.overhead',
  'ResourceFieldSelector.divisor',
  'ResourceRequirements.limits',
  'ResourceRequirements.requests',
  'VolumeResourceRequirements.limits',
  'VolumeResourceRequirements.requests',
]);
