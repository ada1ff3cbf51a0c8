/**
 * Which RouteGates exceed the bounds on their number and on the kinds that they name as owners. Pure.
 *
 * Each kind costs a mirror in some replica, and each gate an actor for each Pod that it selects. Without
 * bounds, anyone who may write RouteGates could use up everybody's memory. Promises: the oldest gates stay in
 * use, so a new one displaces none. A namespace has bounds of its own, so it does not use up those of others.
 * To name a kind that is already mirrored costs nothing.
 */

import type { NamedKind } from '../../actors/world/watch-declaration.ts';
import { asDigest, type WorldEntry } from '../../base/digests.ts';
import { limits } from '../../base/limits.ts';
import type { RouteGateDigest } from './digests.ts';
import { type Gate, gateOf } from './gate.ts';

export interface Refusal {
  readonly reason: 'TooManyRouteGates' | 'TooManyKinds';
  /** What exceeds the bound, and what to do about it. */
  readonly message: string;
}

export const byAge = (a: Gate, b: Gate) => a.createdAt - b.createdAt || (placeOf(a) < placeOf(b) ? -1 : 1);

const placeOf = ({ namespace, name }: Pick<Gate, 'namespace' | 'name'>) => `${namespace}/${name}`;

export function gateBounds(entries: Iterable<WorldEntry>) {
  const gates = [...entries].flatMap(({ namespace, name, digest }) => {
    const gate = gateOf(namespace, name, asDigest<RouteGateDigest>(digest, 'routegates'));
    return gate === null ? [] : [gate];
  });
  const refused = new Map<string, Refusal>();
  const kinds = new Map<string, NamedKind>();
  const ofNamespace = new Map<string, { gates: number; kinds: number }>();
  for (const gate of gates.sort(byAge)) {
    const counts = ofNamespace.get(gate.namespace) ?? { gates: 0, kinds: 0 };
    ofNamespace.set(gate.namespace, counts);
    counts.gates++;
    const isTooMany = counts.gates > limits.routeGatesPerNamespace;
    const refusal = isTooMany ? tooManyGates : admitKind(gate, kinds, counts);
    if (refusal !== null) refused.set(placeOf(gate), refusal);
  }
  return {
    /** The kinds that are mirrored for RouteGates. */
    kinds: [...kinds.values()],
    /** Why the gate is not in use; null if it is. */
    refusalOf: (namespace: string, name: string): Refusal | null =>
      refused.get(placeOf({ namespace, name })) ?? null,
  };
}

/** Admits the gate's kind if there is room. */
function admitKind(
  { spec: { groupResource } }: Gate,
  kinds: Map<string, NamedKind>,
  counts: { kinds: number },
): Refusal | null {
  if (groupResource === null) return null;
  const { apiVersion, kind } = groupResource;
  const text = `${apiVersion}/${kind}`;
  if (kinds.has(text)) return null;
  if (counts.kinds >= limits.groupKindsPerNamespace) return tooManyKindsHere;
  if (kinds.size >= limits.groupKinds) return tooManyKinds;
  counts.kinds++;
  kinds.set(text, { apiVersion, kind });
  return null;
}

const tooManyGates: Refusal = {
  reason: 'TooManyRouteGates',
  message: `not in use: a namespace can use ${limits.routeGatesPerNamespace} RouteGates, the oldest first; delete older ones`,
};
const tooManyKindsHere: Refusal = {
  reason: 'TooManyKinds',
  message: `not in use: the RouteGates of a namespace may name at most ${limits.groupKindsPerNamespace} kinds in spec.groupResource, the oldest first`,
};
const tooManyKinds: Refusal = {
  reason: 'TooManyKinds',
  message: `not in use: the RouteGates of the cluster already name ${limits.groupKinds} kinds in spec.groupResource, the maximum`,
};
