/**
 * Reads cert-manager's objects as far as they can be taken over (cert-manager.io/v1): Certificates, Issuers
 * and ClusterIssuers. Pure; accepts any content.
 */
import type { KubeObject, KubeResource } from '../../../base/kube-port.ts';
import { type Fields, list, record } from '../../../kube/api/fields.ts';

const group = 'cert-manager.io';
const resource = (plural: string, kind: string, namespaced: boolean): KubeResource => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced,
});

export const theirCertificates = resource('certificates', 'Certificate', true);
export const theirIssuers = resource('issuers', 'Issuer', true);
export const theirClusterIssuers = resource('clusterissuers', 'ClusterIssuer', false);

export const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
const texts = (value: unknown) => list(value).filter((one): one is string => typeof one === 'string');

export interface TheirCertificate {
  readonly name: string;
  /** DNS names, including the subject's. */
  readonly hosts: readonly string[];
  readonly secretName: string;
  readonly issuer: { readonly kind: string; readonly name: string };
  /** Why it cannot be taken over; null: it can. */
  readonly refusal: string | null;
  /** What is lost in the takeover, for people. */
  readonly losses: readonly string[];
}

export function readCertificate({ metadata, spec: any }: KubeObject): TheirCertificate {
  const spec = record(any);
  const commonName = textOf(spec.commonName);
  const hosts = [...new Set([...texts(spec.dnsNames), ...(commonName === '' ? [] : [commonName])])];
  const ref = record(spec.issuerRef);
  return {
    name: metadata.name,
    hosts,
    secretName: textOf(spec.secretName),
    issuer: { kind: textOf(ref.kind) || 'Issuer', name: textOf(ref.name) },
    refusal: refusalOf(spec, hosts, textOf(ref.group)),
    losses: [...lossesOf(spec), ...list(metadata.ownerReferences).flatMap(ingressOwner)],
  };
}

function refusalOf(spec: Fields, hosts: readonly string[], issuerGroup: string): string | null {
  const others = ['ipAddresses', 'uris', 'emailAddresses', 'otherNames'].filter(
    (name) => list(spec[name]).length > 0,
  );
  if (others.length > 0) return `it is for more than hosts (${others.join(', ')})`;
  if (spec.isCA === true) return 'it is a CA certificate';
  if (hosts.length !== 1)
    return `it is for ${hosts.length} hosts (${hosts.slice(0, 5).join(', ')}): a Domain has one; make one for each`;
  if (issuerGroup !== '' && issuerGroup !== group)
    return `its issuer belongs to another API group, ${issuerGroup}`;
  return null;
}

function lossesOf(spec: Fields): readonly string[] {
  const key = record(spec.privateKey);
  const algorithm = textOf(key.algorithm) || 'RSA';
  const isSame = algorithm === 'ECDSA' && [undefined, 256].includes(key.size as number | undefined);
  const dropped = ['keystores', 'additionalOutputFormats', 'secretTemplate', 'subject', 'literalSubject'];
  const kept = dropped.filter((name) => spec[name] !== undefined);
  return [
    ...(isSame ? [] : [`the next renewal creates an ECDSA P-256 key instead of ${algorithm}`]),
    ...(spec.renewBefore === undefined && spec.renewBeforePercentage === undefined
      ? []
      : [
          'its renewBefore is left out: renewal is at two thirds of the lifetime, or when the authority suggests it',
        ]),
    ...(spec.duration === undefined
      ? []
      : ['its duration is left out: the authority decides, or spec.ca.lifetime of the Issuer']),
    ...(kept.length === 0 ? [] : [`${kept.join(', ')} cannot be expressed and are left out`]),
  ];
}

function ingressOwner(owner: unknown): readonly string[] {
  const { kind, name } = record(owner);
  if (kind !== 'Ingress') return [];
  return [`it comes from Ingress ${textOf(name)}: remove the annotations cert-manager.io/… there`];
}

