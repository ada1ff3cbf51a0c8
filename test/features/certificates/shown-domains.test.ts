/** Domains that show the hosts of Services and Ingresses: docs/features/certificates.md §1.2. */
import { afterEach, describe, expect, test } from 'vitest';
import { type AnyDigest, asDigest, type SyncedDigest, type WorldEntry } from '../../../src/base/digests.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { createCertificatesJoin } from '../../../src/features/certificates/certificates-join.ts';
import { domainPart } from '../../../src/features/certificates/digest.ts';
import { ShownDomains } from '../../../src/features/certificates/shown-domains.ts';
import type { DomainFacts } from '../../../src/machines/domain/domain-facts.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const base = { resourceVersion: '1', createdAt: 0, deleting: false, labels: {}, generation: 1 };

/** A world that shows at once what stands in the API, and the join over it. */
class Scene {
  readonly clock = new VirtualClock(0);
  readonly objects = new Map<string, KubeObject>();
  /** The API refuses so many writes. */
  refusals = 0;
  /** The world does not show what is written. */
  isBlind = false;
  /** Namespaces whose quota is used up. */
  readonly full = new Set<string>();
  /** Namespaces in which a Domain was to be created, in turn. */
  readonly tried: string[] = [];
  readonly #entries = new Map<string, WorldEntry>();
  readonly #callbacks: Array<(entry: WorldEntry, before: AnyDigest | null) => void> = [];
  readonly #stated: Array<(mirror: string) => void> = [];
  readonly #world = {
    get: (resource: string, namespace: string, name: string) =>
      this.#entries.get(`${resource}/${namespace}/${name}`)?.digest ?? null,
    entries: (resource: string) => [...this.#entries.values()].filter((one) => one.resource === resource),
    statement: (mirror: string) =>
      asDigest<SyncedDigest>(this.#entries.get(`_synced//${mirror}`)?.digest ?? null, 'synced'),
    onChange: (callback: (entry: WorldEntry, before: AnyDigest | null) => void) =>
      void this.#callbacks.push(callback),
    onStatement: (callback: (mirror: string) => void) => void this.#stated.push(callback),
  };
  readonly join = createCertificatesJoin(this.#world);
  readonly shown: ShownDomains;

  constructor() {
    const kube = fakePort({
      get: async (_, namespace, name) => this.#existing(`${namespace}/${name}`),
      create: async (_, object) => {
        this.#refuse();
        const { namespace = '' } = object.metadata;
        this.tried.push(namespace);
        if (this.full.has(namespace)) throw new OrreryError('KUBE_REFUSED', 'exceeded quota');
        const key = `${namespace}/${object.metadata.name}`;
        if (this.objects.has(key)) throw new OrreryError('KUBE_CONFLICT', key);
        return this.apply(key, object);
      },
      patch: async (_, { namespace, name, body }) => {
        const key = `${namespace}/${name}`;
        const found = this.#existing(key);
        const { ownerReferences } = (body as KubeObject).metadata;
        return this.apply(key, { ...found, metadata: { ...found.metadata, ownerReferences } } as KubeObject);
      },
      delete: async (_, namespace, name) => {
        this.objects.delete(`${namespace}/${name}`);
        this.put('domains.orrery.dev', namespace ?? '', name, null);
      },
    });
    this.shown = new ShownDomains({ kube, world: this.#world, clock: this.clock, log: silentLog });
    this.shown.start();
  }

  #refuse(): void {
    if (this.refusals-- > 0) throw new OrreryError('KUBE_UNREACHABLE', 'away');
  }

  #existing(key: string): KubeObject {
    const found = this.objects.get(key);
    if (!found) throw new OrreryError('KUBE_NOT_FOUND', key);
    return found;
  }

  apply(key: string, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, uid: `uid-${key}` } };
    this.objects.set(key, stored);
    if (this.isBlind) return stored;
    const [namespace = '', name = ''] = key.split('/');
    this.put('domains.orrery.dev', namespace, name, {
      kind: 'domains',
      ...base,
      uid: `uid-${key}`,
      ...domainPart(stored),
    });
    return stored;
  }

