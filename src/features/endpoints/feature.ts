/**
 * The feature `endpoints`: EndpointSlices for workloads outside the cluster, and their probes
 * (docs/features/endpoints.md).
 */

import type { Feature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import { serviceChart } from '../../machines/service/service.ts';
import { workloadChart } from '../../machines/workload/workload.ts';
import { workloadMessages } from './messages.ts';
import type { EndpointsSettings } from './start.ts';
import { watches } from './watches.ts';

export function endpoints(settings: EndpointsSettings = { endpointsPerSlice: 100 }): Feature {
  return {
    name: 'endpoints',
    // The feature `routes` declares the messages to a Service.
    kinds: [{ chart: serviceChart }, kindOf(workloadChart, workloadMessages)],
    watches,
    needs: [
      {
        apiGroup: 'discovery.k8s.io',
        resources: ['endpointslices'],
        verbs: ['create', 'patch', 'delete'],
        why: 'EndpointSlices for workloads outside the cluster',
      },
      {
        apiGroup: '',
        resources: ['services/finalizers'],
        verbs: ['update'],
        why: 'slices set blockOwnerDeletion on their Service',
      },
      {
        apiGroup: 'workload.linkerd.io',
        resources: ['externalworkloads', 'externalworkloads/status'],
        verbs: ['patch'],
        why: 'the condition Ready of probed workloads',
      },
    ],
    metrics: {
      orrery_endpointslice_writes_total: {
        type: 'counter',
        labels: ['operation'],
        help: 'EndpointSlice writes for workloads outside the cluster: create, update, delete.',
      },
      orrery_endpoints_stuck: {
        type: 'gauge',
        labels: [],
        help: 'Services of this replica whose EndpointSlices cannot be written now, after every retry.',
      },
      orrery_endpoints_stuck_total: {
        type: 'counter',
        labels: [],
        help: 'How often a Service used up all retries to write its EndpointSlices.',
      },
    },
    load: async () => (await import('./start.ts')).startEndpoints(settings),
  };
}
