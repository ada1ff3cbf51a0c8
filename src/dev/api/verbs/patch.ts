/**
 * PATCH in its four forms: JSON patch, JSON merge patch, strategic merge patch (built-in kinds), apply.
 *
 * Promises: the patch is made on the object as the resource shows it and read again like anything a client sends, so every
 * rule of an update holds. As the server has one thread, a patch without resourceVersion never conflicts.
 */
import type { Cluster } from '../cluster.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { isObject, type Json, type JsonObject, textAt } from '../json.ts';
import { applyConfiguration } from '../patching/apply.ts';
import { jsonPatch } from '../patching/json-patch.ts';
import { mergePatch } from '../patching/merge-patch.ts';
import { strategicMerge } from '../patching/strategic.ts';
import { apiVersionOf, type Resource, shown } from '../resources/resource.ts';
import { badRequest, conflict, notFound, unknownMedia, unsupportedMedia } from '../status.ts';
import type { Version } from '../storage/version.ts';
import { mediaType, patchValue } from '../writing/body.ts';
import { insert } from '../writing/insert.ts';
import { type WriteOptions, writeOptions } from '../writing/options.ts';
import { readObject } from '../writing/read-object.ts';
import { replace } from '../writing/replace.ts';
import { objectAnswer, placeOfTarget } from './read.ts';
import { checkName } from './write.ts';

export type PatchForm = 'json' | 'merge' | 'strategic' | 'apply';

const formTypes: Readonly<Record<PatchForm, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

const patchForms = ['json', 'merge', 'strategic', 'apply'] as const;

export function patchObject(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const form = formOf(
    request,
    resource.isCustom ? ['json', 'merge', 'apply'] : ['json', 'merge', 'strategic', 'apply'],
  );
  const options = writeOptions(request.query, 'PatchOptions', form === 'apply');
  const patch = patchValue(request, form === 'apply');
  const old = cluster.store.collection(resource.storage).get(placeOfTarget(target));
  if (form === 'apply') return applyObject(cluster, target, old, patch, options);
  if (old === undefined) throw notFound(resource, placeOfTarget(target).name);
  const value = patched(resource, form, shownValue(resource, old), patch);
  return store(cluster, target, old, value, options);
}

/** @throws ApiError 415 for a form that the resource does not take */
export function formOf(request: ApiRequest, allowed: readonly PatchForm[]): PatchForm {
  const type = mediaType(request.contentType);
  const form = patchForms.find((name) => formTypes[name] === type);
  if (form === undefined) throw unknownMedia();
  if (!allowed.includes(form)) throw unsupportedMedia(allowed.map((name) => formTypes[name]));
  return form;
}

/** The object with apiVersion and kind, as a patch sees it. */
function shownValue(resource: Resource, version: Version): JsonObject {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...shown(resource, version.object) };
}

/** @throws ApiError 400 for a patch that is of the wrong form, 422 for a JSON patch that cannot be applied */
export function patched(
  resource: Pick<Resource, 'schema'>,
  form: PatchForm,
  value: JsonObject,
  patch: Json,
): JsonObject {
  const result =
    form === 'json' ? jsonPatch(value, patch) : mergedWith(resource, form, value, objectPatch(patch));
  if (!isObject(result)) throw badRequest('the patch leaves no object');
  return result;
}

function mergedWith(
  resource: Pick<Resource, 'schema'>,
  form: PatchForm,
  value: JsonObject,
  patch: JsonObject,
): Json {
  return form === 'strategic' ? strategicMerge(resource.schema, value, patch) : mergePatch(value, patch);
}

function objectPatch(patch: Json): JsonObject {
  if (isObject(patch)) return patch;
  throw badRequest(
    'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  );
}

function store(
  cluster: Cluster,
  target: Target,
  old: Version,
  value: JsonObject,
  options: WriteOptions,
): Answer {
  const { resource } = target;
  const { object, warnings } = readObject(resource, value, options);
  checkName(placeOfTarget(target).name, value);
  const part = target.subresource === 'status' ? 'status' : 'object';
  // A patch that takes the version away is as one that says nothing about it.
  const { resourceVersion } = object.metadata;
  if (resourceVersion === '')
    object.metadata = { ...object.metadata, resourceVersion: old.object.metadata.resourceVersion };
  return objectAnswer(
    resource,
    replace(cluster, resource, old, object, { part, isDryRun: options.isDryRun }),
    200,
    warnings,
  );
}

function applyObject(
  cluster: Cluster,
  target: Target,
  old: Version | undefined,
  patch: Json,
  options: WriteOptions,
): Answer {
  const { resource } = target;
  const applied = objectPatch(patch);
  const place = placeOfTarget(target);
  checkApplied(resource, applied);
  checkAppliedUid(resource, old, place.name, textAt(applied, 'metadata', 'uid'));
  checkName(place.name, applied);
  if (old !== undefined)
    return store(
      cluster,
      target,
      old,
      applyConfiguration(resource.schema, shownValue(resource, old), applied),
      options,
    );
  if (target.subresource !== '') throw notFound(resource, place.name);
  const { object, warnings } = readObject(resource, applied, options);
  const version = insert(cluster, resource, object, {
    namespace: place.namespace,
    isDryRun: options.isDryRun,
  });
  return objectAnswer(resource, version, 201, warnings);
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

/** An applied configuration may be meant for one object only. @throws ApiError 409 */
function checkAppliedUid(resource: Resource, old: Version | undefined, name: string, uid: string): void {
  const known = old?.object.metadata.uid;
  if (uid === '' || uid === known) return;
  const found =
    known === undefined ? 'no existing object was found' : `an existing object with uid ${known} was found`;
  throw conflict(resource, name, `uid mismatch: the provided object specified uid ${uid}, and ${found}`);
}