  put(resource: string, namespace: string, name: string, digest: object | null): void {
    const key = `${resource}/${namespace}/${name}`;
    const before = this.#entries.get(key)?.digest ?? null;
    const entry = { resource, namespace, name, digest: digest as AnyDigest | null };
    if (digest === null) this.#entries.delete(key);
    else this.#entries.set(key, entry);
    this.join.fold(entry, before);
    for (const callback of this.#callbacks) callback(entry, before);
    if (resource === '_synced') for (const callback of this.#stated) callback(name);
  }

  async listed(): Promise<this> {
    for (const name of [
      'services',
      'orrery.dev/v1alpha1/Domain',
      'orrery.dev/v1alpha1/Issuer',
      'networking.k8s.io/v1/Ingress',
      'v1/Secret',
    ])
      this.put('_synced', '', name, { kind: 'synced', gates: [], resource: name });
    await this.settled();
    return this;
  }

  service(name: string, ...hosts: string[]): void {
    this.serviceIn('shop', name, hosts);
  }

  serviceIn(namespace: string, name: string, hosts: readonly string[]): void {
    const serve = { hosts, invalid: null };
    this.put('services', namespace, name, { kind: 'services', uid: `svc-${name}`, ...base, serve });
  }

  /** Nothing is left to be written. */
  async settled(): Promise<void> {
    await this.clock.advance(10_000);
  }

  facts(host: string): DomainFacts | null {
    return this.join.observe('domain', '_', host)?.facts as DomainFacts | null;
  }
}

const scenes: Scene[] = [];
const scene = async () => {
  const made = new Scene();
  scenes.push(made);
  return made.listed();
};
afterEach(() => {
  for (const one of scenes.splice(0)) one.shown.stop();
});

describe('§1.2: hosts of Services and Ingresses', () => {
  test('show as Domains that those own, and that are told like every other', async () => {
    const stage = await scene();
    stage.service('front', 'app.example.com', '*.example.org');
    await stage.settled();
    expect([...stage.objects.keys()].sort()).toEqual(['shop/app.example.com', 'shop/wildcard.example.org']);
    expect(stage.objects.get('shop/app.example.com')).toMatchObject({
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'front', uid: 'svc-front' }] },
      spec: { host: 'app.example.com', secretName: 'app.example.com' },
    });
    expect(stage.facts('app.example.com')?.sources.map(({ kind }) => kind)).toEqual(['Service', 'Domain']);
  });

  test('show though others are refused, which are tried less and less often until they fit', async () => {
    const stage = await scene();
    stage.full.add('crowd');
    const hosts = Array.from({ length: 100 }, (_, n) => `n${n}.example.com`);
    stage.serviceIn('crowd', 'many', hosts);
    stage.service('front', 'app.example.com');
    await stage.settled();
    expect([...stage.objects.keys()]).toEqual(['shop/app.example.com']);
    await stage.clock.advance(3_600_000);
    expect(stage.tried.filter((one) => one === 'crowd').length).toBeLessThan(30 * hosts.length);
    stage.full.clear();
    await stage.clock.advance(300_000);
    expect(stage.objects.size).toBe(101);
  });

  test('are not made again in a namespace that is being deleted, but in the next one of its name', async () => {
    const stage = await scene();
    stage.service('front', 'app.example.com');
    await stage.settled();
    const namespace = { kind: 'namespaces', ...base };
    stage.put('namespaces', '', 'shop', { ...namespace, uid: 'one', deleting: true });
    stage.objects.clear();
    stage.put('domains.orrery.dev', 'shop', 'app.example.com', null);
    await stage.settled();
    expect(stage.tried).toEqual(['shop']);
    stage.put('namespaces', '', 'shop', { ...namespace, uid: 'two' });
    await stage.settled();
    expect(stage.tried).toEqual(['shop', 'shop']);
  });

