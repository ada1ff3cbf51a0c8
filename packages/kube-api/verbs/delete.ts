/** DELETE of one object and of a collection. */
import { type Cause, invalidValue, notSupported } from '../causes.ts';
import { objectText } from '../encoding.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { type JsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { Resource } from '../resources/resource.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import { DecodeError, decode } from '../schema/typed-decode.ts';
import { badRequest, invalid } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject } from '../writing/body.ts';
import { isDryRun } from '../writing/options.ts';
import { type DeleteOptions, type Propagation, type Removal, removeObject } from '../writing/remove.ts';
import { listOf, selected } from './list.ts';
import { selectionOf } from './list-options.ts';
import { existing } from './read.ts';

export function deleteObject(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const options = deleteOptions(request, target.resource);
  return removalAnswer(
    target.resource,
    removeObject(cluster, target.resource, existing(cluster, target), options),
  );
}

export function deleteCollection(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const options = deleteOptions(request, resource);
  const versions = selected(cluster, target, { selection: selectionOf(request.query, resource) });
  const removed = versions.map((version) => removeObject(cluster, resource, version, options).version);
  return { code: 200, body: listOf(resource, cluster.store.revision, removed) };
}

function removalAnswer(resource: Resource, { version, isGone }: Removal): Answer {
  if (!isGone || resource.rules.answersDeleted) return { code: 200, body: objectText(resource, version) };
  const { name, uid } = version.object.metadata;
  const group = resource.group === '' ? {} : { group: resource.group };
  const details = { name, ...group, kind: resource.plural, uid };
  return {
    code: 200,
    body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }),
  };
}

const policies = ['Foreground', 'Background', 'Orphan', 'nil'];

/** From the body if there is one, else from the query. @throws ApiError 400, 422 */
function deleteOptions(request: ApiRequest, resource: Resource): DeleteOptions {
  const given = request.body.length > 0 ? readOptions(request, resource) : fromQuery(request.query);
  const options = optionsOf(given);
  return { ...options, isDryRun: options.isDryRun || isDryRun(request.query) };
}

/** What DeleteOptions say. @throws ApiError 422 */
export function optionsOf(given: JsonObject): DeleteOptions {
  const causes = optionCauses(given);
  if (causes.length > 0) throw invalid({ kind: 'DeleteOptions', group: 'meta.k8s.io' }, '', causes);
  const uid = textAt(given, 'preconditions', 'uid');
  const resourceVersion = textAt(given, 'preconditions', 'resourceVersion');
  const gracePeriodSeconds = numberAt(given, 'gracePeriodSeconds');
  const propagation = propagationOf(given);
  return {
    ...(uid === '' ? {} : { uid }),
    ...(resourceVersion === '' ? {} : { resourceVersion }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagation === undefined ? {} : { propagation }),
    isDryRun: listAt(given, 'dryRun').includes('All'),
  };
}

function readOptions(request: ApiRequest, resource: Resource): JsonObject {
  try {
    return decode(builtinSchema('DeleteOptions'), bodyObject(request, resource), []) as JsonObject;
  } catch (thrown) {
    if (thrown instanceof DecodeError)
      throw badRequest(
        `DeleteOptions in version "v1" cannot be handled as a DeleteOptions: ${thrown.message}`,
      );
    throw thrown;
  }
}

function fromQuery(query: URLSearchParams): JsonObject {
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  const orphan = query.get('orphanDependents');
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: orphan === 'true' }),
    ...(query.has('dryRun') ? { dryRun: query.getAll('dryRun') } : {}),
  };
}

function optionCauses(given: JsonObject): Cause[] {
  const policy = given.propagationPolicy;
  const dryRun = listAt(given, 'dryRun');
  const causes: Cause[] = [];
  if (policy !== undefined && given.orphanDependents !== undefined)
    causes.push(
      invalidValue(
        'propagationPolicy',
        policy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    );
  if (policy !== undefined && !policies.includes(String(policy)))
    causes.push(notSupported('propagationPolicy', policy, policies));
  if (!dryRun.every((value) => value === 'All')) causes.push(notSupported('dryRun', dryRun, ['All']));
  return causes;
}

function propagationOf(given: JsonObject): Propagation | undefined {
  if (given.orphanDependents === true) return 'Orphan';
  const policy = textAt(given, 'propagationPolicy');
  return policy === '' || objectAt(given, 'propagationPolicy') !== undefined
    ? undefined
    : (policy as Propagation);
}
