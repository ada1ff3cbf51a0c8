/**
 * The objects that EndpointSlices need in the world (I10): slices that are ours or another controller's for
 * external workloads, Services whose selector matches a workload outside the cluster, and Services that still
 * have such a slice.
 */
import type { Interest } from '../../actors/world/watch-declaration.ts';
import { asDigest, type Labels, type WorldEntry } from '../../base/digests.ts';
import type { EndpointSliceDigest, ServiceDigest, WorkloadDigest } from './digests.ts';
import { dropFrom, isOfWorkloads, isSelected, pairsOf, putIn, serviceOf } from './selection.ts';

export function ownSlices(): Interest {
  return {
    tellers: [],
    fold: () => 'nothing',
    wants(_namespace, _name, digest) {
      const slice = asDigest<EndpointSliceDigest>(digest, 'endpointslices');
      return slice !== null && isOfWorkloads(slice);
    },
  };
}

/** Follows workloads and slices. Once `wants` was asked about a Service, `fold` knows the Service. */
export function servicesOfWorkloads(): Interest {
  const labelsOf = new Map<string, Labels>();
  /** `<ns> <key>=<value>` → workloads with the label. */
  const byLabel = new Map<string, Set<string>>();
  const slices = createSliceOwners();
  /** `<ns> <key>=<value>` → Services whose selector has it as its first requirement; and the reverse. */
  const selecting = new Map<string, Set<string>>();
  const requirementOf = new Map<string, string>();

  const know = (namespace: string, name: string, service: ServiceDigest): string | undefined => {
    const key = `${namespace}/${name}`;
    const [first] = pairsOf(service.selecting?.selector);
    const requirement = first === undefined ? undefined : `${namespace} ${first}`;
    const before = requirementOf.get(key);
    if (before === requirement) return requirement;
    if (before !== undefined) dropFrom(selecting, before, name);
    if (requirement === undefined) requirementOf.delete(key);
    else {
      requirementOf.set(key, requirement);
      putIn(selecting, requirement, name);
    }
    return requirement;
  };
  const foldWorkload = ({ namespace, name, digest }: WorldEntry): readonly string[] => {
    const key = `${namespace}/${name}`;
    const before = labelsOf.get(key);
    const after = asDigest<WorkloadDigest>(digest, 'externalworkloads')?.labels;
    if (before !== undefined && after !== undefined && isSame(before, after)) return [];
    for (const pair of pairsOf(before)) dropFrom(byLabel, `${namespace} ${pair}`, key);
    for (const pair of pairsOf(after)) putIn(byLabel, `${namespace} ${pair}`, key);
    if (after === undefined) labelsOf.delete(key);
    else labelsOf.set(key, after);
    const pairs = new Set([...pairsOf(before), ...pairsOf(after)]);
    return [...pairs].flatMap((pair) => [...(selecting.get(`${namespace} ${pair}`) ?? [])]);
  };

  return {
    tellers: ['externalworkloads.workload.linkerd.io', 'endpointslices'],
    fold: (entry) => (entry.resource === 'endpointslices' ? slices.fold(entry) : foldWorkload(entry)),
    wants(namespace, name, digest) {
      const service = asDigest<ServiceDigest>(digest, 'services');
      if (service === null) return false;
      const requirement = know(namespace, name, service);
      if (slices.has(namespace, name)) return true;
      if (requirement === undefined) return false;
      for (const key of byLabel.get(requirement) ?? []) {
        if (isSelected(service, labelsOf.get(key) ?? {})) return true;
      }
      return false;
    },
  };
}

/** Which Services have slices that are ours or another controller's. */
function createSliceOwners() {
  /** `<ns>/<slice>` → the Service that owns it. */
  const owners = new Map<string, string>();
  /** `<ns>/<service>` → number of slices. */
  const counts = new Map<string, number>();
  return {
    has: (namespace: string, service: string) => counts.has(`${namespace}/${service}`),
    /** @returns the Services that it concerns */
    fold({ namespace, name, digest }: WorldEntry): readonly string[] {
      const key = `${namespace}/${name}`;
      const before = owners.get(key);
      const slice = asDigest<EndpointSliceDigest>(digest, 'endpointslices');
      const after = slice === null || !isOfWorkloads(slice) ? undefined : serviceOf(slice);
      if (before === after) return [];
      if (before !== undefined) count(counts, `${namespace}/${before}`, -1);
      if (after !== undefined) count(counts, `${namespace}/${after}`, 1);
      if (after === undefined) owners.delete(key);
      else owners.set(key, after);
      return [before, after].filter((service) => service !== undefined);
    },
  };
}

function isSame(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function count(map: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (map.get(key) ?? 0) + change;
  if (now === 0) map.delete(key);
  else map.set(key, now);
}
