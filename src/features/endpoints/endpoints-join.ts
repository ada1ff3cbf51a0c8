/**
 * The join of EndpointSlices: what the world tells Services about their slices, and workloads outside the
 * cluster about themselves.
 *
 * A Service is told two tokens, one for the desired slices and one for the present ones. A pass reads the
 * contents from the index when it runs, so records stay small however many endpoints there are. Nothing is
 * told until workloads and slices are mirrored completely, because an endpoint whose workload is not listed
 * yet must not be removed.
 */

import type { Join, Observation } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import { unreachability } from '../../base/address.ts';
import type { Clock } from '../../base/clock.ts';
import { type AnyDigest, asDigest, type WorldEntry } from '../../base/digests.ts';
import type { EndpointsFacts } from '../../machines/service/slices-events.ts';
import type { WorkloadFacts } from '../../machines/workload/workload-facts.ts';
import type { EndpointSliceDigest, ServiceDigest, WorkloadDigest } from './digests.ts';
import { EndpointsIndex, endpointsPerSliceDefault } from './endpoints-index.ts';
import { isDnsLabel } from './packing/desired.ts';

export interface EndpointsJoin extends Join {
  readonly index: EndpointsIndex;
}

/** What must have been listed. */
const neededResources = ['services', 'endpointslices', 'workload.linkerd.io/v1beta1/ExternalWorkload'];

export function createEndpointsJoin(parts: {
  readonly world: Pick<World, 'statement' | 'isWhole' | 'whole'>;
  readonly clock: Clock;
  /** The other controller whose slices are adopted; absent: none. */
  readonly takeOver?: string | null;
  readonly endpointsPerSlice?: number;
  /** Called with the id of an actor to be told again, though the world has not changed. */
  readonly onLapsed?: (id: string) => void;
}): EndpointsJoin {
  const { world, clock, takeOver = null, endpointsPerSlice = endpointsPerSliceDefault, onLapsed } = parts;
  const isListed = () => neededResources.every((resource) => world.statement(resource) !== null);
  // While the stream is read after an interruption, an object that moved within it may look gone.
  const isComplete = () => world.isWhole && isListed();
  const index = new EndpointsIndex({
    ...{ clock, isComplete, takeOver, endpointsPerSlice },
    whole: (signal) => world.whole(signal),
    ...(onLapsed === undefined ? {} : { onLapsed }),
  });
  return {
    index,
    kinds: ['service', 'workload'],
    fold(entry, before) {
      return fold(index, entry, before, isComplete());
    },
    *members() {
      for (const id of index.members())
        if (!id.startsWith('workload/') || isWorkloadCalledFor(index, id)) yield id;
    },
    observe(kind, namespace, name): Observation | null {
      if (!isListed()) return null;
      return kind === 'service'
        ? { type: 'service.endpoints.observed', facts: endpointsFacts(index, namespace, name) }
        : { type: 'workload.observed', facts: workloadFacts(index, namespace, name) };
    },
  };
}

function fold(index: EndpointsIndex, entry: WorldEntry, before: AnyDigest | null, isLive: boolean): string[] {
  const { namespace, name, digest } = entry;
  switch (digest?.kind ?? before?.kind) {
    case 'services':
      return index.setService(namespace, name, asDigest<ServiceDigest>(digest, 'services'));
    case 'externalworkloads':
      return index.setWorkload(
        namespace,
        name,
        asDigest<WorkloadDigest>(digest, 'externalworkloads'),
        isLive,
      );
    case 'endpointslices':
      return index.setSlice(namespace, name, asDigest<EndpointSliceDigest>(digest, 'endpointslices'));
    default:
      return [];
  }
}

function endpointsFacts(index: EndpointsIndex, namespace: string, name: string): EndpointsFacts | null {
  const service = index.serviceOf(namespace, name);
  if (service === null || !index.isCalledFor(namespace, name)) return null;
  return {
    uid: service.uid,
    selects: service.selecting !== undefined,
    ...index.tokens(namespace, name),
    empty: index.isEmpty(namespace, name),
    otherWriter: index.otherWriter(namespace, name),
  };
}

function isWorkloadCalledFor(index: EndpointsIndex, id: string): boolean {
  const [, namespace = '', name = ''] = id.split('/');
  return workloadFacts(index, namespace, name) !== null;
}

/** A workload has an actor if it is to be probed, or if it has a problem that people should hear of. */
function workloadFacts(index: EndpointsIndex, namespace: string, name: string): WorkloadFacts | null {
  const digest = index.workload(namespace, name);
  if (digest === null) return null;
  const problems = problemsOf(index, namespace, name, digest);
  if (digest.probe === null && problems.length === 0) return null;
  const { uid, deleting, addresses, invalid, probe, ready } = digest;
  return { uid, deleting, addresses: invalid.length > 0 ? [] : addresses, probe, ready, problems };
}

function problemsOf(
  index: EndpointsIndex,
  namespace: string,
  name: string,
  digest: WorkloadDigest,
): string[] {
  const { addresses, invalid } = digest;
  const unpublished = invalid.map(
    (ip) => `address "${ip}" cannot be published: it is ${unreachability(ip) ?? 'malformed'}`,
  );
  const missing =
    addresses.length + invalid.length === 0 ? ['the workload has no address (spec.workloadIPs)'] : [];
  const headless = isDnsLabel(name) ? [] : index.headlessServices(namespace, name);
  const hostnames = headless.map(
    (service) =>
      `headless Service ${service} lists the workload without a hostname: its name is not a DNS label`,
  );
  return [...missing, ...unpublished, ...hostnames];
}
