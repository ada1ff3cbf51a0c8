/**
 * Which objects the world holds, as RouteGates ask for them (I10), and what their digests must tell.
 *
 * Pods: those that the podSelector of a gate in their namespace selects, gated or not. Services: those that a serviceSelector
 * in their namespace selects, those that EndpointSlices of ours are made of (workload-interest.ts), and
 * those that want hosts served. EndpointSlices: those of a
 * Service, in namespaces with a gate, and all of ours. RouteGates, and the kinds that other
 * charts are made of (`isWhole`): all. Group resources: all objects of the kind in namespaces with a gate that names it, or in the whole cluster if they have none.
 * Absent: everything else. The version of a gate is that of `actors/groups.ts`: `<uid>/<generation>`.
 */
import {
  type Digest,
  type ResourceName,
  type RouteGateSpec,
  selects,
  type WorldEntry,
} from '../../base/digests.ts';
import { createWorkloadInterest, workloadResources } from '../../features/endpoints/workload-interest.ts';
import type { KubeResource } from '../api/port.ts';
import { type DigestInterest, type EnvPair, isWhole, pairText } from './digest.ts';

/** The name of a watched resource: `pods`, `services`, `endpointslices`, `routegates`, else `<plural>.<group>`. */
export function resourceName({ group, plural }: KubeResource): ResourceName {
  const isOwnName = ownNames[plural] === group;
  return isOwnName || group === '' ? plural : `${plural}.${group}`;
}

/** `v1`, `tailscale.com/v1alpha1`. */
export function apiVersionOf({ group, version }: KubeResource): string {
  return group === '' ? version : `${group}/${version}`;
}

/**
 * The name of a mirror: of the fence that it holds and of the statement that it makes. The resource's name; for a group resource
 * `<apiVersion>/<kind>`, as RouteGates name it.
 */
export function mirrorName(resource: KubeResource): string {
  return ownNames[resource.plural] === resource.group
    ? resource.plural
    : `${apiVersionOf(resource)}/${resource.kind}`;
}

const ownNames: Readonly<Record<string, string>> = {
  pods: '',
  services: '',
  endpointslices: 'discovery.k8s.io',
  routegates: 'orrery.dev',
  nodes: '',
};

export interface Interest {
  /**
   * Takes news of a RouteGate, of a workload, of a slice. `digests`: what digests of its namespace must tell has changed; `wanted`:
   * what is wanted may have; names: the same, of those objects.
   */
  fold(entry: WorldEntry): 'digests' | 'wanted' | 'nothing' | readonly string[];
  /** Whether the world needs the object. */
  wants(namespace: string, name: string, digest: Digest): boolean;
  /** What a digest of an object of this namespace must tell. */
  digestsOf(namespace: string): DigestInterest;
  /** `<uid>/<generation>` of the RouteGates that are folded in, sorted. */
  versions(): readonly string[];
}

interface Gate {
  readonly version: string;
  readonly spec: RouteGateSpec;
}

/** By namespace, then by name. */
type Gates = Map<string, Map<string, Gate>>;

/** The interest in objects of one resource, from the RouteGates that are folded in. */
export function createInterest(resource: KubeResource): Interest {
  const name = resourceName(resource);
  const gates: Gates = new Map();
  const told = new Map<string, DigestInterest>();
  const workloads = name === 'services' ? createWorkloadInterest() : null;

  const digestsOf = (namespace: string) => {
    const known = told.get(namespace);
    if (known !== undefined) return known;
    const asked = digestInterest([...gatesFor(gates, resource, namespace)], resource);
    told.set(namespace, asked);
    return asked;
  };

  return {
    fold(entry) {
      if (isOneOf(workloadResources, entry.resource)) return workloads?.fold(entry) ?? 'nothing';
      if (entry.resource !== 'routegates') return 'nothing';
      const before = gates.get(entry.namespace)?.get(entry.name);
      const after = gateOf(entry.digest);
      if (before?.version === after?.version) return 'nothing';
      const toldBefore = interestText(digestsOf(entry.namespace));
      putGate(gates, entry, after);
      // What cluster-scoped objects must tell depends on the gates of every namespace.
      told.clear();
      return interestText(digestsOf(entry.namespace)) === toldBefore ? 'wanted' : 'digests';
    },
    wants(namespace, objectName, digest) {
      if (isWhole(name) || (digest.kind === 'endpointslices' && digest.managed !== undefined)) return true;
      if (digest.kind === 'services' && digest.serve !== undefined) return true;
      if (digest.kind === 'services' && workloads?.wants(namespace, objectName, digest)) return true;
      for (const { spec } of gatesFor(gates, resource, namespace))
        if (isWantedBy(spec, digest, resource)) return true;
      return false;
    },
    digestsOf,
    versions: () =>
      [...gates.values()]
        .flatMap((inNamespace) => [...inNamespace.values()].map(({ version }) => version))
        .sort(),
  };
}

/** The resources whose entries say what the world needs. */
export const tellingResources = ['routegates', ...workloadResources] as const;

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

function interestText({ envPairs, fieldPaths }: DigestInterest): string {
  return JSON.stringify([envPairs.map(pairText), fieldPaths]);
}

/** A gate that cannot be used, or that is being deleted, asks for nothing. */
function gateOf(digest: Digest | null): Gate | undefined {
  if (digest?.kind !== 'routegates' || digest.deleting || 'invalid' in digest.spec) return undefined;
  return { version: `${digest.uid}/${digest.generation}`, spec: digest.spec };
}

function putGate(gates: Gates, { namespace, name }: WorldEntry, gate: Gate | undefined): void {
  const inNamespace = gates.get(namespace) ?? new Map<string, Gate>();
  if (gate === undefined) inNamespace.delete(name);
  else inNamespace.set(name, gate);
  if (inNamespace.size === 0) gates.delete(namespace);
  else gates.set(namespace, inNamespace);
}

function* gatesFor(gates: Gates, resource: KubeResource, namespace: string): Iterable<Gate> {
  if (resource.namespaced) yield* gates.get(namespace)?.values() ?? [];
  else for (const inNamespace of gates.values()) yield* inNamespace.values();
}

function isWantedBy(gate: RouteGateSpec, digest: Digest, resource: KubeResource): boolean {
  switch (digest.kind) {
    case 'pods':
      return selects(gate.podSelector, digest.labels);
    case 'services':
      return selects(gate.serviceSelector, digest.labels);
    case 'endpointslices':
      return digest.service !== '';
    case 'groupresource':
      return names(gate, resource);
    default:
      return false;
  }
}

function names({ groupResource }: RouteGateSpec, resource: KubeResource): boolean {
  return groupResource?.kind === resource.kind && groupResource.apiVersion === apiVersionOf(resource);
}

function digestInterest(gates: readonly Gate[], resource: KubeResource): DigestInterest {
  const pairs = new Map<string, EnvPair>();
  const paths = new Set<string>();
  for (const { spec: gate } of gates) {
    const pair = gate.probe.onlyIfEnv;
    if (pair !== null) pairs.set(pairText(pair), pair);
    if (gate.groupResource === null || !names(gate, resource)) continue;
    for (const path of Object.keys(gate.groupResource.require)) paths.add(path);
    if (gate.groupResource.replicas !== null) paths.add(gate.groupResource.replicas.path);
  }
  const sorted = [...pairs.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair);
  return { envPairs: resourceName(resource) === 'pods' ? sorted : [], fieldPaths: [...paths].sort() };
}
