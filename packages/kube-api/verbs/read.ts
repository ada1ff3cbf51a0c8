/** GET of one object, and finding the object that a request is about. */

import { objectText } from '../encoding.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import type { Resource } from '../resources/resource.ts';
import { notFound, versionTooLarge } from '../status.ts';
import type { Version } from '../storage/version.ts';
import type { Place } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { parseVersion } from './list-options.ts';

export function getObject(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const wanted = parseVersion(request.query);
  if (wanted !== undefined && wanted > cluster.store.revision)
    throw versionTooLarge(wanted, cluster.store.revision);
  return objectAnswer(target.resource, existing(cluster, target));
}

/** @throws ApiError 404 */
export function existing(cluster: Cluster, target: Target): Version {
  const place = placeOfTarget(target);
  const version = cluster.store.collection(target.resource.storage).get(place);
  if (version === undefined) throw notFound(target.resource, place.name);
  return version;
}

export function placeOfTarget(target: Target): Place {
  return { namespace: target.namespace ?? '', name: target.name ?? '' };
}

export function objectAnswer(
  resource: Resource,
  version: Version,
  code = 200,
  warnings: readonly string[] = [],
): Answer {
  return { code, body: objectText(resource, version), warnings };
}
