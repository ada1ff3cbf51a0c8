/** A world that the test writes, and a router over it: what would each actor be told? */

import { createRouter, type Router } from '../../../src/actors/world/router.ts';
import { World } from '../../../src/actors/world/world.ts';
import { encode } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import type {
  EndpointSliceDigest,
  GroupResourceDigest,
  PodDigest,
  RouteGateDigest,
  ServiceDigest,
} from '../../../src/features/routes/digests.ts';
import type { RouteGateSpec } from '../../../src/features/routes/route-gate.ts';
import { createRoutesJoin } from '../../../src/features/routes/routes-join.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import type { ServiceFacts } from '../../../src/machines/service/route-facts.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { gateSpec } from '../harness.ts';
import { MirrorStandIn } from '../mirror-stand-in.ts';

const base = { resourceVersion: '1', createdAt: 0, deleting: false };

export const gateDigest = (
  spec: Partial<RouteGateSpec> = {},
  change: Partial<RouteGateDigest> = {},
): RouteGateDigest => ({
  kind: 'routegates',
  ...base,
  uid: 'gate-uid',
  labels: {},
  generation: 1,
  spec: { ...gateSpec, ...spec },
  ...change,
});
export const podDigest = (change: Partial<PodDigest> = {}): PodDigest => ({
  kind: 'pods',
  ...base,
  uid: 'pod-uid',
  labels: { app: 'web', group: 'one' },
  address: { ip: '10.0.0.1', family: 'IPv4' },
  readinessGates: ['example.com/routes'],
  conditions: {},
  matchedEnv: [],
  ...change,
});
export const serviceDigest = (change: Partial<ServiceDigest> = {}): ServiceDigest => ({
  kind: 'services',
  ...base,
  uid: 'service-uid',
  labels: { routed: 'yes', group: 'one' },
  clusterIPs: [{ ip: '10.1.0.1', family: 'IPv4' }],
  ports: [{ name: 'health', port: 80, protocol: 'TCP' }],
  ...change,
});
export const sliceDigest = (service: string, ...readyAddresses: string[]): EndpointSliceDigest => ({
  kind: 'endpointslices',
  ...base,
  uid: 'slice-uid',
  labels: {},
  service,
  readyAddresses,
});
export const ownerDigest = (fields: GroupResourceDigest['fields'] = {}): GroupResourceDigest => ({
  kind: 'groupresource',
  ...base,
  uid: 'owner-uid',
  labels: {},
  resource: 'owners.example.com',
  fields,
});

export const ownedBy = (change: object = {}): NonNullable<RouteGateSpec['groupResource']> => ({
  apiVersion: 'example.com/v1',
  kind: 'Owner',
  require: {},
  replicas: null,
  ...change,
});

/** Resources about which every RouteGate needs a statement. */
export const needed = ['pods', 'services', 'endpointslices'];

type Append = (resource: string, namespace: string, name: string, digest: object | null) => Promise<unknown>;

export class WorldScene {
  readonly router: Router;
  /** Ids that were reported as affected since the last look. */
  readonly #affected = new Set<string>();
  readonly #clock = new VirtualClock();
  readonly #append: Append;

  private constructor(start: (clock: VirtualClock) => { router: Router; append: Append }) {
    const { router, append } = start(this.#clock);
    this.router = router;
    this.#append = append;
    router.onAffected((ids) => {
      for (const id of ids) this.#affected.add(id);
    });
  }

  static async start(): Promise<WorldScene> {
    let started: Promise<void> = Promise.resolve();
    const scene = new WorldScene((clock) => {
      const subjects = subjectsOf('test');
      const bus = memoryHub({ clock, cluster: 'test' }).connect('one');
      const mirror = new MirrorStandIn({ bus, subjects, clock });
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const world = new World({ bus, subjects, clock, log, isAlive: () => true });
      started = world.start();
      const router = createRouter(world, [createRoutesJoin({ world, clusterDomain: () => 'cluster.local' })]);
      return {
        router,
        append: async (resource, namespace, name, digest) => {
          if (resource === '_synced' && digest !== null) return mirror.state(name, digest);
          return bus.append(subjects.world(resource, namespace, name), encode(digest ?? { deleted: true }));
        },
      };
    });
    await scene.#clock.advance(10);
    await started;
    return scene;
  }

  /** Objects of namespace `shop`, unless the name has its own: `pods/web-0`, `owners.example.com//one`. */
  async put(objects: Readonly<Record<string, object | null>>): Promise<this> {
    for (const [path, digest] of Object.entries(objects)) {
      const [resource = '', namespaceOrName = '', name] = path.split('/');
      await this.#append(
        resource,
        name === undefined ? 'shop' : namespaceOrName,
        name ?? namespaceOrName,
        digest,
      );
    }
    await this.#clock.advance(5);
    return this;
  }

  /** The mirrors state that everything is there for these RouteGates. */
  async synced(
    gates: readonly string[] = ['gate-uid/1'],
    resources: readonly string[] = needed,
  ): Promise<this> {
    for (const resource of ['routegates', ...resources]) {
      await this.#append('_synced', '', resource, { kind: 'synced', gates, resource });
    }
    await this.#clock.advance(5);
    return this;
  }

  /** @param resource of the objects; null: the kind does not exist */
  async ownersSynced(resource: string | null = 'owners.example.com', gates = ['gate-uid/1']): Promise<this> {
    await this.#append('_synced', '', 'example.com/v1/Owner', { kind: 'synced', gates, resource });
    await this.#clock.advance(5);
    return this;
  }

  /** undefined: nothing can be said. */
  pod(name = 'web-0', namespace = 'shop'): PodFacts | null | undefined {
    const [observation] = this.router.observe('pod', namespace, name);
    return observation && (observation.facts as PodFacts | null);
  }

  service(name = 'web', namespace = 'shop'): ServiceFacts | null | undefined {
    const [observation] = this.router.observe('service', namespace, name);
    return observation && (observation.facts as ServiceFacts | null);
  }

  affected(): string[] {
    const ids = [...this.#affected].sort();
    this.#affected.clear();
    return ids;
  }
}

/** A RouteGate, one Pod `web-0` and one Service `web`, completely mirrored. */
export async function shop(spec: Partial<RouteGateSpec> = {}): Promise<WorldScene> {
  const scene = await WorldScene.start();
  await scene.put({
    'routegates/gate': gateDigest(spec),
    'pods/web-0': podDigest(),
    'services/web': serviceDigest(),
  });
  return scene.synced();
}
