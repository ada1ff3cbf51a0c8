/**
 * Pods, Services and RouteGates of a namespace as the checkers of routes know them: digests made from the
 * watches of a real API.
 */
import { startInformer } from '../../packages/dev-cluster/controllers/informer.ts';
import type { DevParts } from '../../packages/dev-cluster/parts.ts';
import type { KubeObject, KubeResource } from '../../src/base/kube-port.ts';
import { podPart, routeGatePart, servicePart } from '../../src/features/routes/digest.ts';
import { pods, routeGates } from '../../src/features/routes/resources.ts';
import { services } from '../../src/kube/api/resources.ts';
import { digestBase } from '../../src/kube/mirror/object-digest.ts';
import type { Digest } from '../sim/digest.ts';
import type { RoutesScene } from '../sim/routes-scene.ts';
import type { KubeEntry } from '../sim/sim-kube.ts';

export interface SeenRoutes {
  readonly kube: RoutesScene['kube'];
  readonly synced: Promise<unknown>;
  stop(): Promise<void>;
}

type Cut = (object: KubeObject) => Digest;

const watched: ReadonlyArray<readonly [KubeResource, Cut]> = [
  [pods, (object) => ({ kind: 'pods', ...digestBase(object), ...podPart(object, []) }) as Digest],
  [services, (object) => ({ kind: 'services', ...digestBase(object), ...servicePart(object) }) as Digest],
  [
    routeGates,
    (object) => ({ kind: 'routegates', ...digestBase(object), ...routeGatePart(object) }) as Digest,
  ],
];

export function seeRoutes(parts: DevParts & { readonly namespace: string }): SeenRoutes {
  const held = new Map<string, KubeEntry>();
  const listeners: Array<(entry: KubeEntry, before: Digest | null) => void> = [];
  const { namespace } = parts;
  const key = (resource: string, name: string) => `${resource}/${name}`;
  const tell = (resource: string, name: string, digest: Digest | null) => {
    const before = held.get(key(resource, name))?.digest ?? null;
    const entry = { resource, namespace, name, digest };
    if (digest === null) held.delete(key(resource, name));
    else held.set(key(resource, name), entry);
    for (const listener of listeners) listener(entry, before);
  };
  const informers = watched.map(([resource, cut]) =>
    startInformer<KubeObject>({
      ...parts,
      resource,
      onChange({ type, object }) {
        tell(resource.plural, object.metadata.name, type === 'set' ? cut(object) : null);
      },
    }),
  );
  return {
    synced: Promise.all(informers.map(({ synced }) => synced)),
    kube: {
      onChange: (listener) => void listeners.push(listener),
      get: (resource, _namespace, name) => held.get(key(resource, name))?.digest ?? null,
      entries: <K extends Digest['kind']>(kind: K) =>
        [...held.values()].filter(
          (entry): entry is KubeEntry & { readonly digest: Extract<Digest, { kind: K }> } =>
            entry.digest?.kind === kind,
        ),
    },
    stop: async () => void (await Promise.all(informers.map((informer) => informer.stop()))),
  };
}
