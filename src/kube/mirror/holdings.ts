/**
 * Mirrors as holdings: each resource has one replica that lists and watches it and keeps the world up to
 * date.
 *
 * Owns the set of mirrors: one for each resource that features declare, and one for each kind that they name
 * at run time, for as long as they name it. Promise: one mirror for each resource, however many features
 * watch it.
 */
import type { Keeper } from '../../actors/feature.ts';
import type { HoldingSpec } from '../../actors/shards/holding.ts';
import type { Ownership } from '../../actors/shards/ownership.ts';
import type { NamedKind, NamedWatches } from '../../actors/world/watch-declaration.ts';
import type { WorldEntry } from '../../base/digests.ts';
import { asError } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';
import { kindText, type MergedWatch, mergeOne, type Watching, watchesOf } from './merged-watch.ts';
import { createMirror, type Mirror, type MirrorParts, type WorldReader } from './mirror.ts';
import { createOptionalMirror } from './optional-mirror.ts';

export interface HoldingParts extends Omit<MirrorParts, 'watch' | 'resource' | 'onLost'> {
  readonly features: readonly Watching[];
  /** By the name of the mirror: jobs that run beside it in its replica. */
  readonly keepers: Readonly<Record<string, Keeper>>;
  /** Called for every mirror, whether it runs here or not. */
  readonly onMirror?: (mirror: Mirror) => void;
  /** The kind is no longer named, and everything was given back. */
  readonly onMirrorForgotten?: (mirror: Mirror) => void;
}

/** Names of the mirrors whose first list makes a replica ready. */
export function neededMirrors(features: readonly Watching[]): string[] {
  return watchesOf(features).flatMap(({ isNeeded, mirror }) => (isNeeded ? [mirror] : []));
}

/** The definitions of those that are custom resources, by the name of the mirror. */
export function neededDefinitions(features: readonly Watching[]): ReadonlyMap<string, string> {
  return new Map(
    watchesOf(features).flatMap(({ isNeeded, mirror, resource }) => {
      if (!isNeeded || !('plural' in resource) || !isCustom(resource.group)) return [];
      return [[mirror, `${resource.plural}.${resource.group}`] as const];
    }),
  );
}

/** Kubernetes' own groups have no dot, or end like this. */
const isCustom = (group: string) => group.includes('.') && !group.endsWith('.k8s.io');

/** Holdings of the resources that features declare. @throws Error if two features contradict each other */
export function declaredHoldings(parts: HoldingParts, ownership: () => Ownership): HoldingSpec[] {
  return watchesOf(parts.features).map((watch) => holding(parts, ownership, watch));
}

/** Starts and stops mirrors of the kinds that features name at run time. */
export function followNamedKinds(parts: HoldingParts, ownership: Ownership): void {
  const { features, world } = parts;
  const naming = features.flatMap(({ namedWatches }) => namedWatches ?? []);
  const shared = watchesOf(features).filter(({ apart }) => apart === null);
  const declared = new Set(shared.map(({ resource }) => kindText(resource)));
  const known = new Map<string, HoldingSpec>();
  const hearing = new Map<string, (entry: WorldEntry) => void>();
  let wanted = wantedBy(naming, world);
  const begin = (kind: string, named: NamedKind): HoldingSpec => {
    const watch = mergeOne(naming.map(({ declare }) => declare(named)));
    const heard: WorldListener[] = [];
    hearing.set(kind, (entry) => {
      for (const listener of heard) listener(entry);
    });
    const own = {
      ...parts,
      world: { ...world, onChange: (listener: WorldListener) => void heard.push(listener) },
    };
    return holding(own, () => ownership, watch, {
      isWanted: () => wanted.has(kind),
      onForgotten() {
        known.delete(kind);
        hearing.delete(kind);
      },
    });
  };
  const update = () => {
    wanted = wantedBy(naming, world);
    for (const [kind, named] of wanted) {
      if (declared.has(kind)) continue;
      const spec = known.get(kind) ?? begin(kind, named);
      known.set(kind, spec);
      ownership.add(spec);
    }
    for (const [kind, spec] of known) if (!wanted.has(kind)) ownership.remove(spec.name);
  };
  world.onChange((entry) => {
    for (const hear of [...hearing.values()]) hear(entry);
    if (naming.some(({ tellers }) => tellers.includes(entry.resource))) update();
  });
  update();
}

function wantedBy(naming: readonly NamedWatches[], world: WorldReader): Map<string, NamedKind> {
  const wanted = naming.flatMap((one) => [...one.wanted((resource) => world.entries(resource))]);
  return new Map(wanted.map((named) => [kindText(named), named]));
}

function mirrorOf(parts: HoldingParts, watch: MergedWatch, onLost: () => void): Mirror {
  const { label, resource } = watch;
  const kube = label === null ? parts.kube : labelled(parts.kube, label);
  const options = { ...parts, kube, watch, onLost };
  return 'plural' in resource
    ? createMirror({ ...options, resource })
    : createOptionalMirror({ ...options, named: resource });
}

type WorldListener = (entry: WorldEntry) => void;

/** A kind that may stop being named. */
interface Named {
  isWanted(): boolean;
  onForgotten(): void;
}

function holding(
  parts: HoldingParts,
  ownership: () => Ownership,
  watch: MergedWatch,
  named?: Named,
): HoldingSpec {
  const name = `watch/${watch.mirror}`;
  const mirror = mirrorOf(parts, watch, () => ownership().fenced(name));
  parts.onMirror?.(mirror);
  const keeper = parts.keepers[mirror.name];
  let current = 0;
  // The end of an old term must not end the new one.
  const end = (fence: number) => {
    if (fence !== current) return;
    current = 0;
    keeper?.stop();
    mirror.stop();
  };
  return {
    name,
    stream: 'world',
    fenceSubject: parts.subjects.worldFence(mirror.name),
    ...(watch.apart ? { feature: watch.apart } : {}),
    work: {
      // The first list may take as long as the API server is away; the watch chart retries it, so nobody
      // waits for it here.
      load: async (fence) => {
        end(current);
        current = fence;
        mirror.start(fence).catch((error) => {
          if (fence !== current) return;
          const facts = { resource: mirror.name, error: asError(error).message };
          parts.log.warn(facts, 'the mirror ended before its first list; claiming it again');
          ownership().fenced(name);
        });
      },
      open: () => {
        keeper?.start();
      },
      drain: async (fence) => {
        if (fence === current && named?.isWanted() === false) await mirror.retire(fence);
        end(fence);
      },
      drop: end,
    },
    onForgotten() {
      named?.onForgotten();
      // It no longer runs here, so its metrics are removed.
      void mirror.retire(0);
      parts.onMirrorForgotten?.(mirror);
    },
  };
}

/** A view of the API server that contains only objects with a label; the server itself filters them. */
function labelled(kube: KubePort, label: string): KubePort {
  return {
    ...kube,
    list: (resource, options, signal) => kube.list(resource, { ...options, labelSelector: label }, signal),
    watch: (resource, options, onEvent, signal) =>
      kube.watch(resource, { ...options, labelSelector: label }, onEvent, signal),
  };
}
