/**
 * The join of hosts with those that ask for them – Domains, Services, Ingresses –, with the Issuer that allows them, and with what
 * stands in their Secrets.
 *
 * Promises: one actor for one host, however many ask for it; the oldest of them goes first. A host hears nothing until every kind that
 * may ask for it, and the Issuers and Secrets, were listed once: what is merely not listed yet must not look as if it were gone.
 */

import type { Join } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import { type AnyDigest, asDigest, isDigest, isOfObject, type WorldEntry } from '../../base/digests.ts';
import type {
  DomainFacts,
  DomainIssuer,
  DomainSource,
  IssuerFacts,
  Target,
} from '../../machines/domain/domain-facts.ts';
import type { DomainDigest, IngressDigest, IssuerDigest, SecretDigest, ServiceDigest } from './digests.ts';
import { allows, secretNameOf } from './hosts.ts';
import { registeredDomain } from './registered-domain.ts';

/** Somebody who asks for a host. */
interface Asking {
  readonly source: DomainSource;
  readonly createdAt: number;
  readonly secretName: string;
  /** The Issuer that it names; null: any. */
  readonly issuer: string | null;
}

const needed = [
  'services',
  'orrery.dev/v1alpha1/Domain',
  'orrery.dev/v1alpha1/Issuer',
  'networking.k8s.io/v1/Ingress',
  'v1/Secret',
];

const issuers = 'issuers.orrery.dev';

export function createCertificatesJoin(world: Pick<World, 'get' | 'entries' | 'statement'>): Join {
  /** Host → who asks for it, by `<kind>/<ns>/<name>`. */
  const askers = new Map<string, Map<string, Asking>>();
  /** `<ns>/<secret>` → the hosts whose certificate is to stand there. */
  const hostsOfSecret = new Map<string, Map<string, number>>();
  const isComplete = () => needed.every((resource) => world.statement(resource) !== null);

  const remove = (key: string, asked: ReadonlyMap<string, Asking>) => {
    for (const [host, asking] of asked) {
      const others = askers.get(host);
      others?.delete(key);
      if (others?.size === 0) askers.delete(host);
      count(hostsOfSecret, secretKey(asking.source.namespace, asking.secretName), host, -1);
    }
  };
  const add = (key: string, asked: ReadonlyMap<string, Asking>) => {
    for (const [host, asking] of asked) {
      const others = askers.get(host) ?? new Map<string, Asking>();
      askers.set(host, others.set(key, asking));
      count(hostsOfSecret, secretKey(asking.source.namespace, asking.secretName), host, 1);
    }
  };

  return {
    kinds: ['domain', 'issuer'],
    fold(entry, before) {
      const { resource, namespace, name, digest } = entry;
      if (resource === 'secrets')
        return domainIds(hostsOfSecret.get(secretKey(namespace, name))?.keys() ?? []);
      if (resource === issuers) return [`issuer/_/${name}`, ...domainIds(askers.keys())];
      if (resource === '_synced') return [];
      const was = askedBy(entry, before);
      const is = askedBy(entry, digest);
      if (was.size === 0 && is.size === 0) return [];
      const key = `${resource}/${namespace}/${name}`;
      remove(key, was);
      add(key, is);
      return domainIds(new Set([...was.keys(), ...is.keys()]));
    },
    members: () => membersOf(world, askers),
    observe(kind, _namespace, name) {
      if (!isComplete()) return null;
      if (kind === 'issuer') return { type: 'issuer.observed', facts: issuerFacts(world, name) };
      const asking = askers.get(name);
      if (asking === undefined) return { type: 'domain.observed', facts: null };
      return { type: 'domain.observed', facts: domainFacts(world, name, [...asking.values()]) };
    },
  };
}

const secretKey = (namespace: string, name: string) => `${namespace}/${name}`;
const domainIds = (hosts: Iterable<string>) => [...hosts].map((host) => `domain/_/${host}`);

function membersOf(world: Pick<World, 'entries'>, askers: ReadonlyMap<string, unknown>): string[] {
  const names = [...world.entries(issuers)].map(({ name }) => `issuer/_/${name}`);
  return [...names, ...domainIds(askers.keys())];
}

function count(map: Map<string, Map<string, number>>, key: string, host: string, by: number): void {
  const hosts = map.get(key) ?? new Map<string, number>();
  const times = (hosts.get(host) ?? 0) + by;
  if (times > 0) map.set(key, hosts.set(host, times));
  else hosts.delete(host);
  if (hosts.size === 0) map.delete(key);
}

/** The hosts that an object asks for. */
function askedBy({ namespace, name }: WorldEntry, digest: AnyDigest | null): ReadonlyMap<string, Asking> {
  if (digest === null || !isOfObject(digest) || digest.deleting) return new Map();
  const { uid, createdAt } = digest;
  return new Map(
    wishesOf(digest).map(({ kind, generation, host, secretName, issuer }) => {
      const source = { kind, namespace, name, uid, generation };
      return [host, { source, createdAt, secretName, issuer }];
    }),
  );
}

