/** The Kubernetes resources that this feature watches. */
import type { NamedWatches, WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import { endpointSlices, services } from '../../kube/api/resources.ts';
import {
  type EnvPair,
  type GroupFields,
  groupPart,
  podPart,
  routeGatePart,
  servicePart,
  slicePart,
} from './digest.ts';
import { gateBounds } from './gate-bounds.ts';
import { groupInterest, podInterest, serviceInterest, sliceInterest } from './interest.ts';
import { pods, routeGates } from './resources.ts';

const watchedPods: WatchDeclaration<readonly EnvPair[]> = {
  resource: pods,
  name: 'pods',
  needed: true,
  digest: podPart,
  interest: podInterest,
};

export const watches: readonly WatchDeclaration[] = [
  { resource: routeGates, name: 'routegates', needed: true, digest: routeGatePart },
  watchedPods,
  { resource: services, name: 'services', needed: true, digest: servicePart, interest: serviceInterest },
  {
    resource: endpointSlices,
    name: 'endpointslices',
    needed: true,
    digest: slicePart,
    interest: sliceInterest,
  },
];

/** The kinds that RouteGates name as owners of their groups. */
export const namedWatches: NamedWatches = {
  tellers: ['routegates'],
  wanted: (entries) => gateBounds(entries('routegates')).kinds,
  declare(named): WatchDeclaration<GroupFields> {
    return { resource: named, digestKind: 'groupresource', digest: groupPart, interest: groupInterest };
  },
};
