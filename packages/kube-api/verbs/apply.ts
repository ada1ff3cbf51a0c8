/** PATCH as server-side apply: creates the object if there is none, and records who owns which field. */
import { kubeTime } from '../../../src/base/kube-time.ts';
import type { Answer, Target } from '../http/request.ts';
import { isObject, type JsonObject, textAt } from '../json.ts';
import { entriesOf, type Manager, type Ownership, ownershipOf } from '../patching/managers.ts';
import { apply, beforeFirstApply } from '../patching/server-side-apply.ts';
import { misfit } from '../patching/typed-check.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { badRequest, conflict, notFound, plainError } from '../status.ts';
import type { Version } from '../storage/version.ts';
import type { Cluster } from '../verb-parts.ts';
import { comparable, emptyObject, ownedSchema } from '../writing/field-ownership.ts';
import { insert } from '../writing/insert.ts';
import type { WriteOptions } from '../writing/options.ts';
import { readObject } from '../writing/read-object.ts';
import { objectAnswer, placeOfTarget } from './read.ts';
import { shownValue, storePatched } from './store-patched.ts';
import { checkName } from './write.ts';

interface ApplyOptions extends WriteOptions {
  readonly force: boolean;
}

export function applyObject(
  cluster: Cluster,
  target: Target,
  old: Version | undefined,
  applied: JsonObject,
  options: ApplyOptions,
): Answer {
  const { resource, subresource } = target;
  const place = placeOfTarget(target);
  checkApplied(resource, applied);
  checkAppliedUid(resource, old, place.name, textAt(applied, 'metadata', 'uid'));
  checkName(place.name, applied);
  checkFit(resource, applied);
  if (old === undefined && subresource !== '') throw notFound(resource, place.name);
  const value = appliedValue(cluster, target, old, applied, options);
  if (old !== undefined) return storePatched(cluster, target, old, value, options);
  const { object, warnings } = readObject(resource, value, options);
  const version = insert(cluster, resource, object, {
    namespace: place.namespace,
    isDryRun: options.isDryRun,
  });
  return objectAnswer(resource, version, 201, warnings);
}

function appliedValue(
  cluster: Cluster,
  { resource, subresource }: Target,
  old: Version | undefined,
  applied: JsonObject,
  { fieldManager, force }: ApplyOptions,
): JsonObject {
  const apiVersion = apiVersionOf(resource);
  const manager: Manager = { name: fieldManager, operation: 'Apply', apiVersion, subresource };
  const time = kubeTime(cluster.clock.now());
  const live = old === undefined ? {} : withoutManagers(shownValue(resource, old));
  const { value, ownership } = apply(
    ownedSchema(resource),
    live,
    addressed(resource, applied, subresource),
    ownershipBefore(resource, old, time),
    { manager, force, time },
  );
  const metadata = isObject(value.metadata) ? value.metadata : {};
  return { ...value, metadata: { ...metadata, managedFields: entriesOf(ownership) } };
}

function ownershipBefore(resource: Resource, old: Version | undefined, time: string): Ownership {
  if (old === undefined) return new Map();
  const known = ownershipOf(old.object.metadata);
  if (known.size > 0) return known;
  const live = comparable(resource, old.object, '');
  return beforeFirstApply(ownedSchema(resource), emptyObject(resource), live, apiVersionOf(resource), time);
}

function withoutManagers(value: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = isObject(value.metadata) ? value.metadata : {};
  return { ...value, metadata };
}

/** The parts of a configuration that the path concerns; the rest is ignored and not owned. */
function addressed(resource: Resource, applied: JsonObject, subresource: string): JsonObject {
  const { status, ...rest } = applied;
  if (subresource !== 'status') return resource.hasStatus ? rest : applied;
  const { apiVersion, kind, metadata } = applied;
  const { name, namespace, resourceVersion } = isObject(metadata) ? metadata : {};
  return { apiVersion, kind, metadata: { name, namespace, resourceVersion }, status };
}

function checkApplied(resource: Resource, applied: JsonObject): void {
  if (isObject(applied.metadata) && applied.metadata.managedFields !== undefined)
    throw badRequest('metadata.managedFields must be nil');
  const apiVersion = textAt(applied, 'apiVersion');
  const kind = textAt(applied, 'kind');
  if (apiVersion === apiVersionOf(resource) && kind === resource.kind) return;
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${kind}`);
}

/** @throws ApiError 500, as the real server does */
function checkFit(resource: Resource, applied: JsonObject): void {
  const problem = misfit(ownedSchema(resource), applied);
  if (problem === undefined) return;
  const name = `${textAt(applied, 'metadata', 'namespace')}/${textAt(applied, 'metadata', 'name')}`;
  const kind = `${resource.group}/${resource.version}, Kind=${resource.kind}`;
  throw plainError(`failed to create typed patch object (${name}; ${kind}): ${problem}`);
}

/**
 * An applied configuration may be meant for one particular object.
 * @throws ApiError 409
 */
function checkAppliedUid(resource: Resource, old: Version | undefined, name: string, uid: string): void {
  const known = old?.object.metadata.uid;
  if (uid === '' || uid === known) return;
  const found =
    known === undefined ? 'no existing object was found' : `an existing object with uid ${known} was found`;
  throw conflict(resource, name, `uid mismatch: the provided object specified uid ${uid}, and ${found}`);
}
