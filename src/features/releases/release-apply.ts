/**
 * Brings one object of a bundle to its manifest's state, by server-side apply.
 *
 * Promises (docs/features/releases.md §3): an existing object that is not ours is changed only if the
 * manifest adopts it, and one of another bundle never; what somebody creates between our look and our apply
 * is given back as it was; if the API server refuses because a field is immutable, that is an error, unless
 * the manifest says `recreate`: then exactly the object that was seen is deleted and recreated.
 */

import { asError, hasCode, OrreryError } from '../../base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../base/kube-port.ts';
import { isInvalid, unlessGone } from '../../kube/api/absent.ts';
import { preconditions } from '../../kube/effects/object-edit.ts';
import {
  type BundleObject,
  builtinLabel,
  bundleLabel,
  immutableMark,
  isAdopting,
  isRecreatable,
} from './bundle.ts';

/** Our name in managedFields. */
export const fieldManager = 'orrery-release';

export interface AppliedObject {
  readonly object: KubeObject;
  /** The object before; null: there was none. */
  readonly before: KubeObject | null;
  readonly isReplaced: boolean;
}

export interface ApplyParts {
  readonly kube: KubePort;
  /** Uids of somebody else's objects that still have our fields, until they are given back. */
  readonly joined: Set<string>;
}

/**
 * @throws OrreryError KUBE_… of the API server, KUBE_CONFLICT while the object is being deleted, KUBE_REFUSED
 *   for somebody else's
 */
export async function applyObject(
  parts: ApplyParts,
  resource: KubeResource,
  manifest: BundleObject,
  signal: AbortSignal,
): Promise<AppliedObject> {
  for (let looks = 1; ; looks++) {
    const found = await find(parts.kube, resource, manifest, signal);
    const isJoined = found !== null && parts.joined.has(found.metadata.uid ?? '');
    if (isJoined) await giveBack(parts, resource, found, signal);
    const live = isJoined ? await find(parts.kube, resource, manifest, signal) : found;
    if (live !== null) checkMayTouch(manifest, live);
    try {
      return await applyOver(parts, resource, manifest, live, signal);
    } catch (thrown) {
      // It was written meanwhile, perhaps by a new owner, so its ownership has to be checked again.
      if (!isWrittenMeanwhile(thrown) || looks >= looksMax) throw thrown;
    }
  }
}

/** For an object that is written constantly; the next round follows soon. */
const looksMax = 5;

const isWrittenMeanwhile = (thrown: unknown) =>
  hasCode(thrown, 'KUBE_CONFLICT') && thrown.facts.status === 409;

async function applyOver(
  parts: ApplyParts,
  resource: KubeResource,
  manifest: BundleObject,
  live: KubeObject | null,
  signal: AbortSignal,
): Promise<AppliedObject> {
  const { kube } = parts;
  const place = placeOf(resource, manifest);
  try {
    const object = await apply(parts, resource, manifest, live, signal);
    return { object, before: live, isReplaced: false };
  } catch (thrown) {
    if (live === null || !isImmutable(thrown)) throw thrown;
    if (!isRecreatable(manifest)) throw unchangeable(manifest, asError(thrown));
  }
  await kube.delete(resource, place.namespace, place.name, preconditions(live.metadata), signal);
  if ((await find(kube, resource, manifest, signal)) !== null) throw beingDeleted();
  const object = await apply(parts, resource, manifest, null, signal);
  return { object, before: live, isReplaced: true };
}

/** A namespaced object without a namespace in its manifest is in `default`, as with kubectl. */
export function placeOf(resource: KubeResource, { metadata }: BundleObject) {
  const { name, namespace = 'default' } = metadata;
  return { name, namespace: resource.namespaced ? namespace : undefined };
}

function find(
  kube: KubePort,
  resource: KubeResource,
  manifest: BundleObject,
  signal: AbortSignal,
): Promise<KubeObject | null> {
  const { namespace, name } = placeOf(resource, manifest);
  return unlessGone(kube.get(resource, namespace, name, signal));
}

