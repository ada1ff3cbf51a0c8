/** From method and target to the verb that answers. */
import { answerReview, isReview } from '../access/reviews.ts';
import { requestToken } from '../access/token-request.ts';
import type { Verb } from '../resources/resource.ts';
import { methodNotAllowed, noContainers, noSuchPath } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { bindPod } from '../verbs/bind.ts';
import { deleteCollection, deleteObject } from '../verbs/delete.ts';
import { evictPod } from '../verbs/evict.ts';
import { finalizeNamespace } from '../verbs/finalize.ts';
import { listObjects } from '../verbs/list.ts';
import { patchObject } from '../verbs/patch.ts';
import { getObject } from '../verbs/read.ts';
import { scaleObject } from '../verbs/scale.ts';
import { createObject, updateObject } from '../verbs/write.ts';
import type { Answer, ApiRequest, Target } from './request.ts';

type Handler = (cluster: Cluster, request: ApiRequest, target: Target) => Answer;

interface Row {
  readonly verb: Verb;
  readonly handler: Handler;
}

const onCollection: Readonly<Record<string, Row>> = {
  GET: { verb: 'list', handler: listObjects },
  POST: { verb: 'create', handler: createOrAnswer },
  DELETE: { verb: 'deletecollection', handler: deleteCollection },
};

const onObject: Readonly<Record<string, Row>> = {
  GET: { verb: 'get', handler: getObject },
  PUT: { verb: 'update', handler: updateObject },
  PATCH: { verb: 'patch', handler: patchObject },
  DELETE: { verb: 'delete', handler: deleteObject },
};

const onPart: Readonly<Record<string, Handler>> = { GET: getObject, PUT: updateObject, PATCH: patchObject };

function createOrAnswer(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const handler = isReview(target.resource) ? answerReview : createObject;
  return handler(cluster, request, target);
}

/** @throws ApiError; 405 for a method that the target does not take */
export function dispatch(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  if (target.subresource !== '') return dispatchPart(cluster, request, target);
  const row = (target.name === undefined ? onCollection : onObject)[request.method];
  const needsNamespace = target.name === undefined && request.method !== 'GET';
  const lacksNamespace = needsNamespace && target.resource.namespaced && target.namespace === undefined;
  if (row === undefined || !target.resource.verbs.includes(row.verb) || lacksNamespace)
    throw methodNotAllowed();
  return row.handler(cluster, request, target);
}

/** Parts of a Pod that only a kubelet with real containers has. */
const needsContainers: ReadonlySet<string> = new Set(['log', 'exec', 'attach', 'portforward', 'proxy']);

function dispatchPart(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource, subresource } = target;
  if (subresource === 'status' && resource.hasStatus)
    return allowed(onPart, request)(cluster, request, target);
  if (subresource === 'scale' && resource.scale !== null) {
    allowed(onPart, request);
    return scaleObject(cluster, request, target, resource.scale);
  }
  if (subresource === 'binding' && resource.storage === 'pods')
    return allowed({ POST: bindPod }, request)(cluster, request, target);
  if (subresource === 'eviction' && resource.storage === 'pods')
    return allowed({ POST: evictPod }, request)(cluster, request, target);
  if (subresource === 'token' && resource.storage === 'serviceaccounts')
    return allowed({ POST: requestToken }, request)(cluster, request, target);
  if (subresource === 'finalize' && resource.storage === 'namespaces')
    return allowed({ PUT: finalizeNamespace }, request)(cluster, request, target);
  if (resource.storage === 'pods' && needsContainers.has(subresource)) throw noContainers(subresource);
  throw noSuchPath();
}

function allowed(handlers: Readonly<Record<string, Handler>>, request: ApiRequest): Handler {
  const handler = handlers[request.method];
  if (handler === undefined) throw methodNotAllowed();
  return handler;
}
