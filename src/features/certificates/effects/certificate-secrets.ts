/**
 * The Secrets of certificates: reads them, and writes them without ever overwriting somebody else's.
 *
 * Promises: a Secret without our label, or of another host, is never written – not even one that appears
 * between reading and writing: a new one is created, and a known one is applied only if it is the same
 * object. Keys go from their maker into a Secret, and from one Secret into another; no error quotes one (I9).
 * Absent: what is stored when (the chart), and what a certificate is (stored-certificate.ts).
 */

import { OrreryError } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { isAnother, isInvalid, unlessAnother, unlessGone } from '../../../kube/api/absent.ts';
import { preconditions } from '../../../kube/effects/object-edit.ts';
import type { DomainSource, Target } from '../../../machines/domain/domain-facts.ts';
import { takenText, waysOn } from '../../../machines/domain/domain-lacking.ts';
import { verifies } from '../acme/trust.ts';
import { domainLabel, hostLabel } from '../hosts.ts';
import { secrets } from '../resources.ts';
import { isFor, type PublicPart, readPair, sha256Hex } from '../stored-certificate.ts';

export interface Pair {
  /** PEM, the whole chain. */
  readonly chain: string;
  /** PEM; secret. */
  readonly key: string;
}

/** What is written. */
interface Written extends Pair {
  readonly order: string;
  /** The `ca.crt`; null: none. */
  readonly trusted: string | null;
}

/** The state of a target. */
export type Stored =
  | { readonly is: 'absent' }
  /** Ours, without a usable certificate for the host. */
  | { readonly is: 'broken'; readonly object: KubeObject }
  | {
      readonly is: 'good';
      readonly object: KubeObject;
      readonly pair: Pair;
      readonly facts: PublicPart;
      /** Somebody changed the label: it is to be written again. */
      readonly isMislabelled: boolean;
    }
  /** Somebody else's, or another host's: it is left untouched (docs/features/certificates.md §3.2, §3.3). */
  | { readonly is: 'foreign'; readonly why: string };

const pendingLabel = 'orrery.dev/pending-domain';
const hostAnnotation = 'orrery.dev/host';
const orderAnnotation = 'orrery.dev/order';
const fieldManager = 'orrery';
const secretNameCharsMax = 253;

export async function readTarget(
  kube: KubePort,
  host: string,
  { namespace, secretName, former }: Target,
  signal: AbortSignal,
): Promise<Stored> {
  const object = await find(kube, namespace, secretName, signal);
  if (object === null) return { is: 'absent' };
  const why = foreignIn(object, host, former);
  if (why !== null) return { is: 'foreign', why };
  const pair = pairIn(object);
  const facts = readPair(pair.chain, pair.key);
  const isWhole =
    object.metadata.annotations?.[hostAnnotation] === host && object.type === 'kubernetes.io/tls';
  if ('broken' in facts || !isFor(facts, host) || !isWhole) return { is: 'broken', object };
  const isMislabelled = object.metadata.labels?.[domainLabel] !== hostLabel(host);
  return { is: 'good', object, pair, facts, isMislabelled };
}

/**
 * Why a Secret is not this host's, for people; null: it is. Without the annotation, its label counts.
 *
 * @param former a host whose certificate it may replace; undefined: none
 */
function foreignIn({ metadata }: KubeObject, host: string, former: string | undefined): string | null {
  const place = `Secret ${metadata.namespace ?? ''}/${metadata.name}`;
  const label = metadata.labels?.[domainLabel];
  if (label === undefined)
    return `${place} exists without the label ${domainLabel} and is not overwritten (${waysOn})`;
  const holder = metadata.annotations?.[hostAnnotation] ?? '';
  const isMine = holder === host || (holder === '' && label === hostLabel(host));
  if (isMine || (holder !== '' && holder === former)) return null;
  return takenText(`${metadata.namespace ?? ''}/${metadata.name}`, holder === '' ? label : holder);
}

