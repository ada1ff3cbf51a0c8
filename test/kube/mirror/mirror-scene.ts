import { World } from '../../../src/actors/world/world.ts';
import type { AnyDigest } from '../../../src/base/digests.ts';
import type { OrreryError } from '../../../src/base/errors.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { StoredMessage } from '../../../src/bus/bus.ts';
import { decode, encode } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import type { MergedWatch } from '../../../src/kube/mirror/merged-watch.ts';
import { createMirror, type LeftOut, type Mirror } from '../../../src/kube/mirror/mirror.ts';
import { createOptionalMirror } from '../../../src/kube/mirror/optional-mirror.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { FakeKube } from '../fake-kube.ts';
import { watchOf } from './declared.ts';

export const proxyGroups: KubeResource = {
  group: 'tailscale.com',
  version: 'v1alpha1',
  plural: 'proxygroups',
  kind: 'ProxyGroup',
  namespaced: false,
};

export function gate(
  more: { env?: { name: string; value: string }; group?: object; app?: string; generation?: number } = {},
) {
  return {
    generation: more.generation ?? 1,
    spec: {
      conditionType: 'example.com/routes',
      podSelector: { matchLabels: { app: more.app ?? 'web' } },
      group: { podLabel: 'group', serviceLabel: 'group' },
      serviceSelector: { matchLabels: { app: more.app ?? 'web' } },
      ...(more.group === undefined ? {} : { groupResource: more.group }),
      probe: { portName: 'health', ...(more.env === undefined ? {} : { onlyIfEnv: more.env }) },
    },
  };
}

export const pod = (app = 'web', env: unknown[] = []) => ({
  labels: { app },
  spec: { containers: [{ env }] },
});

/** One Kubernetes, one stream, and replicas that mirror. */
export class Scene {
  readonly clock = new VirtualClock();
  readonly kube = new FakeKube();
  readonly subjects = subjectsOf('test');
  readonly hub = memoryHub({ clock: this.clock, cluster: 'test' });
  readonly lost: string[] = [];
  readonly restarts: string[] = [];
  readonly lags: Array<readonly [string, number]> = [];
  readonly leftOut: LeftOut[] = [];
  /** Lines of the mirrors' log. */
  readonly said: string[] = [];
  /** Warnings in the logs of the mirrors. */
  readonly warnings: string[] = [];
  /** Everything ever stored in the world stream, in order. */
  readonly history: StoredMessage[] = [];
  /** How mirrors write what they publish. */
  pack = encode;
  #seed = 1;

  constructor() {
    this.hub.observe((stream, message) => {
      if (stream === 'world') this.history.push(message);
    });
  }

  async replica(name = 'one') {
    const bus = this.hub.connect(name);
    const world = new World({
      bus,
      subjects: this.subjects,
      clock: this.clock,
      log: { ...silentLog, error() {} },
      isAlive: () => true,
    });
    const starting = world.start();
    await this.clock.advance(100);
    await starting;
    const parts = (namespaces: readonly string[] | null) => ({
      kube: this.kube,
      bus,
      subjects: this.subjects,
      encode: (value: unknown) => this.pack(value),
      world: {
        entries: (resource: string) => world.entries(resource),
        onChange: (callback: Parameters<typeof world.onChange>[0]) => world.onChange(callback),
        ready: (_: string, sequence: number) => world.reached(sequence),
      },
      namespaces,
      clock: this.clock,
      random: seededRandom(this.#seed++),
      log: {
        ...silentLog,
        info: (_: object, text: string) => void this.said.push(text),
        warn: (facts: object, text: string) => void this.warnings.push(`${JSON.stringify(facts)} ${text}`),
      },
      metrics: {
        watchRestarts: (resource: string) => void this.restarts.push(resource),
        worldLag: (resource: string, seconds: number) => void this.lags.push([resource, seconds]),
      },
      onLeftOut: (object: LeftOut) => void this.leftOut.push(object),
      onLost: (error: OrreryError) => void this.lost.push(`${name} ${error.code}`),
    });
    return {
      bus,
      world,
      mirror: (
        resource: KubeResource,
        namespaces: readonly string[] | null = null,
        watch: MergedWatch = watchOf(resource),
      ) => createMirror({ ...parts(namespaces), watch, resource }),
      groupMirror: () =>
        createOptionalMirror({
          ...parts(null),
          watch: watchOf(proxyGroups),
          named: {
            apiVersion: 'tailscale.com/v1alpha1',
            kind: 'ProxyGroup',
            unread: ['tailscale.com/v1'],
          },
        }),
    };
  }

  /** Wins the fence of the mirror, whoever had it. */
  async fence(mirror: Mirror): Promise<number> {
    const client = this.hub.connect('winner');
    const { sequence } = await client.append(
      this.subjects.worldFence(mirror.name),
      encode({ owner: 'somebody' }),
    );
    return sequence;
  }

  async start(mirror: Mirror): Promise<void> {
    let isBegun = false;
    const begun = mirror.start(await this.fence(mirror)).then(() => {
      isBegun = true;
    });
    for (let round = 0; !isBegun && round < 200; round += 1) await this.clock.advance(50);
    await begun;
  }

  /** The stream's content: by `resource/namespace/name`, without tombstones. */
  world(): Record<string, AnyDigest> {
    const held: Record<string, AnyDigest> = {};
    for (const { subject, data } of this.history) {
      const parsed = this.subjects.parseWorld(subject);
      if (parsed === undefined) continue;
      const key = `${parsed.resource}/${parsed.namespace}/${parsed.name}`;
      const value = decode(data) as AnyDigest & { deleted?: boolean };
      if (value.deleted === true) delete held[key];
      else held[key] = value;
    }
    return held;
  }

  names(resource: string): string[] {
    return Object.keys(this.world())
      .filter((key) => key.startsWith(`${resource}/`))
      .sort();
  }

  get length(): number {
    return this.history.length;
  }
}

/** Everything published during `act`, as `resource/namespace/name` with `!` before tombstones. */
export async function published(scene: Scene, act: () => void): Promise<string[]> {
  const seen: string[] = [];
  const before = scene.length;
  act();
  await scene.clock.advance(1_000);
  for (const { subject, data } of scene.history.slice(before)) {
    const parsed = scene.subjects.parseWorld(subject);
    const { deleted } = decode(data) as { deleted?: boolean };
    if (parsed) seen.push(`${deleted ? '!' : ''}${parsed.resource}/${parsed.namespace}/${parsed.name}`);
  }
  return seen;
}

/** A scene with one gate in `shop`, mirrored, and a mirror of Pods. */
export async function withPods(setUp: (kube: FakeKube) => void = () => {}) {
  const scene = new Scene();
  scene.kube.put(routeGates, 'shop', 'gate', gate());
  setUp(scene.kube);
  const replica = await scene.replica();
  await scene.start(replica.mirror(routeGates));
  const mirror = replica.mirror(pods);
  await scene.start(mirror);
  return { scene, kube: scene.kube, replica, mirror };
}
