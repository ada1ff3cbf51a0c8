/**
 * PATCH in its four forms: JSON patch, JSON merge patch, strategic merge patch (built-in kinds), apply.
 *
 * Promises: the patch is applied to the object as the resource shows it, and the result is decoded like
 * anything that a client sends, so every rule of an update holds. Because the server has one thread, a patch
 * without resourceVersion never conflicts.
 */

import { type Answer, type ApiRequest, isSet, type Target } from '../http/request.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { jsonPatch } from '../patching/json-patch.ts';
import { mergePatch } from '../patching/merge-patch.ts';
import { strategicMerge } from '../patching/strategic.ts';
import type { Resource } from '../resources/resource.ts';
import { badRequest, notFound, unknownMedia, unsupportedMedia } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { mediaType, patchValue } from '../writing/body.ts';
import { writeOptions, writerOf } from '../writing/options.ts';
import { applyObject } from './apply.ts';
import { placeOfTarget } from './read.ts';
import { shownValue, storePatched } from './store-patched.ts';

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
  if (form === 'apply')
    return applyObject(cluster, target, old, objectPatch(patch), {
      ...options,
      force: isSet(request.query, 'force'),
    });
  if (old === undefined) throw notFound(resource, placeOfTarget(target).name);
  const value = patched(resource, form, shownValue(resource, old), patch);
  const writer = writerOf(request, options, target.subresource);
  return storePatched(cluster, target, old, value, { ...options, writer });
}

/** @throws ApiError 415 for a form that the resource does not accept */
export function formOf(request: ApiRequest, allowed: readonly PatchForm[]): PatchForm {
  const type = mediaType(request.contentType);
  const form = patchForms.find((name) => formTypes[name] === type);
  if (form === undefined) throw unknownMedia();
  if (!allowed.includes(form)) throw unsupportedMedia(allowed.map((name) => formTypes[name]));
  return form;
}

/** @throws ApiError 400 for a malformed patch, 422 for a JSON patch that cannot be applied */
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
