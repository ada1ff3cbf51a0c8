/**
 * Plans what to write so that the certificates of one namespace pass from cert-manager to Orrery, in order,
 * with one line for each step or obstacle (docs/features/certificates.md, Moving in). Pure.
 */
import { equal } from '../../../base/equal.ts';
import type { KubeObject } from '../../../base/kube-port.ts';
import { list, record } from '../../../kube/api/fields.ts';
import { secretPart } from '../digest.ts';
import { domainLabel, hostLabel, readHost } from '../hosts.ts';
import { readIssuerSpec } from '../issuer-spec.ts';
import { type AdoptedIssuer, adoptIssuer, type TheirIssuer } from './adopted-issuers.ts';
import { readCertificate, type TheirCertificate } from './foreign-objects.ts';

export interface Found {
  readonly namespace: string;
  readonly certificates: readonly KubeObject[];
  readonly issuers: readonly TheirIssuer[];
  /** By name: the existing Secrets that the Certificates name. */
  readonly secrets: ReadonlyMap<string, KubeObject>;
  /** Our present objects. */
  readonly ownDomains: readonly KubeObject[];
  readonly ownIssuers: readonly KubeObject[];
}

export type Step =
  | { readonly do: 'createIssuer' | 'createDomain'; readonly object: KubeObject; readonly line: string }
  | { readonly do: 'extendIssuer'; readonly name: string; readonly body: object; readonly line: string }
  | { readonly do: 'takeSecret'; readonly name: string; readonly body: object; readonly line: string }
  /** Nothing to write. */
  | { readonly do: 'say'; readonly line: string };

const adoptedAnnotation = 'orrery.dev/adopted-from';
const hostAnnotation = 'orrery.dev/host';

export function planAdoption(found: Found): readonly Step[] {
  const certificates = found.certificates.map(readCertificate);
  const able = certificates.filter(({ refusal }) => refusal === null);
  const steps = certificates.flatMap((one) => (one.refusal === null ? [] : [skip(found, one, one.refusal)]));
  const issuers = new Map<string, AdoptedIssuer>();
  const rest: Step[] = [];
  for (const certificate of able) {
    const choice = issuerFor(found, certificate, able);
    if ('refusal' in choice) {
      steps.push(skip(found, certificate, choice.refusal));
      continue;
    }
    const own = certificateSteps(found, certificate, choice);
    if (own.some((step) => step.do === 'createDomain' || step.do === 'takeSecret'))
      issuers.set(choice.name, choice);
    rest.push(...own);
  }
  const made = [...issuers.values()].flatMap((issuer) => issuerSteps(found, issuer));
  return [...made, ...rest, ...steps, ...lastWords(found, rest)];
}

const skip = ({ namespace }: Found, { name }: TheirCertificate, why: string): Step => ({
  do: 'say',
  line: `skipped   Certificate ${namespace}/${name}: ${why}`,
});

function issuerFor(found: Found, { issuer, hosts }: TheirCertificate, all: readonly TheirCertificate[]) {
  const theirs = found.issuers.find(
    ({ kind, object }) => kind === issuer.kind && object.metadata.name === issuer.name,
  );
  if (theirs === undefined) return { refusal: `there is no ${issuer.kind} ${issuer.name}` };
  const same = all.filter((one) => one.issuer.kind === issuer.kind && one.issuer.name === issuer.name);
  return adoptIssuer(theirs, same).get(hosts[0] ?? '') ?? { refusal: 'it has no host' };
}

function issuerSteps({ ownIssuers }: Found, { name, from, spec, losses }: AdoptedIssuer): readonly Step[] {
  const notes = losses.map((loss): Step => ({ do: 'say', line: `note      ${from}: ${loss}` }));
  const there = ownIssuers.find(({ metadata }) => metadata.name === name);
  if (there === undefined) {
    const object = { metadata: { name, annotations: { [adoptedAnnotation]: from } }, spec };
    const line = `create    Issuer ${name} (from ${from}) for ${spec.domains.join(', ')}`;
    return [{ do: 'createIssuer', object, line }, ...notes];
  }
  if (there.metadata.annotations?.[adoptedAnnotation] !== from || !isSameProof(there.spec, spec)) {
    const line = `note      Issuer ${name} exists and is left unchanged: it must allow ${spec.domains.join(', ')}`;
    return [{ do: 'say', line }];
  }
  const known = list(record(there.spec).domains).map(String);
  const added = spec.domains.filter((domain) => !known.includes(domain));
  if (added.length === 0) return [];
  const body = {
    metadata: { resourceVersion: there.metadata.resourceVersion },
    spec: { domains: [...known, ...added] },
  };
  return [{ do: 'extendIssuer', name, body, line: `extend    Issuer ${name} by ${added.join(', ')}` }];
}