interface Wish extends Pick<Asking, 'secretName' | 'issuer'>, Pick<DomainSource, 'kind' | 'generation'> {
  readonly host: string;
}

function wishesOf(digest: AnyDigest): readonly Wish[] {
  if (isDigest<DomainDigest>(digest, 'domains')) {
    const { generation, spec } = digest;
    return 'invalid' in spec ? [] : [{ kind: 'Domain', generation, ...spec }];
  }
  if (isDigest<IngressDigest>(digest, 'ingresses')) {
    const { generation, hosts, issuer } = digest;
    return hosts.map((one) => ({ kind: 'Ingress', generation, ...one, issuer }));
  }
  const { serve } = asDigest<ServiceDigest>(digest, 'services') ?? {};
  return (serve?.hosts ?? []).map((host) => {
    return { kind: 'Service', generation: 0, host, secretName: secretNameOf(host), issuer: null };
  });
}

function domainFacts(
  world: Pick<World, 'get' | 'entries'>,
  host: string,
  asking: readonly Asking[],
): DomainFacts {
  const inOrder = [...asking].sort((a, b) => a.createdAt - b.createdAt || (keyOf(a) < keyOf(b) ? -1 : 1));
  const targets = distinct(
    inOrder.map(({ source, secretName }) => ({ namespace: source.namespace, secretName })),
  );
  const choice = chooseIssuer(world, host, inOrder);
  return {
    sources: inOrder.map(({ source }) => source),
    targets,
    issuer: choice.issuer,
    issuerMissing: choice.missing,
    registered: registeredDomain(host),
    stored: targets.map((target) => storedAt(world, target)),
  };
}

const keyOf = ({ source }: Asking) => `${source.kind}/${source.namespace}/${source.name}`;

/** Secrets that one certificate is written to; more askers than that share them. Far more than people name, small in a record. */
const targetsMax = 16;

function distinct(targets: readonly Target[]): readonly Target[] {
  const seen = new Map(targets.map((target) => [secretKey(target.namespace, target.secretName), target]));
  return [...seen.values()].slice(0, targetsMax);
}

/** Enough of a fingerprint to see that it is another one. */
const fingerprintChars = 16;

function storedAt(world: Pick<World, 'get'>, target: Target): string | null {
  const digest = world.get('secrets', target.namespace, target.secretName);
  return asDigest<SecretDigest>(digest, 'secrets')?.fingerprint?.slice(0, fingerprintChars) ?? null;
}

/** The Issuer that the oldest asker names; where none is named, the oldest that allows the host. */
function chooseIssuer(
  world: Pick<World, 'entries'>,
  host: string,
  asking: readonly Asking[],
): { readonly issuer: DomainIssuer | null; readonly missing: string } {
  const wanted = asking.find(({ issuer }) => issuer !== null)?.issuer ?? null;
  const all = [...world.entries(issuers)].flatMap(({ name, digest }) =>
    isDigest<IssuerDigest>(digest, 'issuers') && !digest.deleting ? [{ name, digest }] : [],
  );
  const candidates = all
    .filter(({ name, digest }) => (wanted === null || name === wanted) && allowsHost(digest, host))
    .sort((a, b) => a.digest.createdAt - b.digest.createdAt || (a.name < b.name ? -1 : 1));
  const [first] = candidates;
  if (first !== undefined) return { issuer: issuerOf(first.name, first.digest), missing: '' };
  if (wanted === null) return { issuer: null, missing: `no Issuer allows ${host} (spec.domains)` };
  const isThere = all.some(({ name }) => name === wanted);
  const missing = isThere
    ? `Issuer ${wanted} does not allow ${host} (spec.domains)`
    : `there is no Issuer ${wanted}`;
  return { issuer: null, missing };
}

function allowsHost({ spec }: IssuerDigest, host: string): boolean {
  return !('invalid' in spec) && spec.domains.some((pattern) => allows(pattern, host));
}

function issuerOf(name: string, { uid, generation, spec }: IssuerDigest): DomainIssuer {
  const acme = 'invalid' in spec ? null : spec.acme;
  return {
    name,
    version: `${uid}/${generation}`,
    kind: acme === null ? 'ca' : 'acme',
    challenge: acme === null ? null : acme.challenge === 'http01' ? 'http01' : 'dns01',
  };
}

function issuerFacts(world: Pick<World, 'get'>, name: string): IssuerFacts | null {
  const digest = asDigest<IssuerDigest>(world.get(issuers, '', name), 'issuers');
  if (digest === null || digest.deleting) return null;
  const { uid, generation, spec } = digest;
  if ('invalid' in spec) return { uid, generation, kind: 'acme', invalid: spec.invalid, budget: null };
  return { uid, generation, kind: spec.acme === null ? 'ca' : 'acme', invalid: null, budget: spec.budget };
}
