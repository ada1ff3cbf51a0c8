/**
 * Aggregated discovery (apidiscovery.k8s.io/v2): all groups, versions and resources in one document, for
 * clients that request it.
 *
 * Owns only the form; the content is that of the old documents (`discovery.ts`).
 */
import { type JsonObject, listAt, textAt } from '../json.ts';
import type { Registry } from '../resources/registry.ts';
import { groupsOf, resourcesOf } from './discovery.ts';
import type { Answer, ApiRequest } from './request.ts';

const contentType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** undefined: the request is for something else. */
export function aggregatedDiscovery(registry: Registry, request: ApiRequest): Answer | undefined {
  const path = request.path.replace(/\/$/, '');
  const isAsked = request.method === 'GET' && (path === '/api' || path === '/apis');
  if (!isAsked || !prefersAggregated(request.accept)) return undefined;
  const groups: ReadonlyMap<string, readonly string[]> =
    path === '/api' ? new Map([['', ['v1']]]) : groupsOf(registry);
  const items = [...groups].map(([group, versions]) => ({
    metadata: group === '' ? {} : { name: group },
    versions: versions.map((version) => ({
      version,
      resources: wholeResources(registry, group, version),
      freshness: 'Current',
    })),
  }));
  const list = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
  return { code: 200, body: JSON.stringify(list), contentType };
}

/** Whether this is the first form in the list that the server offers. */
function prefersAggregated(accept: string): boolean {
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*'].includes(type)) continue;
    const asked = new Set(parameters);
    if (!parameters.some((parameter) => parameter.startsWith('as='))) return false;
    const isOurs = ['g=apidiscovery.k8s.io', 'v=v2', 'as=APIGroupDiscoveryList'].every((p) => asked.has(p));
    if (isOurs) return true;
  }
  return false;
}

function wholeResources(registry: Registry, group: string, version: string): JsonObject[] {
  const entries = resourcesOf(registry, group, version);
  const parts = entries.filter((entry) => textAt(entry, 'name').includes('/'));
  return entries
    .filter((entry) => !parts.includes(entry))
    .map((entry) => {
      const prefix = `${textAt(entry, 'name')}/`;
      const own = parts.filter((part) => textAt(part, 'name').startsWith(prefix));
      return { ...wholeEntry(entry), ...(own.length === 0 ? {} : { subresources: own.map(partEntry) }) };
    });
}

function wholeEntry(entry: JsonObject): JsonObject {
  const { shortNames, categories } = entry;
  return {
    resource: textAt(entry, 'name'),
    responseKind: responseKind(entry),
    scope: entry.namespaced === true ? 'Namespaced' : 'Cluster',
    singularResource: textAt(entry, 'singularName'),
    verbs: listAt(entry, 'verbs'),
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
  };
}

function partEntry(part: JsonObject): JsonObject {
  const [, subresource = ''] = textAt(part, 'name').split('/');
  return { subresource, responseKind: responseKind(part), verbs: listAt(part, 'verbs') };
}

/** An empty group and version stand for those of the document. */
function responseKind(entry: JsonObject): JsonObject {
  return {
    group: textAt(entry, 'group'),
    version: textAt(entry, 'version'),
    kind: textAt(entry, 'kind'),
  };
}
