/**
 * The join of hosts: the objects that ask for a host – Domains, Services, Ingresses –, the Issuer that allows
 * it, and the contents of its Secrets.
 *
 * Promises: one actor for each host, however many objects ask for it. A host is told nothing until all kinds
 * that may ask for it, the Issuers and the Secrets were listed once, because an object that is not listed yet
 * must not look deleted. Absent: which namespace owns the host (claims/claims.ts, and the domain's chart).
 */
import type { Join } from '../../actors/world/join.ts';
import { createStatusesJoin, createStatusJoin, saidIn } from '../../actors/world/status-join.ts';
import type { World } from '../../actors/world/world.ts';
import { type AnyDigest, asDigest, isDigest, isOfObject, type WorldEntry } from '../../base/digests.ts';
import { equal } from '../../base/equal.ts';
import { type DomainSource, type IssuerFacts, secretNameOf } from '../../machines/domain/domain-facts.ts';
import { Askings } from './claims/askings.ts';
import { type Asking, claimsOf, rivalsOf, toldFirst } from './claims/claims.ts';
import type {
  DomainDigest,
  IngressDigest,
  IssuerDigest,
  NamespaceDigest,
  SecretDigest,
  ServiceDigest,
} from './digests.ts';

const needed = [
  'services',
  'orrery.dev/v1alpha1/Domain',
  'orrery.dev/v1alpha1/Issuer',
  'networking.k8s.io/v1/Ingress',
  'v1/Secret',
];

const issuers = 'issuers.orrery.dev';
const domains = 'domains.orrery.dev';

export function createCertificatesJoin(
  world: Pick<World, 'get' | 'entries' | 'statement'>,
  asked = new Askings(),
): Join {
  const isListed = (resource: string) => world.statement(resource) !== null;
  const isComplete = () => needed.every(isListed);
  // Before Namespaces are listed, no Issuer would seem to serve any of them.
  const areNamespacesKnown = () => isListed('v1/Namespace') || !choosesNamespaces(world);
  return {
    kinds: ['domain', 'issuer'],
    fold(entry, before) {
      const { resource, namespace, name, digest } = entry;
      if (resource === 'secrets') return domainIds(asked.hostsOf(namespace, name));
      if (resource === issuers)
        return [`issuer/_/${name}`, ...(isSaidAnew(before, digest) ? [] : domainIds(asked.hosts()))];
      if (resource === 'namespaces')
        return changesAskings(before, digest) ? domainIds(asked.hostsIn(name)) : [];
      const was = askedBy(entry, before);
      const is = askedBy(entry, digest);
      if (was.size === 0 && is.size === 0) return [];
      const concerned = asked.replace(`${resource}/${namespace}/${name}`, is, was.keys());
      return domainIds(new Set([...concerned, ...heirsOf(world, asked, was)]));
    },
    members: () => membersOf(world, asked),
    observe(kind, _namespace, name) {
      if (!isComplete()) return null;
      if (kind === 'issuer') return { type: 'issuer.observed', facts: issuerFacts(world, name) };
      if (!areNamespacesKnown()) return null;
      const promised = {
        otherClaim: asked.otherClaim(name),
        hostsOf: (at: string, secretName: string) => asked.hostsOf(at, secretName),
      };
      const [facts = null, ...others] = claimsOf(world, name, asked.of(name), promised);
      const rivals = rivalsOf(others);
      return { type: 'domain.observed', facts, ...(rivals.length === 0 ? {} : { rivals }) };
    },
  };
}

/** Who may have a Secret now that nothing asks any more for the host whose certificate it holds. */
function heirsOf(
  world: Pick<World, 'get'>,
  asked: Askings,
  was: ReadonlyMap<string, Asking>,
): readonly string[] {
  return [...was].flatMap(([host, { source, secretName }]) => {
    const digest = asDigest<SecretDigest>(world.get('secrets', source.namespace, secretName), 'secrets');
    const hosts = digest?.host === host ? [...asked.hostsOf(source.namespace, secretName)] : [];
    return hosts.includes(host) ? [] : hosts;
  });
}

/** What the status of an Issuer says, for its actor to compare with what it reported. */
export const createIssuerStatusJoin = (world: Pick<World, 'get'>): Join =>
  createStatusJoin('issuer', (_, name) => asDigest<IssuerDigest>(world.get(issuers, '', name), 'issuers'));

