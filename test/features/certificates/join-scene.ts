/** A world of Domains, Issuers, Secrets and Namespaces, and the join of hosts over it. */
import type { AnyDigest, WorldEntry } from '../../../src/base/digests.ts';
import { createCertificatesJoin } from '../../../src/features/certificates/certificates-join.ts';
import type { DomainFacts, RivalFacts } from '../../../src/machines/domain/domain-facts.ts';

export const base = { resourceVersion: '1', createdAt: 0, deleting: false, labels: {}, generation: 1 };
const needed = [
  'services',
  'orrery.dev/v1alpha1/Domain',
  'orrery.dev/v1alpha1/Issuer',
  'networking.k8s.io/v1/Ingress',
  'v1/Secret',
];

export class Scene {
  readonly #entries = new Map<string, WorldEntry>();
  readonly #listed = new Set<string>();
  readonly join = createCertificatesJoin({
    get: (resource, namespace, name) => this.#entries.get(`${resource}/${namespace}/${name}`)?.digest ?? null,
    statement: (mirror) =>
      this.#listed.has(mirror) ? { kind: 'synced', gates: [], resource: mirror } : null,
    entries: (resource) => [...this.#entries.values()].filter((entry) => entry.resource === resource),
  });

  /** @returns the actors that the change concerns */
  put(resource: string, namespace: string, name: string, digest: object | null): string[] {
    const key = `${resource}/${namespace}/${name}`;
    const before = this.#entries.get(key)?.digest ?? null;
    const entry = { resource, namespace, name, digest: digest as AnyDigest | null };
    if (digest === null) this.#entries.delete(key);
    else this.#entries.set(key, entry);
    return [...this.join.fold(entry, before)].sort();
  }

  listed(...more: string[]): this {
    for (const resource of [...needed, ...more]) this.#listed.add(resource);
    return this;
  }

  domain(namespace: string, name: string, spec: object, change: object = {}): string[] {
    const wish = { secretName: name, issuer: null, ...spec };
    return this.put('domains.orrery.dev', namespace, name, {
      kind: 'domains',
      uid: `u-${namespace}-${name}`,
      ...base,
      spec: wish,
      ...change,
    });
  }

  issuer(name: string, hosts: string[], change: object = {}): string[] {
    const acme = { challenge: 'http01', server: 'https://ca' };
    const spec = { domains: hosts, acme, ca: null, budget: null };
    return this.put('issuers.orrery.dev', '', name, {
      kind: 'issuers',
      uid: `i-${name}`,
      ...base,
      spec,
      ...change,
    });
  }

  facts(host: string): DomainFacts | null | undefined {
    const observation = this.join.observe('domain', '_', host);
    return observation === null ? undefined : (observation.facts as DomainFacts | null);
  }

  rivals(host: string): readonly RivalFacts[] {
    const observation = this.join.observe('domain', '_', host);
    return (observation as { rivals?: readonly RivalFacts[] } | null)?.rivals ?? [];
  }

  namespace(name: string, labels: Record<string, string>, deleting = false): string[] {
    const digest = { kind: 'namespaces', uid: `n-${name}`, ...base, labels, deleting };
    return this.put('namespaces', '', name, digest);
  }
}