/**
 * @param before the target's state, just read
 * @returns why the Secret was left alone (it is somebody else's); null: it was written
 */
export async function writeTarget(
  kube: KubePort,
  host: string,
  { target, before }: { readonly target: Target; readonly before: Stored },
  pair: Written,
  signal: AbortSignal,
): Promise<string | null> {
  if (before.is === 'foreign') return before.why;
  if (before.is === 'good' && before.pair.chain === pair.chain && !before.isMislabelled) return null;
  const seen = before.is === 'absent' ? null : before.object;
  try {
    await applyTarget(kube, host, target, pair, seen, signal);
    return null;
  } catch (thrown) {
    // It was created or changed since it was read.
    const isOtherwise = isAnother(thrown) || isInvalid(thrown);
    const now = isOtherwise ? await readTarget(kube, host, target, signal) : null;
    if (now?.is !== 'foreign') throw thrown;
    return now.why;
  }
}

async function applyTarget(
  kube: KubePort,
  host: string,
  { namespace, secretName }: Target,
  { chain, key, order, trusted }: Written,
  before: KubeObject | null,
  signal: AbortSignal,
): Promise<void> {
  const seen = before === null ? null : await withoutFormer(kube, before, { chain, trusted }, signal);
  // A Secret's type is immutable: one of ours that somebody recreated with another type is deleted first.
  if (seen !== null && seen.type !== 'kubernetes.io/tls') {
    await kube.delete(secrets, namespace, secretName, preconditions(seen.metadata), signal);
    return applyTarget(kube, host, { namespace, secretName }, { chain, key, order, trusted }, null, signal);
  }
  const metadata = {
    name: secretName,
    namespace,
    labels: { [domainLabel]: hostLabel(host) },
    annotations: { [hostAnnotation]: host, [orderAnnotation]: order },
    ...(seen === null ? {} : preconditions(seen.metadata)),
  };
  const body = {
    metadata,
    type: 'kubernetes.io/tls',
    data: {
      'tls.crt': encoded(chain),
      'tls.key': encoded(key),
      ...(trusted === null ? {} : { 'ca.crt': encoded(trusted) }),
    },
  };
  // A missing one is created rather than applied: of two simultaneous hosts, the first wins.
  if (seen === null) {
    await kube.create(secrets, body, signal);
    return;
  }
  const options = { namespace, name: secretName, type: 'apply', body, fieldManager, force: true } as const;
  await kube.patch(secrets, options, signal);
}

/**
 * Without a `ca.crt` that belongs to the certificate before and not to this one: clients that trust it alone
 * would refuse the new one. What fits neither is somebody else's, such as a list of clients' CAs, and stays.
 */
async function withoutFormer(
  kube: KubePort,
  object: KubeObject,
  { chain, trusted }: Pick<Written, 'chain' | 'trusted'>,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { 'ca.crt': former = '', 'tls.crt': before = '' } = decodedData(object);
  if (former === '' || trusted !== null || verifies(former, chain) || !verifies(former, before))
    return object;
  const { namespace = '', name } = object.metadata;
  const body = { metadata: preconditions(object.metadata), data: { 'ca.crt': null } };
  return kube.patch(secrets, { namespace, name, type: 'merge', body }, signal);
}

/** The order, or the run of a CA's signature, that made the certificate; empty if unknown. */
export function orderOf({ metadata: { annotations } }: KubeObject): string {
  return annotations?.[orderAnnotation] ?? '';
}

/** A key that waits for its certificate, and later the certificate that waits to be stored. */
export interface Pending {
  readonly order: string;
  readonly key: string;
  /** Empty until it is issued. */
  readonly chain: string;
}

/** As it was found. */
export interface FoundPending extends Pending {
  /** When its Secret was created, ms since the epoch; null: unknown. */
  readonly createdAt: number | null;
}

