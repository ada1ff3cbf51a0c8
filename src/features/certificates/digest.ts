/**
 * The digests of objects that ask for certificates, and of the Secrets that contain them.
 *
 * Promises: of a Secret, only the public part of its certificate leaves this file (I9); hosts are canonical;
 * an unreadable list of hosts changes nothing: the last readable one stays in effect.
 */

import { asDigest, type DigestPart, type ObjectDigest } from '../../base/digests.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { conditionOf } from '../../kube/api/conditions.ts';
import { type Fields, list, record } from '../../kube/api/fields.ts';
import { generationOf } from '../../kube/mirror/object-digest.ts';
import { secretNameOf } from '../../machines/domain/domain-facts.ts';
import { saidIn as domainSaid } from '../../machines/domain/domain-report.ts';
import { saidIn as issuerSaid } from '../../machines/issuer/issuer-report.ts';
import { saidNothing } from '../../machines/said.ts';
import type { DomainDigest, IngressDigest, IssuerDigest, SecretDigest, ServiceDigest } from './digests.ts';
import { readDomainSpec } from './domain-spec.ts';
import { domainLabel, hostLabel, readHost } from './hosts.ts';
import { readIssuerSpec } from './issuer-spec.ts';
import { isFor, readPair } from './stored-certificate.ts';

const serveAnnotation = 'orrery.dev/serve';
const issuerAnnotation = 'orrery.dev/issuer';
const hostAnnotation = 'orrery.dev/host';
/** On Domains that show hosts of Services and Ingresses. */
export const shownLabel = 'orrery.dev/shown';
const renewAnnotation = 'orrery.dev/renew';
/** Enough to distinguish one request from the next. */
const renewCharsMax = 64;

export function issuerPart(object: KubeObject): DigestPart<IssuerDigest> {
  const spec = readIssuerSpec(object.spec);
  return { generation: generationOf(object), spec, said: saidByIssuer(object.status) };
}

function saidByIssuer(value: unknown): string {
  if (value == null) return saidNothing;
  const { observedGeneration: generation, rateLimitedUntil } = record(value);
  const { status, reason } = conditionOf(value, 'Ready') ?? {};
  return issuerSaid({ generation, rateLimitedUntil, status, reason });
}

export function domainPart(object: KubeObject): DigestPart<DomainDigest> {
  const renew = object.metadata.annotations?.[renewAnnotation];
  const wish = typeof renew === 'string' ? { renew: renew.slice(0, renewCharsMax) } : {};
  const spec = readDomainSpec(object.spec);
  const said = saidByDomain(object.status);
  return { generation: generationOf(object), spec, ...wish, ...shown(object), said };
}

function saidByDomain(value: unknown): string {
  if (value == null) return saidNothing;
  const { observedGeneration: generation, state, notAfter } = record(value);
  const { status, reason } = conditionOf(value, 'Ready') ?? {};
  return domainSaid({ generation, state, notAfter, status, reason });
}

function shown({ metadata }: KubeObject): Pick<DomainDigest, 'shown' | 'owners'> {
  const owners = list(metadata.ownerReferences).map((one) => String(record(one).uid));
  // A person's own Domain may have the label by mistake: without an owner, it would never ask for anything.
  return metadata.labels?.[shownLabel] === undefined || owners.length === 0 ? {} : { shown: true, owners };
}

export function ingressPart(object: KubeObject): DigestPart<IngressDigest> {
  const issuer = object.metadata.annotations?.[issuerAnnotation] ?? null;
  const digest = { generation: generationOf(object), issuer };
  // Of an Ingress without our annotation, nothing else is kept (I10).
  if (issuer === null) return { ...digest, hosts: [], invalid: null };
  const tls = list(record(object.spec).tls).map(record);
  const entries = tls.flatMap(tlsHosts);
  const hosts = entries.flatMap(({ host, secretName }) =>
    typeof host === 'string' ? [{ host, secretName }] : [],
  );
  const invalid = [
    ...(hosts.length > limits.hostsPerObject ? [`${tooMany(hosts.length)}: the first are served`] : []),
    ...entries.flatMap(({ host }) => (typeof host === 'string' ? [] : [host.invalid])),
  ];
  return {
    ...digest,
    hosts: hosts.slice(0, limits.hostsPerObject),
    invalid: invalid.length === 0 ? null : `spec.tls: ${invalid.slice(0, 5).join('; ')}`,
    ...unwritten(tls, hosts),
  };
}

