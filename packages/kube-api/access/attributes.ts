/**
 * What a request asks for, in the terms of roles: verb, resource, name, or the path outside the resources.
 */
import { type ApiRequest, isSet } from '../http/request.ts';

export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: the whole cluster. */
  readonly namespace: string;
  /** Empty: none in particular. */
  readonly name: string;
}

export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Parts of a namespace that are not resources in it. */
const namespaceParts: ReadonlySet<string> = new Set(['status', 'finalize']);

export function attributesOf(request: Pick<ApiRequest, 'method' | 'path' | 'query'>): Attributes {
  const parts = request.path.split('/').filter((part) => part !== '');
  const isCore = parts[0] === 'api' && parts.length >= 3;
  const isGrouped = parts[0] === 'apis' && parts.length >= 4;
  if (!isCore && !isGrouped) return { verb: request.method.toLowerCase(), path: request.path };
  const group = isCore ? '' : (parts[1] ?? '');
  const rest = parts.slice(isCore ? 2 : 3).map(decoded);
  const isOldWatch = rest[0] === 'watch';
  return withVerb(request, group, isOldWatch ? rest.slice(1) : rest, isOldWatch);
}

function withVerb(
  { method, query }: Pick<ApiRequest, 'method' | 'query'>,
  group: string,
  parts: readonly string[],
  isOldWatch: boolean,
): ResourceAttributes {
  const [first = '', second = '', third = ''] = parts;
  const isInside = first === 'namespaces' && third !== '' && !namespaceParts.has(third);
  const namespace = first === 'namespaces' ? second : '';
  const [resource = '', name = '', subresource = ''] = isInside ? parts.slice(2) : parts;
  const plain = verbs[method] ?? method.toLowerCase();
  const selected = /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get('fieldSelector') ?? '')?.[1] ?? '';
  const attributes = { group, resource, subresource, namespace };
  if (isOldWatch) return { ...attributes, verb: 'watch', name };
  if (name !== '') return { ...attributes, verb: plain, name };
  const many = isSet(query, 'watch') ? 'watch' : 'list';
  if (plain === 'get') return { ...attributes, verb: many, name: selected };
  return { ...attributes, verb: plain === 'delete' ? 'deletecollection' : plain, name: '' };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