/** Their issuer may have changed since; then people decide. */
function isSameProof(one: unknown, other: unknown): boolean {
  const [a, b] = [readIssuerSpec(one), readIssuerSpec(other)];
  return !('invalid' in a) && !('invalid' in b) && equal(a.acme, b.acme) && equal(a.ca, b.ca);
}

/** The Secret first: a Domain that finds it without our label would leave it alone. */
function certificateSteps(
  found: Found,
  certificate: TheirCertificate,
  issuer: AdoptedIssuer,
): readonly Step[] {
  const { namespace } = found;
  const { name, hosts, secretName } = certificate;
  const host = readHost(hosts[0] ?? '');
  if (typeof host !== 'string') return [skip(found, certificate, host.invalid)];
  const secret = secretStep(found, secretName, host);
  if ('refusal' in secret) return [skip(found, certificate, secret.refusal)];
  const domain = domainStep(found, { name, host, secretName, issuer: issuer.name });
  if ('refusal' in domain) return [skip(found, certificate, domain.refusal)];
  const notes = certificate.losses.map(
    (loss): Step => ({ do: 'say', line: `note      Certificate ${namespace}/${name}: ${loss}` }),
  );
  return [...secret.steps, ...domain.steps, ...notes];
}

type Steps = { readonly steps: readonly Step[] } | { readonly refusal: string };

function secretStep({ namespace, secrets }: Found, name: string, host: string): Steps {
  const secret = secrets.get(name);
  const place = `Secret ${namespace}/${name}`;
  if (secret === undefined)
    return { steps: [{ do: 'say', line: `note      ${place} does not exist: a certificate is ordered` }] };
  const { labels = {}, annotations = {}, ownerReferences, resourceVersion, uid } = secret.metadata;
  if (labels[domainLabel] !== undefined)
    return annotations[hostAnnotation] === host
      ? { steps: [{ do: 'say', line: `as it is  ${place} is Orrery's already` }] }
      : { refusal: `${place} already belongs to ${annotations[hostAnnotation] ?? 'another host'}` };
  if (secret.type !== 'kubernetes.io/tls') return { refusal: `${place} is not of type kubernetes.io/tls` };
  const owners = list(ownerReferences).filter((one) => record(one).kind !== 'Certificate');
  const marks = { labels: { [domainLabel]: hostLabel(host) }, annotations: { [hostAnnotation]: host } };
  const body = {
    metadata: {
      uid,
      resourceVersion,
      ...marks,
      // Otherwise it would be deleted with the Certificate.
      ...(owners.length === list(ownerReferences).length ? {} : { ownerReferences: owners }),
    },
  };
  const isGood = secretPart({ ...secret, metadata: { ...secret.metadata, ...marks } }).fingerprint !== null;
  const outcome = isGood
    ? 'with its certificate; nothing is ordered'
    : 'which holds no certificate for it: one is ordered';
  return { steps: [{ do: 'takeSecret', name, body, line: `take over ${place} for ${host}, ${outcome}` }] };
}

function domainStep(
  { namespace, ownDomains }: Found,
  {
    name,
    host,
    secretName,
    issuer,
  }: { readonly name: string; readonly host: string; readonly secretName: string; readonly issuer: string },
): Steps {
  const there = ownDomains.find(({ metadata }) => metadata.name === name);
  if (there !== undefined) {
    const own = record(there.spec);
    return own.host === host && own.secretName === secretName
      ? { steps: [{ do: 'say', line: `unchanged Domain ${namespace}/${name} exists` }] }
      : { refusal: `there is another Domain ${namespace}/${name}` };
  }
  const object = { metadata: { name, namespace }, spec: { host, secretName, issuer } };
  return {
    steps: [
      {
        do: 'createDomain',
        object,
        line: `create    Domain ${namespace}/${name}: ${host} by Issuer ${issuer}`,
      },
    ],
  };
}

/** Two controllers that renew one Secret undo each other's work. */
function lastWords({ namespace }: Found, steps: readonly Step[]): readonly Step[] {
  const names = steps.flatMap((step) => (step.do === 'createDomain' ? [step.object.metadata.name] : []));
  if (names.length === 0) return [];
  const line = `then      delete these, or cert-manager goes on renewing the same Secrets: kubectl delete certificates.cert-manager.io -n ${namespace} ${names.join(' ')}`;
  return [{ do: 'say', line }];
}