/** The solver that cert-manager would use for a host's challenge. */
export interface TheirSolver {
  /** In the form of `spec.acme.challenge` of our Issuers; null: not expressible. */
  readonly challenge: unknown;
  /** Why not. */
  readonly refusal: string;
  /** Over HTTP, which proves no wildcard. */
  readonly isHttp: boolean;
  readonly names: readonly string[];
  readonly zones: readonly string[];
}

export function readSolver(any: unknown, namespace: string): TheirSolver {
  const solver = record(any);
  const selector = record(solver.selector);
  const challenge = challengeOf(solver, namespace);
  const isLabelled = Object.keys(record(selector.matchLabels)).length > 0;
  const refusal = isLabelled
    ? 'it selects Certificates by label'
    : typeof challenge === 'string'
      ? challenge
      : '';
  return {
    challenge: refusal === '' ? challenge : null,
    refusal,
    isHttp: solver.http01 !== undefined,
    names: texts(selector.dnsNames),
    zones: texts(selector.dnsZones),
  };
}

/** A text says why it is not expressible. */
function challengeOf({ http01, dns01 }: Fields, namespace: string): object | string {
  if (http01 !== undefined) return httpChallenge(record(http01));
  if (dns01 === undefined) return 'it has neither http01 nor dns01';
  const { rfc2136, webhook, cnameStrategy, ...others } = record(dns01);
  const followed = cnameStrategy === 'Follow' ? { cnameStrategy } : {};
  if (rfc2136 !== undefined) return updateChallenge(record(rfc2136), namespace, followed);
  if (webhook !== undefined) {
    const { groupName, solverName, config } = record(webhook);
    return {
      dns01: { webhook: { groupName, solverName, ...(config === undefined ? {} : { config }) }, ...followed },
    };
  }
  return `there is no ${Object.keys(others).join(', ') || 'such provider'} here: use RFC 2136 or a webhook`;
}

function httpChallenge({ ingress, gatewayHTTPRoute }: Fields): object | string {
  if (gatewayHTTPRoute !== undefined) {
    const parentRefs = list(record(gatewayHTTPRoute).parentRefs);
    if (parentRefs.length === 0) return 'its gatewayHTTPRoute has no parentRefs';
    return { http01: { gateway: { parentRefs } } };
  }
  const { ingressClassName, class: className } = record(ingress);
  const chosen = textOf(ingressClassName) || textOf(className);
  return { http01: { ingress: chosen === '' ? {} : { className: chosen } } };
}

function updateChallenge(
  { nameserver, tsigKeyName, tsigAlgorithm, tsigSecretSecretRef }: Fields,
  namespace: string,
  followed: object,
): object | string {
  const algorithm = { HMACSHA256: 'hmac-sha256', HMACSHA512: 'hmac-sha512' }[textOf(tsigAlgorithm)];
  if (algorithm === undefined)
    return `its TSIG algorithm ${textOf(tsigAlgorithm) || 'HMACMD5'} is too weak: use HMACSHA256 or HMACSHA512`;
  const { name, key } = record(tsigSecretSecretRef);
  const secretRef = { name, namespace, key };
  return {
    dns01: { rfc2136: { server: nameserver, keyName: tsigKeyName, algorithm, secretRef }, ...followed },
  };
}

/**
 * By cert-manager's precedence: a listed name, then the longest zone, then a solver for all; of those that
 * can prove the host.
 */
export function solverFor(solvers: readonly TheirSolver[], host: string): TheirSolver | null {
  const weight = ({ names, zones, isHttp }: TheirSolver) => {
    if (isHttp && host.startsWith('*.')) return -1;
    if (names.includes(host)) return 10_000;
    const fitting = zones
      .filter((zone) => host === zone || host.endsWith(`.${zone}`))
      .map(({ length }) => length);
    if (fitting.length > 0) return Math.max(...fitting);
    return names.length + zones.length === 0 ? 0 : -1;
  };
  const [best] = solvers
    .map((solver) => ({ solver, at: weight(solver) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => b.at - a.at);
  return best?.solver ?? null;
}
