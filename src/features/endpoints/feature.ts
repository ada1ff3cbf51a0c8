/**
 * The feature `endpoints`: EndpointSlices for workloads outside the cluster, and their probes
 * (docs/features/endpoints.md).
 */

import * as v from 'valibot';
import type { Feature } from '../../actors/feature.ts';
import { kindOf, type MessageOptions } from '../../actors/kind.ts';
import type { WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import { endpointSlices, services } from '../../kube/api/resources.ts';
import { serviceChart } from '../../machines/service/service.ts';
import { workloadChart } from '../../machines/workload/workload.ts';
import { servicePart, slicePart, workloadPart } from './digest.ts';
import { ownSlices, servicesOfWorkloads } from './interest.ts';
import type { EndpointsSettings } from './start.ts';

const watches: readonly WatchDeclaration[] = [
  { resource: services, name: 'services', digest: servicePart, interest: servicesOfWorkloads },
  { resource: endpointSlices, name: 'endpointslices', digest: slicePart, interest: ownSlices },
  {
    resource: {
      apiVersion: 'workload.linkerd.io/v1beta1',
      kind: 'ExternalWorkload',
      unread: ['workload.linkerd.io/v1alpha1'],
    },
    digest: workloadPart,
  },
];

const workloadMessages: MessageOptions = {
  messages: { 'workload.recheck': v.pipe(v.object({}), v.description('probes now')) },
};

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
      orrery_endpoints_contested_total: {
        type: 'counter',
        labels: [],
        help: 'How often a revert of EndpointSlices waited, because others keep changing them.',
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