/** The same of the Domains that ask for a host. */
export const createDomainStatusJoin = (world: Pick<World, 'get'>, asked: Askings): Join =>
  createStatusesJoin('domain', (_, host) => {
    const said = toldFirst(asked.of(host)).flatMap(({ source: { kind, namespace, name } }) => {
      const digest = kind === 'Domain' ? world.get(domains, namespace, name) : null;
      return saidIn(asDigest<DomainDigest>(digest, 'domains')) ?? [];
    });
    return said.length === 0 ? null : said;
  });

/** Whether only the status differs, which concerns no host. */
function isSaidAnew(before: AnyDigest | null, digest: AnyDigest | null): boolean {
  const [was, is] = [asDigest<IssuerDigest>(before, 'issuers'), asDigest<IssuerDigest>(digest, 'issuers')];
  const silent = { said: '', resourceVersion: '' };
  return (
    was !== null && is !== null && was.said !== is.said && equal({ ...was, ...silent }, { ...is, ...silent })
  );
}

/** Whether any Issuer does; otherwise the permission to read Namespaces is not needed. */
function choosesNamespaces(world: Pick<World, 'entries'>): boolean {
  for (const { digest: any } of world.entries(issuers)) {
    const { spec } = asDigest<IssuerDigest>(any, 'issuers') ?? {};
    if (spec !== undefined && !('invalid' in spec) && spec.allowedNamespaces) return true;
  }
  return false;
}

const domainIds = (hosts: Iterable<string>) => [...hosts].map((host) => `domain/_/${host}`);

/** Whether a Namespace has other labels, or ends: both bear on the hosts that are asked for in it. */
function changesAskings(before: AnyDigest | null, digest: AnyDigest | null): boolean {
  const facts = (one: AnyDigest | null) => {
    const { labels = null, deleting = false } = asDigest<NamespaceDigest>(one, 'namespaces') ?? {};
    return { labels, deleting };
  };
  return !equal(facts(before), facts(digest));
}

function membersOf(world: Pick<World, 'entries'>, asked: Askings): string[] {
  const names = [...world.entries(issuers)].map(({ name }) => `issuer/_/${name}`);
  return [...names, ...domainIds(asked.hosts())];
}

interface Wish extends Omit<Asking, 'source' | 'createdAt'>, Pick<DomainSource, 'kind' | 'generation'> {
  readonly host: string;
  readonly renew?: string | undefined;
}

function askedBy({ namespace, name }: WorldEntry, digest: AnyDigest | null): ReadonlyMap<string, Asking> {
  if (digest === null || !isOfObject(digest) || digest.deleting) return new Map();
  const { uid, createdAt } = digest;
  return new Map(
    wishesOf(digest).map(({ kind, generation, host, renew, ...wish }) => {
      const source = { kind, namespace, name, uid, generation, ...(renew === undefined ? {} : { renew }) };
      return [host, { source, createdAt, ...wish }];
    }),
  );
}

function wishesOf(digest: AnyDigest): readonly Wish[] {
  if (isDigest<DomainDigest>(digest, 'domains')) {
    const { generation, spec, renew, shown } = digest;
    if ('invalid' in spec) return [];
    const { sharedWith = [], ...wish } = spec;
    return [{ kind: 'Domain', generation, renew, ...wish, sharedWith, ...(shown ? { isShown: true } : {}) }];
  }
  if (isDigest<IngressDigest>(digest, 'ingresses')) {
    const { generation, hosts, issuer } = digest;
    return hosts.map((one) => ({ kind: 'Ingress', generation, ...one, issuer, sharedWith: [] }));
  }
  const { serve } = asDigest<ServiceDigest>(digest, 'services') ?? {};
  return (serve?.hosts ?? []).map((host) => {
    const secretName = secretNameOf(host);
    return { kind: 'Service', generation: 0, host, secretName, issuer: null, sharedWith: [] };
  });
}

const acmeOf = ({ server }: { readonly server: string }) => ({ kind: 'acme', server }) as const;

function issuerFacts(world: Pick<World, 'get'>, name: string): IssuerFacts | null {
  const digest = asDigest<IssuerDigest>(world.get(issuers, '', name), 'issuers');
  if (digest === null || digest.deleting) return null;
  const { uid, generation, spec } = digest;
  if ('invalid' in spec) return { uid, generation, kind: 'acme', invalid: spec.invalid, budget: null };
  const kind = spec.acme === null ? ({ kind: 'ca' } as const) : acmeOf(spec.acme);
  return { uid, generation, ...kind, invalid: null, budget: spec.budget };
}
