/**
 * Which Services the world holds for the sake of EndpointSlices (I10): those whose selector matches a workload outside the cluster, and
 * those of which a slice of ours is left.
 *
 * Folds what the world says of workloads and of slices. Absent: Services of groups (interest.ts).
 */
import { type Digest, type Labels, type ServiceDigest, selects, type WorldEntry } from '../digests.ts';

/** Whether the need for an object of that name may have changed. */
export type IsMeant = (name: string, digest: Digest) => boolean;

export interface WorkloadInterest {
  /** @returns the Services of the entry's namespace to look at again; null: none */
  fold(entry: WorldEntry): IsMeant | null;
  wants(namespace: string, name: string, service: ServiceDigest): boolean;
}

/** The resources whose entries it folds. */
export const workloadResources = ['externalworkloads.workload.linkerd.io', 'endpointslices'] as const;

export function createWorkloadInterest(): WorkloadInterest {
  const labelsOf = new Map<string, Labels>();
  /** `<ns> <key>=<value>` → workloads with the label. */
  const byLabel = new Map<string, Set<string>>();
  /** `<ns>/<slice>` → the Service that it is of. */
  const sliceOwners = new Map<string, string>();
  const slicesOf = new Map<string, number>();

  const foldWorkload = ({ namespace, name, digest }: WorldEntry): IsMeant | null => {
    const key = `${namespace}/${name}`;
    const before = labelsOf.get(key);
    const after = digest?.kind === 'externalworkloads' ? digest.labels : undefined;
    if (before !== undefined && after !== undefined && isSame(before, after)) return null;
    for (const pair of pairsOf(before)) drop(byLabel, `${namespace} ${pair}`, key);
    for (const pair of pairsOf(after)) put(byLabel, `${namespace} ${pair}`, key);
    if (after === undefined) labelsOf.delete(key);
    else labelsOf.set(key, after);
    return (_, one) =>
      one.kind === 'services' &&
      [before, after].some((labels) => labels !== undefined && isSelected(one, labels));
  };
  const foldSlice = ({ namespace, name, digest }: WorldEntry): IsMeant | null => {
    const key = `${namespace}/${name}`;
    const before = sliceOwners.get(key);
    const after = digest?.kind === 'endpointslices' ? ownerOf(digest) : undefined;
    if (before === after) return null;
    if (before !== undefined) count(slicesOf, `${namespace}/${before}`, -1);
    if (after !== undefined) count(slicesOf, `${namespace}/${after}`, 1);
    if (after === undefined) sliceOwners.delete(key);
    else sliceOwners.set(key, after);
    return (service) => service === before || service === after;
  };

  return {
    fold: (entry) => (entry.resource === 'endpointslices' ? foldSlice(entry) : foldWorkload(entry)),
    wants(namespace, name, service) {
      if (slicesOf.has(`${namespace}/${name}`)) return true;
      const [first] = pairsOf(service.selecting?.selector);
      if (first === undefined) return false;
      for (const key of byLabel.get(`${namespace} ${first}`) ?? []) {
        if (isSelected(service, labelsOf.get(key) ?? {})) return true;
      }
      return false;
    },
  };
}

function isSelected({ selecting }: ServiceDigest, labels: Labels): boolean {
  return selecting !== undefined && selects({ matchLabels: selecting.selector }, labels);
}

/** The Service of a slice of ours: its owner, for somebody may have changed the label. */
function ownerOf({ managed, service }: Extract<Digest, { kind: 'endpointslices' }>): string | undefined {
  if (managed === undefined) return undefined;
  const owner = managed.ownerReferences.find(({ kind }) => kind === 'Service')?.name;
  return typeof owner === 'string' ? owner : service;
}

function pairsOf(labels: Labels | undefined): string[] {
  return Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
}

function isSame(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function put(map: Map<string, Set<string>>, key: string, member: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(member));
}

function drop(map: Map<string, Set<string>>, key: string, member: string): void {
  const members = map.get(key);
  members?.delete(member);
  if (members?.size === 0) map.delete(key);
}

function count(map: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (map.get(key) ?? 0) + change;
  if (now === 0) map.delete(key);
  else map.set(key, now);
}
