/**
 * The `finalize` subresource of namespaces: whoever has cleaned up removes its finalizer from the
 * specification.
 */

import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { listAt, objectAt } from '../json.ts';
import { modified } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject } from '../writing/body.ts';
import { writeOptions } from '../writing/options.ts';
import { readObject } from '../writing/read-object.ts';
import { save } from '../writing/replace.ts';
import { existing, objectAnswer } from './read.ts';

export function finalizeNamespace(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const options = writeOptions(request.query, 'UpdateOptions');
  const { object } = readObject(resource, bodyObject(request, resource), options);
  const old = existing(cluster, target);
  const { name, resourceVersion } = old.object.metadata;
  const asked = object.metadata.resourceVersion;
  if (asked !== '' && asked !== resourceVersion) throw modified(resource, name);
  const spec = { ...objectAt(old.object, 'spec'), finalizers: listAt(object, 'spec', 'finalizers') };
  return objectAnswer(resource, save(cluster, resource, old, { ...old.object, spec }, options.isDryRun));
}
