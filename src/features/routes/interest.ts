/**
 * Which objects the world holds for RouteGates (I10), and what their digests must contain.
 *
 * Pods: those that the podSelector of a gate in their namespace selects, gated or not, and those that wait
 * for the condition of one. Services: those that a serviceSelector in their namespace selects.
 * EndpointSlices: those of a Service, in namespaces with a gate.
 * Group resources: all objects of the kind in namespaces with a gate that names it, or in the whole cluster
 * if the kind has no namespaces.
 */
import type { Interest, NamedKind } from '../../actors/world/watch-declaration.ts';
import { asDigest, type ObjectDigest, selects } from '../../base/digests.ts';
import type { KubeResource } from '../../base/kube-port.ts';
import { apiVersionOf, resourceName } from '../../kube/mirror/merged-watch.ts';
import { type EnvPair, type GroupFields, pairText } from './digest.ts';
import type { EndpointSliceDigest, PodDigest } from './digests.ts';
import { type Gate, gateOf, isAwaiting } from './gate.ts';
import type { RouteGateSpec } from './route-gate.ts';

interface Asking<Asked> {
  /** Whether a RouteGate wants an object of its namespace. */
  wants(gate: RouteGateSpec, digest: ObjectDigest): boolean;
  /** What digests must contain, given the RouteGates of their namespace. */
  asks(gates: readonly RouteGateSpec[]): Asked;
}

export function podInterest(resource: KubeResource): Interest<readonly EnvPair[]> {
  return createGateInterest(resource, {
    wants: ({ podSelector, conditionType }, digest) =>
      selects(podSelector, digest.labels) || isWaitingFor(conditionType, digest),
    asks: envPairs,
  });
}

export function serviceInterest(resource: KubeResource): Interest<null> {
  return createGateInterest(resource, {
    wants: ({ serviceSelector }, { labels }) => selects(serviceSelector, labels),
    asks: () => null,
  });
}

export function sliceInterest(resource: KubeResource): Interest<null> {
  return createGateInterest(resource, {
    wants: (_gate, digest) => (asDigest<EndpointSliceDigest>(digest, 'endpointslices')?.service ?? '') !== '',
    asks: () => null,
  });
}

/** @param resource the kind's; it has no plural while the cluster does not have the kind */
export function groupInterest(resource: KubeResource): Interest<GroupFields> {
  const named = { apiVersion: apiVersionOf(resource), kind: resource.kind };
  return createGateInterest(resource, {
    wants: (gate) => owns(gate, named),
    asks: (gates) => ({ resource: resourceName(resource), paths: fieldPaths(gates, named) }),
  });
}

function isWaitingFor(conditionType: string, digest: ObjectDigest): boolean {
  const pod = asDigest<PodDigest>(digest, 'pods');
  return pod !== null && isAwaiting(pod, conditionType);
}

/** The interest in objects of one resource, from the RouteGates that were folded in. */
function createGateInterest<Asked>(
  { namespaced }: KubeResource,
  { wants, asks }: Asking<Asked>,
): Interest<Asked> {
  /** By namespace, then by name. */
  const gates = new Map<string, Map<string, Gate>>();
  const askers = new Map<string, { readonly gates: readonly RouteGateSpec[]; readonly asked: Asked }>();
  /** The gates of every namespace ask for objects that have none. */
  const askersOf = (namespace: string) => {
    const known = askers.get(namespace);
    if (known !== undefined) return known;
    const inside = namespaced ? [gates.get(namespace)] : [...gates.values()];
    const specs = inside.flatMap((one) => [...(one?.values() ?? [])].map(({ spec }) => spec));
    const made = { gates: specs, asked: asks(specs) };
    askers.set(namespace, made);
    return made;
  };
  return {
    tellers: ['routegates'],
    fold({ namespace, name, digest }) {
      const before = gates.get(namespace)?.get(name) ?? null;
      const after = gateOf(namespace, name, digest);
      if (before?.version === after?.version) return 'nothing';
      const askedBefore = JSON.stringify(askersOf(namespace).asked);
      put(gates, namespace, name, after);
      askers.clear();
      return JSON.stringify(askersOf(namespace).asked) === askedBefore ? 'wanted' : 'digests';
    },
    wants: (namespace, _name, digest) => askersOf(namespace).gates.some((gate) => wants(gate, digest)),
    asked: (namespace) => askersOf(namespace).asked,
    versions: () => [...gates.values()].flatMap((inside) => [...inside.values()].map((one) => one.version)),
  };
}

function put(
  gates: Map<string, Map<string, Gate>>,
  namespace: string,
  name: string,
  gate: Gate | null,
): void {
  const inside = gates.get(namespace) ?? new Map<string, Gate>();
  if (gate === null) inside.delete(name);
  else inside.set(name, gate);
  if (inside.size === 0) gates.delete(namespace);
  else gates.set(namespace, inside);
}

function owns({ groupResource }: RouteGateSpec, { apiVersion, kind }: NamedKind): boolean {
  return groupResource?.kind === kind && groupResource.apiVersion === apiVersion;
}

function envPairs(gates: readonly RouteGateSpec[]): readonly EnvPair[] {
  const pairs = gates.flatMap(({ probe }) => probe.onlyIfEnv ?? []);
  const distinct = new Map(pairs.map((pair) => [pairText(pair), pair]));
  return [...distinct.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair);
}

function fieldPaths(gates: readonly RouteGateSpec[], named: NamedKind): readonly string[] {
  const paths = gates
    .filter((gate) => owns(gate, named))
    .flatMap(({ groupResource }) => [
      ...Object.keys(groupResource?.require ?? {}),
      ...(groupResource?.replicas ? [groupResource.replicas.path] : []),
    ]);
  return [...new Set(paths)].sort();
}
