/**
 * What the world says to the actors of RouteGates: that there is one, and that something stirred which its status
 * may tell of.
 *
 * Promises: an actor is told once that something stirred, and not again before it has looked; a thousand Pods that
 * change in one second are one word to it.
 * Absent: what is to be told of it (gate-look.ts).
 */
import type { Affected, Join } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import { type AnyDigest, asDigest, type WorldEntry } from '../../base/digests.ts';
import type { RouteGateDigest } from './digests.ts';

export interface GateJoin extends Join {
  /** The RouteGate is being looked at: what stirs from now on is told. @returns the token that stands */
  look(namespace: string, name: string): string;
}

interface Stirring {
  count: number;
  /** It was looked at since it stirred last. */
  isSeen: boolean;
}

/** Objects that a status tells of. */
const kindsThatTell: readonly string[] = ['pods', 'services'];

export function createGateJoin(parts: {
  readonly world: Pick<World, 'get' | 'statement'>;
  /** Of the replica: its tokens are like no other's. */
  readonly incarnation: string;
  /** Everything was listed that the RouteGate asks for. */
  readonly isComplete: (namespace: string, name: string) => boolean;
}): GateJoin {
  const { world, incarnation, isComplete } = parts;
  /** Namespace → names. */
  const gates = new Map<string, Set<string>>();
  const stirrings = new Map<string, Stirring>();
  const stirringOf = (key: string): Stirring => {
    const known = stirrings.get(key) ?? { count: 0, isSeen: false };
    stirrings.set(key, known);
    return known;
  };
  // That the last list has come stirs as well.
  const tokenOf = (namespace: string, name: string) => {
    const { count } = stirringOf(`${namespace}/${name}`);
    return `${incarnation}.${count}${isComplete(namespace, name) ? '' : '~'}`;
  };

  const stir = (namespace: string, into: Affected): Affected => {
    for (const name of gates.get(namespace) ?? []) {
      const stirring = stirringOf(`${namespace}/${name}`);
      if (!stirring.isSeen) continue;
      stirring.count += 1;
      stirring.isSeen = false;
      into.add(`routegate/${namespace}/${name}`);
    }
    return into;
  };
  const setGate = ({ namespace, name, digest }: WorldEntry): Affected => {
    const names = gates.get(namespace) ?? new Set();
    gates.set(namespace, names);
    if (digest === null) {
      names.delete(name);
      stirrings.delete(`${namespace}/${name}`);
      if (names.size === 0) gates.delete(namespace);
    } else names.add(name);
    // Which Pods another one holds depends on it, too.
    return stir(namespace, new Set([`routegate/${namespace}/${name}`]));
  };

  return {
    kinds: ['routegate'],
    fold(entry, before) {
      const { namespace, digest } = entry;
      const kind = (digest ?? before)?.kind ?? '';
      if (kind === 'routegates') return setGate(entry);
      if (kindsThatTell.includes(kind)) return stir(namespace, new Set());
      return new Set();
    },
    *members() {
      for (const [namespace, names] of gates)
        for (const name of names) yield `routegate/${namespace}/${name}`;
    },
    observe(_kind, namespace, name) {
      const digest = routeGateOf(world.get('routegates', namespace, name));
      if (digest === null)
        return world.statement('routegates') === null ? null : { type: 'routegate.observed', facts: null };
      const { uid, generation, spec } = digest;
      const invalid = 'invalid' in spec ? spec.invalid : null;
      const facts = { uid, generation, invalid, stirred: tokenOf(namespace, name) };
      const isWhole = invalid !== null || isComplete(namespace, name);
      return { type: 'routegate.observed', facts, ...(isWhole ? {} : { isPartial: true }) };
    },
    look(namespace, name) {
      stirringOf(`${namespace}/${name}`).isSeen = true;
      return tokenOf(namespace, name);
    },
  };
}

const routeGateOf = (digest: AnyDigest | null): RouteGateDigest | null =>
  asDigest<RouteGateDigest>(digest, 'routegates');
