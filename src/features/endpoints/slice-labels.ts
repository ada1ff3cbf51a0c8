/** The labels and annotations that identify EndpointSlices. */

/** Names the Service of a slice (discovery.k8s.io). */
export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
/** The value of `managedByLabel` on our slices. */
export const managedBy = 'orrery-endpoints';
/** Our name in `managedFields`, which the API server takes from our requests' user-agent. */
export const ownManager = 'orrery';
/** Other controllers that make slices for external workloads, by the same label. */
export const otherWriters = ['linkerd-external-workloads-controller'] as const;
export type OtherWriter = (typeof otherWriters)[number];
export const headlessLabel = 'service.kubernetes.io/headless';
export const zoneLabel = 'topology.kubernetes.io/zone';
/** When the change happened that a write reports (one of Kubernetes' well-known annotations). */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Labels that identify a slice; a Service cannot pass them on to its slices. */
export const reservedLabels: readonly string[] = [serviceNameLabel, managedByLabel, headlessLabel];