  test('show no more when nothing asks, and what is shown asks for nothing', async () => {
    const stage = await scene();
    stage.service('front', 'app.example.com');
    await stage.settled();
    stage.service('front');
    expect(stage.facts('app.example.com')).toBeNull();
    await stage.settled();
    expect(stage.objects.size).toBe(0);
  });

  test('are owned by all that ask in the namespace', async () => {
    const stage = await scene();
    stage.service('front', 'app.example.com');
    await stage.settled();
    stage.service('back', 'app.example.com');
    await stage.settled();
    expect(stage.objects.get('shop/app.example.com')?.metadata.ownerReferences).toHaveLength(2);
    expect(stage.objects.size).toBe(1);
  });

  test('are not shown beside a Domain of a person’s own; one of that name and another host is left alone', async () => {
    const stage = await scene();
    const own = (host: string) => ({
      metadata: { namespace: 'shop', name: 'app.example.com' },
      spec: { host },
    });
    stage.apply('shop/app.example.com', own('app.example.com'));
    stage.service('front', 'app.example.com');
    await stage.settled();
    expect(stage.objects.size).toBe(1);
    stage.apply('shop/app.example.com', own('other.example.com'));
    await stage.settled();
    expect(stage.objects.get('shop/app.example.com')).toMatchObject({ spec: { host: 'other.example.com' } });
    expect([...stage.objects.values()].map(({ spec }) => (spec as { host: string }).host).sort()).toEqual([
      'app.example.com',
      'other.example.com',
    ]);
  });

  test('are shown again when somebody edits what showed one to be for another host', async () => {
    const stage = await scene();
    stage.service('front', 'app.example.com');
    await stage.settled();
    const edited = stage.objects.get('shop/app.example.com') as KubeObject;
    stage.apply('shop/app.example.com', { ...edited, spec: { host: 'other.example.com' } });
    await stage.settled();
    expect([...stage.objects.values()]).toMatchObject([{ spec: { host: 'app.example.com' } }]);
  });

  test('are shown again when a deletion took a while', async () => {
    const stage = await scene();
    stage.service('front', 'app.example.com');
    await stage.settled();
    const deleting = { kind: 'domains', ...base, uid: 'uid-shop/app.example.com', deleting: true };
    const shown = stage.objects.get('shop/app.example.com') as KubeObject;
    stage.put('domains.orrery.dev', 'shop', 'app.example.com', { ...domainPart(shown), ...deleting });
    await stage.settled();
    stage.objects.delete('shop/app.example.com');
    stage.put('domains.orrery.dev', 'shop', 'app.example.com', null);
    await stage.clock.advance(60_000);
    expect(stage.objects.size).toBe(1);
  });

  test('are shown again when one is deleted before the world has shown it', async () => {
    const stage = await scene();
    stage.isBlind = true;
    stage.service('front', 'app.example.com');
    await stage.clock.advance(100);
    stage.objects.clear();
    stage.isBlind = false;
    await stage.settled();
    expect(stage.objects.size).toBe(1);
    const { length } = stage.tried;
    await stage.clock.advance(3_600_000);
    expect(stage.tried).toHaveLength(length);
  });

  test('are written once Kubernetes answers again', async () => {
    const stage = await scene();
    stage.refusals = 1;
    stage.service('front', 'app.example.com');
    await stage.settled();
    expect(stage.objects.size).toBe(1);
  });

  test('nothing is taken away before everything was listed', async () => {
    const stage = new Scene();
    scenes.push(stage);
    stage.apply('shop/app.example.com', {
      metadata: {
        namespace: 'shop',
        name: 'app.example.com',
        labels: { 'orrery.dev/shown': 'true' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'front', uid: 'svc-front' }],
      },
      spec: { host: 'app.example.com' },
    } as unknown as KubeObject);
    await stage.settled();
    expect(stage.objects.size).toBe(1);
    await stage.listed();
    expect(stage.objects.size).toBe(0);
  });
});
