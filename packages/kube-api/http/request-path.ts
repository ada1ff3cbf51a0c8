/**
 * From the path of a request to what it is about.
 *
 * `/api/v1/…` is the core group, `/apis/<group>/<version>/…` every other one; then
 * `namespaces/<ns>/<plural>/<name>/<part>` or, for the whole cluster, `<plural>/<name>/<part>`.
 */
import type { Registry } from '../resources/registry.ts';
import type { Resource } from '../resources/resource.ts';
import type { Target } from './request.ts';

/** undefined: nothing exists at this path. */
export function resourceTarget(registry: Registry, path: string): Target | undefined {
  const parts = segmentsOf(path);
  if (parts === undefined) return undefined;
  const isCore = parts[0] === 'api';
  const group = isCore ? '' : (parts[1] ?? '');
  const version = (isCore ? parts[1] : parts[2]) ?? '';
  const rest = parts.slice(isCore ? 2 : 3);
  return targetIn(rest, (plural) => registry.find(group, version, plural));
}

/** The decoded segments; undefined if the path is not that of a resource. */
function segmentsOf(path: string): string[] | undefined {
  if (!path.startsWith('/api/') && !path.startsWith('/apis/')) return undefined;
  try {
    return path.slice(1).split('/').map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function targetIn(
  parts: readonly string[],
  find: (plural: string) => Resource | undefined,
): Target | undefined {
  const [first, second, third] = parts;
  // `namespaces/<ns>/status` is a part of the namespace, `namespaces/<ns>/pods` a resource in it.
  const inner = first === 'namespaces' && third !== undefined ? innerResource(third, find) : undefined;
  if (inner !== undefined) return withName(inner, second, parts.slice(3));
  const resource = first === undefined ? undefined : find(first);
  return resource === undefined ? undefined : withName(resource, undefined, parts.slice(1));
}

function innerResource(plural: string, find: (plural: string) => Resource | undefined): Resource | undefined {
  const resource = find(plural);
  return resource?.namespaced ? resource : undefined;
}

function withName(
  resource: Resource,
  namespace: string | undefined,
  rest: readonly string[],
): Target | undefined {
  const [name, subresource = '', more] = rest;
  const isNamedWithoutNamespace = name !== undefined && resource.namespaced && namespace === undefined;
  if (more !== undefined || isNamedWithoutNamespace || name === '' || namespace === '') return undefined;
  return { resource, namespace, name, subresource };
}
