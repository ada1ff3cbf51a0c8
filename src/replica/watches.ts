/**
 * The watches of Kubernetes as holdings: for each kind of object one replica lists and watches it and keeps the world up to date.
 *
 * Owns which kinds are watched: those that every cluster has and Orrery needs, those that may not be installed, and those that
 * RouteGates name as owners of groups.
 */

import type { Keeper } from '../actors/feature.ts';
import type { HoldingSpec, Ownership } from '../actors/shards/ownership.ts';
import type { World } from '../actors/world/world.ts';
import type { Clock } from '../base/clock.ts';
import type { WorldEntry } from '../base/digests.ts';
import { asError } from '../base/errors.ts';
import type { KubePort } from '../base/kube-port.ts';
import type { Log } from '../base/log-port.ts';
import type { Random } from '../base/random.ts';
import { type Tracing, traceHeader } from '../base/tracing.ts';
import type { Bus } from '../bus/bus.ts';
import { encode } from '../bus/codec.ts';
import type { Subjects } from '../bus/subjects.ts';
import { secrets } from '../features/certificates/resources.ts';
import { nodes } from '../features/proxiers/resources.ts';
import { pods, routeGates } from '../features/routes/resources.ts';
import { labelled } from '../kube/api/labelled.ts';
import { endpointSlices, services } from '../kube/api/resources.ts';
import { createMirror, type Mirror, type MirrorMetrics } from '../kube/mirror/mirror.ts';
import { createOptionalMirror } from '../kube/mirror/optional-mirror.ts';

export interface WatchParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubePort;
  readonly world: World;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MirrorMetrics;
  readonly namespaces: readonly string[] | null;
  /** By the name of the mirror: what its replica keeps beside it. */
  readonly keepers: Readonly<Record<string, Keeper>>;
  /** Absent: no traces are wanted. */
  readonly tracing?: Tracing | undefined;
  /** Told of every mirror, whether it runs here or not. */
  readonly onMirror?: (mirror: Mirror) => void;
}

/** A kind as a manifest names it. */
interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Kinds that every cluster has, and our own that nothing works without. */
const constantKinds = [routeGates, pods, services, endpointSlices, nodes];
/** Kinds that are watched as soon as the cluster has them; without them it has no objects of the kind. */
const optionalKinds: readonly NamedKind[] = [
  { apiVersion: 'orrery.dev/v1alpha1', kind: 'Issuer' },
  { apiVersion: 'orrery.dev/v1alpha1', kind: 'Domain' },
  { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' },
  { apiVersion: 'workload.linkerd.io/v1beta1', kind: 'ExternalWorkload' },
  { apiVersion: 'orrery.dev/v1alpha1', kind: 'Election' },
];

/** Mirrors whose first list makes a replica ready. */
export const neededMirrors = ['routegates', 'pods', 'services', 'endpointslices'];

/** Holdings of the kinds that are always watched. */
export function constantWatches(parts: WatchParts, ownership: () => Ownership): HoldingSpec[] {
  const constant = constantKinds.map((resource) =>
    holding(parts, ownership, (onLost) => createMirror({ ...mirrorOptions(parts, onLost), resource })),
  );
  // Of Secrets those alone that hold a certificate of ours; the API server leaves out all others.
  const ours = holding(parts, ownership, (onLost) => {
    const options = mirrorOptions(parts, onLost);
    return createMirror({ ...options, kube: labelled(parts.kube, 'orrery.dev/domain'), resource: secrets });
  });
  return [...constant, ours, ...optionalKinds.map((named) => optionalHolding(parts, ownership, named))];
}

function optionalHolding(parts: WatchParts, ownership: () => Ownership, named: NamedKind): HoldingSpec {
  return holding(parts, ownership, (onLost) =>
    createOptionalMirror({ ...mirrorOptions(parts, onLost), ...named }),
  );
}

/** Begins and ends watches of group resources as RouteGates come and go. */
export function followNamedKinds(parts: WatchParts, ownership: Ownership): void {
  const known = new Map<string, HoldingSpec>();
  const update = () => {
    const wanted = groupKinds(parts.world);
    for (const [key, named] of wanted) {
      const spec = known.get(key) ?? optionalHolding(parts, () => ownership, named);
      known.set(key, spec);
      ownership.add(spec);
    }
    for (const [key, spec] of known) if (!wanted.has(key)) ownership.remove(spec.name);
  };
  parts.world.onChange((entry) => {
    if (entry.resource === 'routegates') update();
  });
  update();
}

function groupKinds(world: World): Map<string, NamedKind> {
  const kinds = new Map<string, NamedKind>();
  for (const { digest } of world.entries('routegates')) {
    if (digest?.kind !== 'routegates' || 'invalid' in digest.spec || digest.spec.groupResource === null)
      continue;
    const { apiVersion, kind } = digest.spec.groupResource;
    const isWatchedAnyway = optionalKinds.some((one) => one.apiVersion === apiVersion && one.kind === kind);
    if (!isWatchedAnyway) kinds.set(`${apiVersion}/${kind}`, { apiVersion, kind });
  }
  return kinds;
}

function mirrorOptions(parts: WatchParts, onLost: () => void) {
  const { world } = parts;
  return {
    ...parts,
    bus: parts.tracing ? tracedStore(parts.bus, parts.tracing) : parts.bus,
    encode,
    onLost,
    world: {
      entries: (resource: string): Iterable<WorldEntry> => world.entries(resource),
      onChange: (callback: (entry: WorldEntry) => void) => world.onChange(callback),
      ready: (_resource: string, sequence: number) => world.reached(sequence),
    },
  };
}

/** A change's trace begins where it goes into the world. */
function tracedStore(bus: Bus, tracing: Tracing): Pick<Bus, 'append' | 'onStatus'> {
  return {
    onStatus: (callback) => bus.onStatus(callback),
    async append(subject, data, options = {}) {
      const span = tracing.start('watch', { attributes: { 'messaging.destination.name': subject } });
      const headers = { ...options.headers, [traceHeader]: span.context };
      try {
        const appended = await bus.append(subject, data, { ...options, headers });
        span.end();
        return appended;
      } catch (error) {
        span.end(asError(error).message);
        throw error;
      }
    },
  };
}

function holding(
  parts: WatchParts,
  ownership: () => Ownership,
  create: (onLost: () => void) => Mirror,
): HoldingSpec {
  const mirror: Mirror = create(() => ownership().fenced(`watch/${mirror.name}`));
  parts.onMirror?.(mirror);
  const keeper = parts.keepers[mirror.name];
  let current = 0;
  // The end of an old reign must not end the new one.
  const end = (fence: number) => {
    if (fence !== current) return;
    current = 0;
    keeper?.stop();
    mirror.stop();
  };
  return {
    name: `watch/${mirror.name}`,
    stream: 'world',
    fenceSubject: parts.subjects.worldFence(mirror.name),
    work: {
      // The first list may take as long as the API server is away; the watch chart retries it, so nobody waits for it here.
      load: async (fence) => {
        end(current);
        current = fence;
        mirror.start(fence).catch((error) => {
          if (fence !== current) return;
          const facts = { resource: mirror.name, error: asError(error).message };
          parts.log.warn(facts, 'the mirror ended before its first list; it is claimed anew');
          ownership().fenced(`watch/${mirror.name}`);
        });
      },
      open: () => {
        keeper?.start();
      },
      drain: async (fence) => end(fence),
      drop: end,
    },
  };
}
