/**
 * How lists of built-in types are merged: by which field a strategic merge patch finds an item, and by which
 * fields server-side apply does. Lists that are absent here are replaced as a whole.
 *
 * Source: the "patch strategy" and "map, unique values on" notes of the Kubernetes API reference.
 */

export interface ListMerge {
  /** Strategic merge: the key field; empty for a list of plain values; undefined: the list is replaced. */
  readonly patchKey?: string;
  /** Server-side apply: the key fields; empty for a set. */
  readonly applyKeys?: readonly string[];
}

const by = (...keys: string[]): ListMerge => ({ patchKey: keys[0] ?? '', applyKeys: keys });
const valueSet: ListMerge = { patchKey: '', applyKeys: [] };

export const listMerges: Readonly<Record<string, ListMerge>> = {
  'ObjectMeta.finalizers': valueSet,
  'ObjectMeta.ownerReferences': by('uid'),
  'PodSpec.containers': by('name'),
  'PodSpec.initContainers': by('name'),
  'PodSpec.ephemeralContainers': by('name'),
  'PodSpec.volumes': by('name'),
  'PodSpec.imagePullSecrets': by('name'),
  'PodSpec.hostAliases': by('ip'),
  'PodSpec.resourceClaims': by('name'),
  'PodSpec.schedulingGates': by('name'),
  'PodSpec.topologySpreadConstraints': by('topologyKey', 'whenUnsatisfiable'),
  'PodStatus.conditions': by('type'),
  'PodStatus.podIPs': by('ip'),
  'PodStatus.hostIPs': { patchKey: 'ip' },
  'PodStatus.resourceClaimStatuses': by('name'),
  'Container.ports': by('containerPort', 'protocol'),
  'Container.env': by('name'),
  'Container.volumeMounts': by('mountPath'),
  'Container.volumeDevices': by('devicePath'),
  'EphemeralContainer.ports': by('containerPort', 'protocol'),
  'EphemeralContainer.env': by('name'),
  'EphemeralContainer.volumeMounts': by('mountPath'),
  'EphemeralContainer.volumeDevices': by('devicePath'),
  'ContainerStatus.volumeMounts': by('mountPath'),
  'ContainerStatus.allocatedResourcesStatus': by('name'),
  'ResourceRequirements.claims': { applyKeys: ['name'] },
  'ServiceSpec.ports': by('port', 'protocol'),
  'ServiceStatus.conditions': by('type'),
  'ServiceAccount.secrets': by('name'),
  'NamespaceStatus.conditions': by('type'),
  'PodDisruptionBudgetStatus.conditions': by('type'),
  'NodeSpec.podCIDRs': valueSet,
  'NodeStatus.addresses': by('type'),
  'NodeStatus.conditions': by('type'),
  'DeploymentStatus.conditions': by('type'),
  'ReplicaSetStatus.conditions': by('type'),
  'StatefulSetStatus.conditions': by('type'),
  'Endpoint.addresses': { applyKeys: [] },
  'JSONSchemaProps.x-kubernetes-validations': by('rule'),
  'CustomResourceDefinitionStatus.conditions': { applyKeys: ['type'] },
};

/** Types and fields that lose their other keys when a strategic merge names `$retainKeys`. */
export const retainKeysTypes: ReadonlySet<string> = new Set(['DeploymentStrategy', 'Volume']);

/** Types that server-side apply replaces as a whole. */
export const atomicTypes: ReadonlySet<string> = new Set([
  'ConfigMapKeySelector',
  'DiscoveryV1EndpointPort',
  'FileKeySelector',
  'LabelSelector',
  'LocalObjectReference',
  'NodeSelector',
  'NodeSelectorTerm',
  'ObjectFieldSelector',
  'ObjectReference',
  'OwnerReference',
  'ResourceFieldSelector',
  'RoleRef',
  'SecretKeySelector',
  'TypedLocalObjectReference',
]);

/** Fields whose maps server-side apply replaces as a whole. */
export const atomicFields: ReadonlySet<string> = new Set(['PodSpec.nodeSelector', 'ServiceSpec.selector']);
