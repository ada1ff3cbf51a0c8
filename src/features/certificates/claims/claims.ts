/**
 * The claims on a host: the facts as each namespace that asks for it would have them
 * (docs/features/certificates.md §2). Pure.
 *
 * Absent: which namespace gets the host. The domain's chart decides that, because only it knows who had it
 * before.
 */
import type { World } from '../../../actors/world/world.ts';
import { asDigest, selects } from '../../../base/digests.ts';
import {
  type DomainFacts,
  type DomainIssuer,
  type DomainSource,
  type RivalFacts,
  refusedMax,
  secretNameOf,
  shownFingerprint,
  type TakenTarget,
  type Target,
} from '../../../machines/domain/domain-facts.ts';
import { targetsMax } from '../../../machines/domain/domain-lacking.ts';
import type { ChallengeSpec } from '../challenge-spec.ts';
import type { IssuerDigest, NamespaceDigest, SecretDigest } from '../digests.ts';
import { allows } from '../hosts.ts';
import { registeredDomain } from '../registered-domain.ts';

/** An object that asks for a host. */
export interface Asking {
  readonly source: DomainSource;
  readonly createdAt: number;
  readonly secretName: string;
  /** The Issuer that it names; null: any. */
  readonly issuer: string | null;
  /** Further namespaces that may have the key. */
  readonly sharedWith: readonly string[];
  /** It is told, but asks for nothing: a Domain that shows the host of a Service or an Ingress. */
  readonly isShown?: true;
}

type Reading = Pick<World, 'get' | 'entries'>;

/** Another host to which the Secret was promised, and since when; null: none. */
export type OtherClaim = (target: Target) => { readonly host: string; readonly first: Asking } | null;

/** What is promised of Secrets. */
export interface Promised {
  readonly otherClaim: OtherClaim;
  /** The hosts that something asks to have in this Secret. */
  hostsOf(namespace: string, secretName: string): Iterable<string>;
}

const issuers = 'issuers.orrery.dev';
export const secretKey = (namespace: string, name: string) => `${namespace}/${name}`;
const keyOf = ({ source }: Asking) => `${source.kind}/${source.namespace}/${source.name}`;

/** The oldest first. */
export const byAge = (a: Asking, b: Asking) => a.createdAt - b.createdAt || (keyOf(a) < keyOf(b) ? -1 : 1);

/** The facts as each asking namespace would have them, starting with that of the oldest object. */
export function claimsOf(
  world: Reading,
  host: string,
  asking: Iterable<Asking>,
  promised: Promised,
): readonly DomainFacts[] {
  const all = [...asking].filter(({ source }) => !isEnding(world, source.namespace)).sort(byAge);
  const inOrder = all.filter(({ isShown }) => isShown !== true);
  const shown = all.filter(({ isShown }) => isShown === true);
  const owners = [...new Set(inOrder.map(({ source }) => source.namespace))];
  return owners.map((owner) => factsOf(world, host, { inOrder, shown, owner, promised }));
}

/**
 * Bytes of these facts in one observation, which is in the record: the largest claim and many small. A part
 * is kept for claims without a certificate: whoever asks may put one into a Secret of his own.
 */
const rivalsBytes = { all: 96 * 1024, withoutCertificate: 32 * 1024 } as const;

interface Sized {
  readonly claim: RivalFacts;
  readonly bytes: number;
}

/**
 * The claims of further namespaces, as many as fit: first those that have a certificate, as whoever had the
 * host has, then the smallest. Nobody's many or large claims keep out a small one that has the host.
 */
export function rivalsOf(claims: readonly DomainFacts[]): readonly RivalFacts[] {
  const sized = claims
    .map(({ refused: _, ...claim }): Sized => ({ claim, bytes: JSON.stringify(claim).length }))
    .sort((a, b) => a.bytes - b.bytes);
  const others = sized.filter((one) => !isStored(one));
  const kept = fitting(others, rivalsBytes.withoutCertificate);
  const stored = fitting(sized.filter(isStored), rivalsBytes.all - bytesOf(kept));
  const more = fitting(others.slice(kept.length), rivalsBytes.all - bytesOf([...kept, ...stored]));
  return [...stored, ...kept, ...more].map(({ claim }) => claim);
}

