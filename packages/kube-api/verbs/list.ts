/**
 * LIST: selection, and pages that all show one moment.
 *
 * Promises: the resourceVersion of a list is the store's. A continue token continues the list as it was when
 * its first page was read, or reports (410) that this moment is no longer known and how to continue anyway.
 */

import { itemText } from '../encoding.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { isObject, numberAt, textAt } from '../json.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { badRequest, expired, versionTooLarge } from '../status.ts';
import { keyOfVersion, type RestOfList } from '../storage/collection.ts';
import type { Version } from '../storage/version.ts';
import type { Cluster } from '../verb-parts.ts';
import { type ListOptions, listOptions } from './list-options.ts';

interface Page {
  readonly items: readonly Version[];
  readonly revision: number;
  readonly continueToken: string;
  /** undefined: unknown, because there is a selector. */
  readonly remaining: number | undefined;
}

export function listObjects(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const options = listOptions(request.query, resource);
  return { code: 200, body: listText(resource, pageOf(cluster, target, options)) };
}

/** Everything that is selected now. */
export function selected(
  cluster: Cluster,
  target: Target,
  options: Pick<ListOptions, 'selection'>,
): Version[] {
  const all = cluster.store.collection(target.resource.storage).list(target.namespace);
  const { selection } = options;
  return selection.isEverything ? all : all.filter((version) => selection.matches(version.object));
}

function pageOf(cluster: Cluster, target: Target, options: ListOptions): Page {
  if (options.continueToken !== '') return continuedPage(cluster, target, options);
  const current = cluster.store.revision;
  const { version, match, limit } = options;
  if (version !== undefined && version > current) throw versionTooLarge(version, current);
  // Before resourceVersionMatch existed, a limit made a version exact; the real server still does that.
  const isExact = match === 'Exact' || (match === '' && limit > 0 && version !== undefined && version > 0);
  const at = isExact && version !== undefined ? version : current;
  const rest = cluster.store.collection(target.resource.storage).listAt(at, target.namespace);
  if (rest === undefined) throw expired('The resourceVersion for the provided list is too old.');
  return cut(rest, at, version === 0 ? 0 : limit, options);
}

/** @param limit 0: none */
function cut({ count, versions }: RestOfList, revision: number, limit: number, options: ListOptions): Page {
  const { selection } = options;
  const items: Version[] = [];
  for (const version of versions) {
    if (!selection.matches(version.object)) continue;
    const last = items.at(-1);
    if (limit > 0 && items.length === limit && last !== undefined) {
      const remaining = selection.isEverything ? count - limit : undefined;
      return { items, revision, continueToken: tokenOf(revision, keyOfVersion(last)), remaining };
    }
    items.push(version);
  }
  return { items, revision, continueToken: '', remaining: undefined };
}

/** The page after the one that ended with the token's key. */
function continuedPage(cluster: Cluster, target: Target, options: ListOptions): Page {
  if (options.version !== undefined && options.version !== 0)
    throw badRequest('specifying resource version is not allowed when using continue');
  const { revision, after } = parseToken(options.continueToken);
  const current = cluster.store.revision;
  const at = revision < 0 ? current : revision;
  const rest = cluster.store.collection(target.resource.storage).listAt(at, target.namespace, after);
  if (rest === undefined || at > current) throw expiredToken(after);
  return cut(rest, at, options.limit, options);
}

function expiredToken(after: string) {
  return expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    tokenOf(-1, after),
  );
}

/** Opaque to clients; the same form as the real server's. */
function tokenOf(revision: number, after: string): string {
  const token = { v: 'meta.k8s.io/v1', rv: revision, start: `${after}\0` };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function parseToken(token: string): { revision: number; after: string } {
  const value = tokenValue(token);
  const start = textAt(value, 'start');
  if (!isObject(value) || textAt(value, 'v') !== 'meta.k8s.io/v1' || start === '')
    throw badRequest('invalid continue token: continue key is not valid');
  return { revision: numberAt(value, 'rv') ?? -1, after: start.replace(/\0$/, '') };
}

function tokenValue(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

function listText(resource: Resource, page: Page): string {
  const metadata = {
    resourceVersion: String(page.revision),
    ...(page.continueToken === '' && !resource.isCustom ? {} : { continue: page.continueToken }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
  const head = `{"kind":${JSON.stringify(resource.listKind)},"apiVersion":${JSON.stringify(apiVersionOf(resource))}`;
  const items = page.items.map((version) => itemText(resource, version)).join(',');
  return `${head},"metadata":${JSON.stringify(metadata)},"items":[${items}]}`;
}

/** A list of given objects at the store's revision, as answered to the deletion of a collection. */
export function listOf(resource: Resource, revision: number, items: readonly Version[]): string {
  return listText(resource, { items, revision, continueToken: '', remaining: undefined });
}
