/** The labels and annotations that identify EndpointSlices. */

/** Says of which Service a slice is (discovery.k8s.io). */
export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
/** The value of `managedByLabel` on slices that are ours. */
export const managedBy = 'orrery-endpoints';
/** Other controllers that make slices of external workloads, by the same label. */
export const otherWriters = ['linkerd-external-workloads-controller'] as const;
export type OtherWriter = (typeof otherWriters)[number];
export const headlessLabel = 'service.kubernetes.io/headless';
export const zoneLabel = 'topology.kubernetes.io/zone';
/** When that happened of which a write tells (Kubernetes' well-known annotations). */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Labels that say whose a slice is; a Service cannot lend them to its slices. */
export const reservedLabels: readonly string[] = [serviceNameLabel, managedByLabel, headlessLabel];