const isStored = ({ claim }: Sized) => claim.stored.some((one) => one !== null);
const bytesOf = (all: readonly Sized[]) => all.reduce((sum, { bytes }) => sum + bytes, 0);

/** @param smallestFirst whatever follows one that does not fit fits no better */
function fitting(smallestFirst: readonly Sized[], bytesMax: number): readonly Sized[] {
  let left = bytesMax;
  return smallestFirst.filter(({ bytes }) => {
    left -= bytes;
    return left >= 0;
  });
}

/**
 * Whether the namespace is being deleted: then all in it goes, in any order. A Secret that goes before its
 * Domain is not missing, and an order for it would be in vain, because nothing can be created there.
 */
export function isEnding(world: Pick<World, 'get'>, namespace: string): boolean {
  return asDigest<NamespaceDigest>(world.get('namespaces', '', namespace), 'namespaces')?.deleting === true;
}

/**
 * The most objects of the owner and of sharing namespaces that are told about the host: more would make its
 * record too large to write.
 */
const sourcesMax = 256;
const toldMax = sourcesMax + refusedMax;

/** Those who asked first, as many as are told about a host. */
export function toldFirst(asking: Iterable<Asking>): readonly Asking[] {
  const all = [...asking];
  return all.length <= toldMax ? all : all.sort(byAge).slice(0, toldMax);
}

interface Claim {
  readonly inOrder: readonly Asking[];
  readonly shown: readonly Asking[];
  readonly owner: string;
  readonly promised: Promised;
}

function factsOf(world: Reading, host: string, { inOrder, shown, owner, promised }: Claim): DomainFacts {
  const own = inOrder.filter(({ source }) => source.namespace === owner);
  const shared = new Set(own.flatMap(({ sharedWith }) => sharedWith));
  const granted = inOrder.filter(({ source }) => source.namespace !== owner && shared.has(source.namespace));
  const others = inOrder.filter(({ source }) => source.namespace !== owner && !shared.has(source.namespace));
  const isAdmitted = ({ namespace }: DomainSource) => namespace === owner || shared.has(namespace);
  const admitted = [...own, ...granted];
  const wanted = distinct(
    admitted.map(({ source, secretName }) => ({ namespace: source.namespace, secretName })),
  );
  const first = own[0];
  const taken = wanted.flatMap((target) => takenBy(world, host, target, { first, promised }));
  const lost = new Set(taken.map(({ namespace, secretName }) => secretKey(namespace, secretName)));
  const targets = wanted
    .filter(({ namespace, secretName }) => !lost.has(secretKey(namespace, secretName)))
    .map((target) => withFormer(world, host, target));
  const choice = chooseIssuer(world, host, { owner, asking: own });
  return {
    owner,
    sources: [...admitted, ...shown.filter(({ source }) => isAdmitted(source))]
      .slice(0, sourcesMax)
      .map((one) => sourceOf(host, one)),
    refused: [...others, ...shown.filter(({ source }) => !isAdmitted(source))]
      .slice(0, refusedMax)
      .map(({ source }) => source),
    targets,
    taken,
    issuer: choice.issuer,
    issuerMissing: choice.missing,
    registered: registeredDomain(host),
    stored: targets.map((target) => storedAt(world, target)),
  };
}

const sourceOf = (host: string, { source, secretName }: Asking): DomainSource =>
  secretName === secretNameOf(host) ? source : { ...source, secretName };

function distinct(targets: readonly Target[]): readonly Target[] {
  const seen = new Map(targets.map((target) => [secretKey(target.namespace, target.secretName), target]));
  return [...seen.values()].slice(0, targetsMax);
}

/**
 * A Secret belongs to the host whose certificate it contains, as long as something asks for that there;
 * otherwise to the host that asked first.
 */