async function apply(
  parts: ApplyParts,
  resource: KubeResource,
  manifest: BundleObject,
  live: KubeObject | null,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { name, namespace } = placeOf(resource, manifest);
  // An object that was replaced or written since it was read is refused, because it may be somebody else's
  // now.
  const seen = live === null ? {} : preconditions(live.metadata);
  const { namespace: _, ...metadata } = manifest.metadata;
  const scope = namespace === undefined ? {} : { namespace };
  const body = { ...manifest, metadata: { ...metadata, ...scope, ...seen } };
  // What was not there has nobody's fields; whoever has created it meanwhile keeps them.
  const force = live !== null;
  const patch = { ...scope, name, type: 'apply', body, fieldManager, force } as const;
  const object = await parts.kube.patch(resource, patch, signal);
  const managers = object.metadata.managedFields ?? [];
  if (live !== null || managers.every(({ manager }) => manager === fieldManager)) return object;
  // Kubernetes has no apply that only creates: our fields are now among those of whoever created it.
  await giveBack(parts, resource, object, signal);
  throw new OrreryError('KUBE_CONFLICT', 'somebody else created it meanwhile', { facts: { status: 409 } });
}

/** An apply without fields takes away those that are ours alone. */
async function giveBack(
  { kube, joined }: ApplyParts,
  resource: KubeResource,
  { apiVersion, kind, metadata: { name, namespace, uid = '' } }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  joined.add(uid);
  const scope = namespace === undefined ? {} : { namespace };
  const body = { apiVersion, kind, metadata: { name, ...scope, uid } };
  try {
    await kube.patch(resource, { ...scope, name, type: 'apply', body, fieldManager, force: false }, signal);
  } catch (thrown) {
    // It is gone, or another one has its name.
    if (!isWrittenMeanwhile(thrown)) throw thrown;
  }
  joined.delete(uid);
}

function checkMayTouch(manifest: BundleObject, { metadata }: KubeObject): void {
  if (metadata.deletionTimestamp !== undefined) throw beingDeleted();
  const { [bundleLabel]: owner, [builtinLabel]: builtin } = metadata.labels ?? {};
  const id = manifest.metadata.labels[bundleLabel];
  if (owner !== undefined && owner !== id) {
    throw new OrreryError(
      'KUBE_REFUSED',
      `it belongs to the bundle ${owner} and is left alone; this one is ${id}`,
    );
  }
  // Earlier releases had no other mark: an object with it that this bundle contains becomes this bundle's.
  if (owner === id || builtin === 'true' || isAdopting(manifest)) return;
  throw new OrreryError(
    'KUBE_REFUSED',
    `it exists without the label ${bundleLabel}: ${id} (or ${builtinLabel}: "true") and is left alone; the annotation orrery.dev/adopt: "true" on the manifest takes it over`,
  );
}

function unchangeable({ kind }: BundleObject, thrown: Error): OrreryError {
  const isNever = kind === 'CustomResourceDefinition' || kind === 'Namespace';
  const way = isNever
    ? `a ${kind} is never recreated: everything in it would be lost`
    : `the annotation ${immutableMark}: recreate on the manifest deletes and recreates the object`;
  return new OrreryError('KUBE_REFUSED', `${thrown.message}; ${way}`, { cause: thrown });
}

function beingDeleted(): OrreryError {
  return new OrreryError('KUBE_CONFLICT', 'the object of that name is still being deleted');
}

/**
 * The API server has no reason code for this; these are the words of its validations and of the custom
 * resources'.
 */
const immutableWords =
  /immutable|cannot (be )?(change|updated)|may not (be )?change|can(no|')t be changed|updates to .* (is|are) forbidden|field is not mutable/i;

function isImmutable(thrown: unknown): boolean {
  return isInvalid(thrown) && immutableWords.test(thrown.message);
}