/** Ingress controllers look for these Secrets, and nothing else shows that they are not written. */
function unwritten(
  tls: readonly Fields[],
  asked: ReadonlyArray<{ readonly secretName: string }>,
): Pick<IngressDigest, 'unwritten'> {
  const written = new Set(asked.map(({ secretName }) => secretName));
  const named = tls.flatMap(({ hosts, secretName }) =>
    typeof secretName === 'string' && secretName !== '' && list(hosts).length > 1 ? [secretName] : [],
  );
  const names = named.filter((name) => !written.has(name));
  return names.length === 0 ? {} : { unwritten: names.slice(0, 5) };
}

/**
 * A Secret contains the certificate of one host: an entry with one host uses the entry's own Secret name.
 */
function tlsHosts({ hosts: given, secretName }: Fields) {
  const hosts = list(given).filter((host) => typeof host === 'string');
  return hosts.map((text) => {
    const host = readHost(text);
    const isOwn = hosts.length === 1 && typeof secretName === 'string' && secretName !== '';
    return { host, secretName: isOwn ? secretName : typeof host === 'string' ? secretNameOf(host) : '' };
  });
}

export function secretPart(object: KubeObject): DigestPart<SecretDigest> {
  const { 'tls.crt': chain, 'tls.key': key } = record(object.data);
  const host = object.metadata.annotations?.[hostAnnotation] ?? '';
  const pair = readPair(decoded(chain), decoded(key));
  // Somebody who looks for it by its label does not find it under another one.
  const isLabelled = object.metadata.labels?.[domainLabel] === hostLabel(host);
  const isWhole = !('broken' in pair) && isFor(pair, host) && isLabelled;
  return {
    host,
    fingerprint: isWhole ? pair.fingerprint : null,
    hosts: isWhole ? pair.hosts : [],
    notBefore: isWhole ? pair.notBefore : 0,
    notAfter: isWhole ? pair.notAfter : 0,
  };
}

/**
 * `app.example.com:443,app.example.com:80`: the distinct hosts with port 443; nothing without the annotation.
 */
export function servicePart(object: KubeObject): DigestPart<ServiceDigest> {
  const text = object.metadata.annotations?.[serveAnnotation];
  if (typeof text !== 'string') return {};
  const hosts = new Set<string>();
  for (const entry of text.split(',').map((one) => one.trim())) {
    if (entry === '' && text.trim() === '') continue;
    const [, name = '', port = ''] = /^(.+):([0-9]{1,5})$/.exec(entry) ?? [];
    const host = readHost(name);
    if (typeof host !== 'string' || Number(port) < 1 || Number(port) > 65_535) {
      return { serve: { hosts: [], invalid: `"${entry.slice(0, 80)}" is no host:port` } };
    }
    if (Number(port) === 443) hosts.add(host);
  }
  if (hosts.size > limits.hostsPerObject) return { serve: { hosts: [], invalid: tooMany(hosts.size) } };
  return { serve: { hosts: [...hosts], invalid: null } };
}

const tooMany = (count: number) =>
  `${count} hosts are named, but one object may request ${limits.hostsPerObject}`;

/** An unreadable list takes over the previous hosts. */
export function carriedOver(before: ObjectDigest | null, after: ObjectDigest): ObjectDigest {
  const { serve } = asDigest<ServiceDigest>(after, 'services') ?? {};
  if (serve == null || serve.invalid === null) return after;
  const known = before?.uid === after.uid ? asDigest<ServiceDigest>(before, 'services') : null;
  const digest: ServiceDigest = {
    ...after,
    kind: 'services',
    serve: { ...serve, hosts: known?.serve?.hosts ?? [] },
  };
  return digest;
}

function decoded(value: unknown): string {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
}
