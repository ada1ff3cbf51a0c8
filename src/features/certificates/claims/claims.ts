/**
 * Whose host it is: those who ask for one host, as each of their namespaces would have it
 * (docs/features/certificates.md §2). Pure.
 *
 * Absent: which of the namespaces has it. The domain's chart decides that, since it alone knows who had it
 * before.
 */
import type { World } from '../../../actors/world/world.ts';
import { asDigest, selects } from '../../../base/digests.ts';
import {
  type DomainFacts,
  type DomainIssuer,
  type DomainSource,
  fingerprintChars,
  type TakenTarget,
  type Target,
} from '../../../machines/domain/domain-facts.ts';
import { targetsMax } from '../../../machines/domain/domain-lacking.ts';
import { secretNameOf } from '../../../machines/domain/secret-name.ts';
import type { ChallengeSpec } from '../challenge-spec.ts';
import type { IssuerDigest, NamespaceDigest, SecretDigest } from '../digests.ts';
import { allows } from '../hosts.ts';
import { registeredDomain } from '../registered-domain.ts';

/** Somebody who asks for a host. */
export interface Asking {
  readonly source: DomainSource;
  readonly createdAt: number;
  readonly secretName: string;
  /** The Issuer that it names; null: any. */
  readonly issuer: string | null;
  /** Namespaces that may have the key too. */
  readonly sharedWith: readonly string[];
  /** It is told, and asks for nothing: a Domain that shows the host of a Service or an Ingress. */
  readonly isShown?: true;
}

type Reading = Pick<World, 'get' | 'entries'>;

/** Who else was promised the Secret, and since when; null: nobody. */
export type OtherClaim = (target: Target) => { readonly host: string; readonly first: Asking } | null;

const issuers = 'issuers.orrery.dev';
export const secretKey = (namespace: string, name: string) => `${namespace}/${name}`;
const keyOf = ({ source }: Asking) => `${source.kind}/${source.namespace}/${source.name}`;

/** The oldest first. */
export const byAge = (a: Asking, b: Asking) => a.createdAt - b.createdAt || (keyOf(a) < keyOf(b) ? -1 : 1);

/** The facts as each namespace that asks would have them, the one with the oldest object first. */
export function claimsOf(
  world: Reading,
  host: string,
  asking: Iterable<Asking>,
  otherClaim: OtherClaim,
): readonly DomainFacts[] {
  const all = [...asking].sort(byAge);
  const inOrder = all.filter(({ isShown }) => isShown !== true);
  const shown = all.filter(({ isShown }) => isShown === true);
  const owners = [...new Set(inOrder.map(({ source }) => source.namespace))];
  return owners.map((owner) => factsOf(world, host, { inOrder, shown, owner, otherClaim }));
}

/** Objects that are told that the host is another's; of a crowd of them only so many. */
const refusedMax = 64;
/**
 * Objects of the owner, and of those with whom it shares, that are told how the host stands: of a crowd only
 * so many, or the host's record would be too large for anybody to write.
 */
const sourcesMax = 256;

interface Claim {
  readonly inOrder: readonly Asking[];
  readonly shown: readonly Asking[];
  readonly owner: string;
  readonly otherClaim: OtherClaim;
}

function factsOf(world: Reading, host: string, { inOrder, shown, owner, otherClaim }: Claim): DomainFacts {
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
  const taken = wanted.flatMap((target) => takenBy(world, host, target, { first, otherClaim }));
  const lost = new Set(taken.map(({ namespace, secretName }) => secretKey(namespace, secretName)));
  const targets = wanted.filter(({ namespace, secretName }) => !lost.has(secretKey(namespace, secretName)));
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
 * A Secret belongs to the host whose certificate it holds; one that holds none yet, to the host that was to
 * have it first.
 */
function takenBy(
  world: Reading,
  host: string,
  target: Target,
  { first, otherClaim }: { readonly first: Asking | undefined; readonly otherClaim: OtherClaim },
): readonly TakenTarget[] {
  const holder = secretAt(world, target)?.host ?? '';
  if (holder === host) return [];
  if (holder !== '') return [{ ...target, by: holder }];
  const other = otherClaim(target);
  const isOlder = other !== null && first !== undefined && byAge(other.first, first) < 0;
  return isOlder ? [{ ...target, by: other.host }] : [];
}

function storedAt(world: Reading, target: Target): string | null {
  return secretAt(world, target)?.fingerprint?.slice(0, fingerprintChars) ?? null;
}

function secretAt(world: Reading, { namespace, secretName }: Target): SecretDigest | null {
  return asDigest<SecretDigest>(world.get('secrets', namespace, secretName), 'secrets');
}

interface Choice {
  readonly issuer: DomainIssuer | null;
  readonly missing: string;
}

/**
 * The Issuer that the owner's oldest object names; where none is named, the oldest that allows the host and
 * the owner.
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
  if (wanted === null) return `no Issuer allows ${host} (spec.domains)`;
  return isThere ? `Issuer ${wanted} does not allow ${host} (spec.domains)` : `there is no Issuer ${wanted}`;
}

function allowsHost({ spec }: IssuerDigest, host: string): boolean {
  return !('invalid' in spec) && spec.domains.some((pattern) => allows(pattern, host));
}

/** A Namespace that is not known has no labels that could be chosen. */
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
