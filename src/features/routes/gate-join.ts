/**
 * The join of RouteGates: tells their actors that they exist, and that something changed that their status
 * may report.
 *
 * Promise: an actor hears of changes once, and not again before it has looked, so a thousand Pods that change
 * within a second are one message. Absent: what to report (gate-look.ts).
 */
import type { Affected, Join } from '../../actors/world/join.ts';
import { createStatusJoin } from '../../actors/world/status-join.ts';
import type { World } from '../../actors/world/world.ts';
import { type AnyDigest, asDigest, type SyncedDigest } from '../../base/digests.ts';
import type { RouteGateDigest } from './digests.ts';

export interface GateJoin extends Join {
  /**
   * Notes that the RouteGate is being looked at: changes from now on are told again.
   * @returns its present token
   */
  look(namespace: string, name: string): string;
  /** A refused gate may get the place of a deleted one, in any namespace (gate-bounds.ts). */
  noteRefused(namespace: string, name: string, isRefused: boolean): void;
}

/** Kinds of objects that a status reports on. */
const kindsThatTell: readonly string[] = ['pods', 'services', 'groupresource'];

export function createGateJoin(parts: {
  readonly world: Pick<World, 'get' | 'statement'>;
  /** The replica's own, so that no other replica makes the same tokens. */
  readonly incarnation: string;
  /** Whether everything that the RouteGate asks for has been listed. */
  readonly isComplete: (namespace: string, name: string) => boolean;
}): GateJoin {
  const { world, incarnation, isComplete } = parts;
  const stirrings = createStirrings();
  // The token changes with the arrival of the last list, too.
  const tokenOf = (namespace: string, name: string) =>
    `${incarnation}.${stirrings.count(namespace, name)}${isComplete(namespace, name) ? '' : '~'}`;
  return {
    kinds: ['routegate'],
    fold({ namespace, name, digest }, before) {
      const kind = (digest ?? before)?.kind ?? '';
      if (kind === 'routegates') {
        if (!isSame(digest, before)) return stirrings.setGate(namespace, name, digest !== null);
        return isSaidAnew(digest, before) ? [`routegate/${namespace}/${name}`] : [];
      }
      if (kind === 'synced') return resourceOf(digest) === resourceOf(before) ? [] : stirrings.stir('');
      return kindsThatTell.includes(kind) ? stirrings.stir(namespace) : [];
    },
    members: () => stirrings.members(),
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
      stirrings.see(namespace, name);
      return tokenOf(namespace, name);
    },
    noteRefused: stirrings.noteRefused,
  };
}

/** What the status of the object says, for its actor to compare with what it wrote. */
export const createGateStatusJoin = (world: Pick<World, 'get'>): Join =>
  createStatusJoin('routegate', (namespace, name) => routeGateOf(world.get('routegates', namespace, name)));

const isSaidAnew = (digest: AnyDigest | null, before: AnyDigest | null): boolean =>
  routeGateOf(digest)?.said !== routeGateOf(before)?.said;

/** What a statement says that a kind is called by the cluster; null: it has no such kind. */
const resourceOf = (digest: AnyDigest | null): string | null =>
  asDigest<SyncedDigest>(digest, 'synced')?.resource ?? null;

/** Whether only the status differs: then nothing has to be counted. */
function isSame(digest: AnyDigest | null, before: AnyDigest | null): boolean {
  const [is, was] = [routeGateOf(digest), routeGateOf(before)];
  if (is === null || was === null) return false;
  return is.uid === was.uid && is.generation === was.generation && is.deleting === was.deleting;
}

interface Stirring {
  count: number;
  isRefused: boolean;
  /** It was looked at since the last change. */
  isSeen: boolean;
}

/** The RouteGates that exist, and how often something changed for each. */
function createStirrings() {
  /** By namespace, then by name. */
  const gates = new Map<string, Map<string, Stirring>>();
  const stirIn = (namespace: string, affected: Affected, isMeant = (_: Stirring) => true): void => {
    for (const [name, stirring] of gates.get(namespace) ?? []) {
      if (!stirring.isSeen || !isMeant(stirring)) continue;
      stirring.count += 1;
      stirring.isSeen = false;
      affected.add(`routegate/${namespace}/${name}`);
    }
  };
  /** @param namespace of what changed; none: gates of every namespace may name it */
  const stir = (namespace: string): Affected => {
    const affected: Affected = new Set();
    for (const one of namespace === '' ? gates.keys() : [namespace]) stirIn(one, affected);
    return affected;
  };
  const stirRefused = (into: Affected): Affected => {
    for (const namespace of gates.keys()) stirIn(namespace, into, ({ isRefused }) => isRefused);
    return into;
  };
  return {
    stir,
    setGate(namespace: string, name: string, isThere: boolean): Affected {
      const inside = gates.get(namespace) ?? new Map<string, Stirring>();
      if (isThere) inside.set(name, inside.get(name) ?? { count: 0, isSeen: false, isRefused: false });
      else inside.delete(name);
      if (inside.size > 0) gates.set(namespace, inside);
      else gates.delete(namespace);
      // The namespace's other gates may hold other Pods now, and refused ones may get a place.
      return stirRefused(stir(namespace)).add(`routegate/${namespace}/${name}`);
    },
    noteRefused(namespace: string, name: string, isRefused: boolean): void {
      const stirring = gates.get(namespace)?.get(name);
      if (stirring) stirring.isRefused = isRefused;
    },
    see(namespace: string, name: string): void {
      const stirring = gates.get(namespace)?.get(name);
      if (stirring) stirring.isSeen = true;
    },
    count: (namespace: string, name: string): number => gates.get(namespace)?.get(name)?.count ?? 0,
    *members(): Iterable<string> {
      for (const [namespace, inside] of gates)
        for (const name of inside.keys()) yield `routegate/${namespace}/${name}`;
    },
  };
}

const routeGateOf = (digest: AnyDigest | null): RouteGateDigest | null =>
  asDigest<RouteGateDigest>(digest, 'routegates');
