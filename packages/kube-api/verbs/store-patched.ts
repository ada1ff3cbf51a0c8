/** A patched object, as the patch sees it and as it is stored. */

import type { Answer, Target } from '../http/request.ts';
import type { JsonObject } from '../json.ts';
import { apiVersionOf, type Resource, shown } from '../resources/resource.ts';
import type { Version } from '../storage/version.ts';
import type { Cluster } from '../verb-parts.ts';
import type { Writer } from '../writing/field-ownership.ts';
import type { WriteOptions } from '../writing/options.ts';
import { readObject } from '../writing/read-object.ts';
import { replace } from '../writing/replace.ts';
import { objectAnswer, placeOfTarget } from './read.ts';
import { checkName } from './write.ts';

/** The object with apiVersion and kind, as a patch sees it. */
export function shownValue(resource: Resource, version: Version): JsonObject {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...shown(resource, version.object) };
}

/** Decodes a patched object again and replaces the old one with it. */
export function storePatched(
  cluster: Cluster,
  target: Target,
  old: Version,
  value: JsonObject,
  options: WriteOptions & { writer?: Writer },
): Answer {
  const { resource } = target;
  const { object, warnings } = readObject(resource, value, options);
  checkName(placeOfTarget(target).name, value);
  const part = target.subresource === 'status' ? 'status' : 'object';
  // A patch that removes the version equals one that does not mention it.
  const { resourceVersion } = object.metadata;
  if (resourceVersion === '')
    object.metadata = { ...object.metadata, resourceVersion: old.object.metadata.resourceVersion };
  return objectAnswer(resource, replace(cluster, resource, old, object, { part, ...options }), 200, warnings);
}