/** `<secretName>-next`; if that is too long, a hash replaces its end. */
export function pendingName({ secretName }: Target): string {
  const name = `${secretName}-next`;
  if (name.length <= secretNameCharsMax) return name;
  return `${secretName.slice(0, 220).replace(/[^a-z0-9]+$/, '')}-${sha256Hex(secretName).slice(0, 16)}-next`;
}

/** @throws OrreryError CERTIFICATE_UNUSABLE if the Secret with that name is somebody else's */
export async function readPending(
  kube: KubePort,
  at: Target,
  signal: AbortSignal,
): Promise<FoundPending | null> {
  const object = await find(kube, at.namespace, pendingName(at), signal);
  if (object === null) return null;
  if (object.metadata.labels?.[pendingLabel] === undefined) {
    const name = `${at.namespace}/${pendingName(at)}`;
    throw new OrreryError(
      'CERTIFICATE_UNUSABLE',
      `Secret ${name} exists without the label ${pendingLabel} and is not overwritten`,
    );
  }
  const { chain, key } = pairIn(object);
  const { annotations, creationTimestamp } = object.metadata;
  const createdAt = Date.parse(creationTimestamp ?? '') || null;
  return { order: annotations?.[orderAnnotation] ?? '', key, chain, createdAt };
}

export async function writePending(
  kube: KubePort,
  { host, at, source }: { readonly host: string; readonly at: Target; readonly source: DomainSource | null },
  { order, key, chain }: Pending,
  signal: AbortSignal,
): Promise<void> {
  const before = await readPending(kube, at, signal);
  const name = pendingName(at);
  const metadata = {
    name,
    namespace: at.namespace,
    labels: { [pendingLabel]: hostLabel(host) },
    annotations: { [hostAnnotation]: host, [orderAnnotation]: order },
    ...(source?.namespace === at.namespace ? { ownerReferences: [ownerOf(source)] } : {}),
  };
  const data = { 'tls.key': encoded(key), ...(chain === '' ? {} : { 'tls.crt': encoded(chain) }) };
  const body = { metadata, type: 'Opaque', data };
  const options = {
    namespace: at.namespace,
    name,
    type: 'apply',
    body,
    fieldManager,
    force: before !== null,
  } as const;
  await kube.patch(secrets, options, signal);
}

/**
 * Kubernetes deletes it with the object that asked, even without us (docs/features/certificates.md §3.7).
 */
function ownerOf({ kind, name, uid }: DomainSource) {
  return { apiVersion: sourceVersions[kind], kind, name, uid };
}

export const sourceVersions = {
  Domain: 'orrery.dev/v1alpha1',
  Service: 'v1',
  Ingress: 'networking.k8s.io/v1',
} as const;

/** Removes the pending Secret, if it is the host's: another one may keep its key there since. */
export async function removePending(
  kube: KubePort,
  { host, at }: { readonly host: string; readonly at: Target },
  signal: AbortSignal,
): Promise<void> {
  const object = await find(kube, at.namespace, pendingName(at), signal);
  if (object?.metadata.labels?.[pendingLabel] !== hostLabel(host)) return;
  await unlessAnother(
    kube.delete(secrets, at.namespace, pendingName(at), preconditions(object.metadata), signal),
  );
}

/** Values of a Secret, as text; null: it does not exist. */
export async function readSecret(
  kube: KubePort,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>> | null> {
  const object = await find(kube, namespace, name, signal);
  return object === null ? null : decodedData(object);
}

export const find = (kube: KubePort, namespace: string, name: string, signal: AbortSignal) =>
  unlessGone(kube.get(secrets, namespace, name, signal));

function pairIn(object: KubeObject): Pair {
  const data = decodedData(object);
  return { chain: data['tls.crt'] ?? '', key: data['tls.key'] ?? '' };
}

export function decodedData(object: KubeObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries((object.data ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '',
    ]),
  );
}

export const encoded = (text: string) => Buffer.from(text).toString('base64');
