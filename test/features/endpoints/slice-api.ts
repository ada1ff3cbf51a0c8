/**
 * EndpointSlices of an API server in memory, as far as a pass uses it, and the index that the pass reads;
 * failures as the test says.
 */

import { jsonPatch } from '../../../packages/kube-api/patching/json-patch.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort, PatchOptions } from '../../../src/base/kube-port.ts';
import { sliceDigest } from '../../../src/features/endpoints/digest.ts';
import type { ServiceDigest, WorkloadDigest } from '../../../src/features/endpoints/digests.ts';
import { reconcileSlices } from '../../../src/features/endpoints/effects/endpoint-slices.ts';
import { EndpointsIndex } from '../../../src/features/endpoints/endpoints-index.ts';
import type { SlicesReconcile } from '../../../src/machines/service/slices-effects.ts';
import type { SlicesFailed, SlicesReconciled } from '../../../src/machines/service/slices-events.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';

type Operation = 'create' | 'patch' | 'delete';

const base = { resourceVersion: '1', createdAt: Date.UTC(2026, 0, 1), deleting: false };

export const service: ServiceDigest = {
  kind: 'services',
  ...base,
  uid: 'web-uid',
  labels: {},
  selecting: {
    selector: { app: 'vm' },
    families: ['IPv4'],
    headless: false,
    publishNotReady: false,
    ports: [{ name: 'http', protocol: 'TCP', appProtocol: null, target: 8080 }],
  },
};

export function workload(n: number, change: Partial<WorkloadDigest> = {}): WorkloadDigest {
  return {
    kind: 'externalworkloads',
    ...base,
    uid: `vm-${n}-uid`,
    labels: { app: 'vm' },
    addresses: [{ ip: `10.0.${n >> 8}.${n & 255}`, family: 'IPv4' }],
    invalid: [],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ready: 'True',
    readyAt: Date.UTC(2026, 0, 2),
    probe: null,
    ...change,
  };
}

export class SliceApi {
  readonly clock = new VirtualClock();
  readonly index: EndpointsIndex;
  readonly #takeOver: string | null;
  isComplete = true;
  /** A picture that is being read waits for this. */
  whole: Promise<void> = Promise.resolve();
  readonly objects = new Map<string, KubeObject>();
  readonly calls: string[] = [];
  /** Thrown instead of performing the operation. */
  failing: (operation: Operation, name: string) => OrreryError | undefined = () => undefined;
  /** Thrown instead of the answer, after the operation was performed. */
  losing: (operation: Operation, name: string) => OrreryError | undefined = () => undefined;
  /** Called before a call is performed. */
  before: (operation: Operation, name: string) => void = () => {};
  /** What admission makes of a slice before it is stored. */
  admit: (object: KubeObject) => KubeObject = (object) => object;
  max = 100;
  #version = 100;
  #pass = 0;

  constructor(workloads = 3, takeOver: string | null = null) {
    this.#takeOver = takeOver;
    this.index = new EndpointsIndex({
      clock: this.clock,
      isComplete: () => this.isComplete,
      whole: () => this.whole,
      takeOver,
      endpointsPerSlice: 100,
    });
    this.index.setService('shop', 'web', service);
    for (let n = 0; n < workloads; n++) this.index.setWorkload('shop', `vm-${n}`, workload(n), false);
  }

  /** Echoes all present slices. */
  echo(): void {
    for (const [name, object] of this.objects) this.index.setSlice('shop', name, sliceDigest(object));
  }

  put(object: KubeObject): KubeObject {
    const { name, uid = `uid-${name}-${this.#version}` } = object.metadata;
    const metadata = { ...object.metadata, uid, resourceVersion: `${++this.#version}` };
    const stored = { ...object, metadata };
    this.objects.set(name, stored);
    return stored;
  }

  /** Runs a pass to its end. */
  async pass(change: Partial<SlicesReconcile> = {}, key?: string): Promise<SlicesReconciled | SlicesFailed> {
    this.#pass += 1;
    const effect: SlicesReconcile = {
      type: 'endpoint-slices.reconcile',
      namespace: 'shop',
      name: 'web',
      pass: this.#pass,
      gather: { quietMs: 0, maxMs: 0 },
      version: '',
      since: 0,
      series: this.#pass,
      compact: false,
      ...change,
    };
    const run = reconcileSlices({
      kube: this.port(),
      clock: this.clock,
      scene: () => this.index,
      endpointsPerSlice: this.max,
      takeOver: this.#takeOver,
      onWrite: () => {},
    });
    const { signal } = new AbortController();
    const outcome = run(effect, {
      key: key ?? `service/shop/web/${this.#pass}/0`,
      actor: 'service/shop/web',
      signal,
      emit: () => {},
    });
    let isOver = false;
    outcome.finally(() => {
      isOver = true;
    });
    while (!isOver) await this.clock.advance(1);
    return (await outcome) as SlicesReconciled | SlicesFailed;
  }

  /** Endpoints by slice. */
  stand(): Record<string, string[]> {
    return Object.fromEntries(
      [...this.objects].map(([name, { endpoints }]) => [
        name,
        (endpoints as Array<{ targetRef: { name: string } }>).map(({ targetRef }) => targetRef.name),
      ]),
    );
  }

  port(): KubePort {
    const enter = (operation: Operation, name: string) => {
      this.before(operation, name);
      this.calls.push(`${operation} ${name}`);
      const failure = this.failing(operation, name);
      if (failure) throw failure;
    };
    return fakePort({
      list: async (_resource, { limit = 500, continue: from = '' }) => {
        this.calls.push('list');
        const all = [...this.objects.values()];
        const end = Number(from) + limit;
        const items = all.slice(Number(from), end);
        return { resourceVersion: `${this.#version}`, continue: end < all.length ? `${end}` : '', items };
      },
      get: async (_resource, _namespace, name) => this.#held(name),
      create: async (_resource, object) => {
        enter('create', object.metadata.name);
        if (this.objects.has(object.metadata.name)) throw new OrreryError('KUBE_CONFLICT', 'it is there');
        const made = this.put(this.admit(object));
        const lost = this.losing('create', object.metadata.name);
        if (lost) throw lost;
        return made;
      },
      patch: async (_resource, { name, body }: PatchOptions) => {
        enter('patch', name);
        const held = this.#held(name);
        const next = jsonPatch(held as never, body as never) as unknown as KubeObject;
        if (next.metadata.resourceVersion !== held.metadata.resourceVersion)
          throw new OrreryError('KUBE_CONFLICT', 'another version');
        return this.put(this.admit(next));
      },
      delete: async (_resource, _namespace, name) => {
        enter('delete', name);
        this.#held(name);
        this.objects.delete(name);
      },
    });
  }

  #held(name: string): KubeObject {
    const held = this.objects.get(name);
    if (!held) throw new OrreryError('KUBE_NOT_FOUND', `there is no ${name}`);
    return held;
  }
}
