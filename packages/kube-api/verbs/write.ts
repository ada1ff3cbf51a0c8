/** POST and PUT of whole objects. */

import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { type JsonObject, textAt } from '../json.ts';
import { badRequest, notFound } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject } from '../writing/body.ts';
import { insert } from '../writing/insert.ts';
import { writeOptions, writerOf } from '../writing/options.ts';
import { readObject } from '../writing/read-object.ts';
import { checkUid, replace } from '../writing/replace.ts';
import { objectAnswer, placeOfTarget } from './read.ts';

export function createObject(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const options = writeOptions(request.query, 'CreateOptions');
  const { object, warnings } = readObject(resource, bodyObject(request, resource), options);
  const version = insert(cluster, resource, object, {
    namespace: target.namespace ?? '',
    isDryRun: options.isDryRun,
    writer: writerOf(request, options),
  });
  return objectAnswer(resource, version, 201, warnings);
}

export function updateObject(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const options = writeOptions(request.query, 'UpdateOptions');
  const body = bodyObject(request, resource);
  const { object, warnings } = readObject(resource, body, options);
  const place = placeOfTarget(target);
  checkName(place.name, body);
  const old = cluster.store.collection(resource.storage).get(place);
  const isNew = old === undefined && resource.rules.createsOnUpdate && target.subresource === '';
  if (old === undefined && !isNew) throw notFound(resource, place.name);
  checkUid(resource, old, place, object.metadata.uid);
  if (old === undefined) {
    // There is no version to compare with.
    const unversioned = { ...object, metadata: { ...object.metadata, resourceVersion: '' } };
    const version = insert(cluster, resource, unversioned, {
      namespace: place.namespace,
      isDryRun: options.isDryRun,
      writer: writerOf(request, options),
    });
    return objectAnswer(resource, version, 201, warnings);
  }
  const part = target.subresource === 'status' ? 'status' : 'object';
  const writer = writerOf(request, options, target.subresource);
  return objectAnswer(
    resource,
    replace(cluster, resource, old, object, { part, isDryRun: options.isDryRun, writer }),
    200,
    warnings,
  );
}

/**
 * If the object has a name, it must be the path's.
 * @throws ApiError 400
 */
export function checkName(name: string, value: JsonObject): void {
  const own = textAt(value, 'metadata', 'name');
  if (own === name) return;
  if (own === '')
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`);
}