function takenBy(
  world: Reading,
  host: string,
  target: Target,
  { first, promised }: { readonly first: Asking | undefined; readonly promised: Promised },
): readonly TakenTarget[] {
  const holder = secretAt(world, target)?.host ?? '';
  if (holder === host) return [];
  const isKept = [...promised.hostsOf(target.namespace, target.secretName)].includes(holder);
  if (isKept) return [{ ...target, by: holder }];
  const other = promised.otherClaim(target);
  const isOlder = other !== null && first !== undefined && byAge(other.first, first) < 0;
  return isOlder ? [{ ...target, by: other.host }] : [];
}

function withFormer(world: Reading, host: string, target: Target): Target {
  const holder = secretAt(world, target)?.host ?? '';
  return holder === '' || holder === host ? target : { ...target, former: holder };
}

function storedAt(world: Reading, target: Target): string | null {
  const fingerprint = secretAt(world, target)?.fingerprint ?? null;
  return fingerprint === null ? null : shownFingerprint(fingerprint);
}

function secretAt(world: Reading, { namespace, secretName }: Target): SecretDigest | null {
  return asDigest<SecretDigest>(world.get('secrets', namespace, secretName), 'secrets');
}

interface Choice {
  readonly issuer: DomainIssuer | null;
  readonly missing: string;
}

/**
 * The Issuer that the owner's oldest object names; otherwise the oldest Issuer that allows the host and the
 * owner.
 */
function chooseIssuer(
  world: Reading,
  host: string,
  { owner, asking }: { readonly owner: string; readonly asking: readonly Asking[] },
): Choice {
  const wanted = asking.find(({ issuer }) => issuer !== null)?.issuer ?? null;
  const all = [...world.entries(issuers)].flatMap(({ name, digest: any }) => {
    const digest = asDigest<IssuerDigest>(any, 'issuers');
    return digest === null || digest.deleting ? [] : [{ name, digest }];
  });
  const named = all.filter(({ name }) => wanted === null || name === wanted);
  const forHost = named.filter(({ digest }) => allowsHost(digest, host));
  const candidates = forHost
    .filter(({ digest }) => allowsNamespace(world, digest, owner))
    .sort((a, b) => a.digest.createdAt - b.digest.createdAt || (a.name < b.name ? -1 : 1));
  const [first] = candidates;
  if (first !== undefined) return { issuer: issuerOf(first.name, first.digest), missing: '' };
  const [shut] = forHost;
  const missing =
    shut === undefined
      ? missingText(host, wanted, named.length > 0)
      : `Issuer ${shut.name} does not serve the namespace ${owner} (spec.allowedNamespaces)`;
  return { issuer: null, missing };
}

function missingText(host: string, wanted: string | null, isThere: boolean): string {
  if (wanted === null) return `no Issuer allows ${host}: add it to the spec.domains of one`;
  return isThere ? `Issuer ${wanted} does not allow ${host} (spec.domains)` : `there is no Issuer ${wanted}`;
}

function allowsHost({ spec }: IssuerDigest, host: string): boolean {
  return !('invalid' in spec) && spec.domains.some((pattern) => allows(pattern, host));
}

/** An unknown Namespace has no labels to select. */
function allowsNamespace(world: Reading, { spec }: IssuerDigest, namespace: string): boolean {
  if ('invalid' in spec) return false;
  const { allowedNamespaces } = spec;
  if (allowedNamespaces === undefined || allowedNamespaces === null) return true;
  const digest = asDigest<NamespaceDigest>(world.get('namespaces', '', namespace), 'namespaces');
  return digest !== null && selects(allowedNamespaces, digest.labels);
}

const isHttp = (challenge: ChallengeSpec) => challenge === 'http01' || 'http01' in challenge;

function issuerOf(name: string, { uid, generation, spec }: IssuerDigest): DomainIssuer {
  const acme = 'invalid' in spec ? null : spec.acme;
  return {
    name,
    version: `${uid}/${generation}`,
    kind: acme === null ? 'ca' : 'acme',
    challenge: acme === null ? null : isHttp(acme.challenge) ? 'http01' : 'dns01',
    ...(acme !== null && acme.challenge !== 'http01' && isHttp(acme.challenge) ? { exhibits: true } : {}),
  };
}
