/**
 * The Kubernetes API's resources over HTTP: addresses, content types, lists, watches, discovery.
 *
 * Promises: those of base/kube-port.ts. A watch that ends in the middle of a line did not end cleanly.
 * Absent: authentication (`kube-connection.ts`), connections (`kube-http.ts`), retries (the caller knows what
 * a failure means).
 */
import type { Clock } from '../../base/clock.ts';
import { asError, OrreryError } from '../../base/errors.ts';
import type {
  KubeList,
  KubeObject,
  KubePort,
  KubeResource,
  KubeWatchEvent,
  PatchOptions,
  PatchType,
} from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import type { HttpCall, Transport } from './kube-http.ts';
import { createLineReader } from './lines.ts';
import { watchEventError } from './refusals.ts';

const patchTypes: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  // JSON is YAML.
  apply: 'application/apply-patch+yaml',
};

export function createRestPort(parts: { readonly transport: Transport; readonly clock: Clock }): KubePort {
  const { transport, clock } = parts;
  const call = (call: Omit<HttpCall, 'timeoutMs'>, signal: AbortSignal) =>
    transport.call({ ...call, timeoutMs: limits.kubeRequestMs }, signal);
  const object = async (request: Omit<HttpCall, 'timeoutMs'>, signal: AbortSignal) =>
    readObject(await call(request, signal), request.path);

  return {
    async list(resource, { namespace, ...query }, signal) {
      const path = pathOf(resource, namespace) + queryText(query);
      const request = { method: 'GET', path, repeatable: true, timeoutMs: limits.kubeListMs } as const;
      return readList(await transport.call(request, signal), path);
    },
    watch: watchBy(transport, clock),
    get: (resource, namespace, name, signal) =>
      object({ method: 'GET', path: pathOf(resource, namespace, name), repeatable: true }, signal),
    create(resource, body, signal, subresource) {
      const { namespace, name } = body.metadata;
      const path = pathOf(resource, namespace, subresource && name, subresource);
      const whole = { ...typeOf(resource), ...body };
      return object({ method: 'POST', path, body: whole, repeatable: false }, signal);
    },
    ask: (resource, body, { timeoutMs }, signal) =>
      transport.call({ method: 'POST', path: pathOf(resource), body, repeatable: false, timeoutMs }, signal),
    replace(resource, body, signal, subresource) {
      const path = pathOf(resource, body.metadata.namespace, body.metadata.name, subresource);
      const whole = { ...typeOf(resource), ...body };
      return object({ method: 'PUT', path, body: whole, repeatable: true }, signal);
    },
    patch: (resource, patch, signal) => object(patchCall(resource, patch), signal),
    async delete(resource, namespace, name, options, signal) {
      const path = pathOf(resource, namespace, name);
      await call({ method: 'DELETE', path, body: deleteOptions(options), repeatable: true }, signal);
    },
    async resolve(apiVersion, kind, signal) {
      const path = versionPath(apiVersion);
      return readDiscovery(await call({ method: 'GET', path, repeatable: true }, signal), apiVersion, kind);
    },
  };
}

function watchBy(transport: Transport, clock: Clock): KubePort['watch'] {
  return async (resource, { namespace, onOpen, ...query }, onEvent, signal) => {
    const path =
      pathOf(resource, namespace) + queryText({ watch: true, allowWatchBookmarks: true, ...query });
    const lines = createLineReader(limits.kubeLineBytes);
    const silenceMs = query.timeoutSeconds * 1000 + limits.kubeSilenceSlackMs;
    const onPiece = (piece: Uint8Array) => {
      for (const line of lines.read(piece)) onEvent(readWatchEvent(line, path, clock));
    };
    await transport.stream({ path, silenceMs, ...(onOpen ? { onOpen } : {}) }, onPiece, signal);
    if (lines.pendingBytes === 0) return;
    throw new OrreryError(
      'KUBE_UNREACHABLE',
      `the watch of ${resource.plural} ended in the middle of a line`,
    );
  };
}

function deleteOptions({ uid, resourceVersion, gracePeriodSeconds }: Parameters<KubePort['delete']>[3]) {
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    // As kubectl does: without it the API server leaves the Pods of a Job (batch/v1) to themselves.
    propagationPolicy: 'Background',
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
}

function patchCall(resource: KubeResource, patch: PatchOptions): Omit<HttpCall, 'timeoutMs'> {
  const { namespace, name, subresource, type, body, fieldManager, force, isRepeatable } = patch;
  return {
    method: 'PATCH',
    path: pathOf(resource, namespace, name, subresource) + queryText({ fieldManager, force }),
    // An applied object must state its type.
    body: type === 'apply' ? { ...typeOf(resource), ...(body as object) } : body,
    contentType: patchTypes[type],
    // JSON patch operations may append to a list.
    repeatable: type !== 'json' || isRepeatable === true,
  };
}

function typeOf({ group, version, kind }: KubeResource) {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind };
}

function versionPath(apiVersion: string): string {
  const parts = apiVersion.split('/').map(encodeURIComponent);
  return parts.length === 1 ? `/api/${parts[0]}` : `/apis/${parts.join('/')}`;
}

function pathOf(resource: KubeResource, namespace?: string, name?: string, subresource?: string): string {
  const { group, version, plural, namespaced } = resource;
  const parts = [versionPath(group === '' ? version : `${group}/${version}`)];
  if (namespaced && namespace !== undefined) parts.push('namespaces', encodeURIComponent(namespace));
  parts.push(plural);
  if (name !== undefined) parts.push(encodeURIComponent(name));
  if (subresource !== undefined) parts.push(subresource);
  return parts.join('/');
}

function queryText(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value));
  return search.size === 0 ? '' : `?${search}`;
}

function readObject(body: unknown, path: string): KubeObject {
  if (!isObject(body)) throw new OrreryError('KUBE_SERVER', `the answer to ${path} is not an object`);
  return body;
}

function readList(body: unknown, path: string): KubeList {
  const { metadata, items } = (body ?? {}) as { metadata?: Record<string, unknown>; items?: unknown };
  const version = metadata?.resourceVersion;
  // A Go program encodes an empty list as null.
  const read = items === null ? [] : items;
  if (typeof version !== 'string' || !Array.isArray(read)) {
    throw new OrreryError('KUBE_SERVER', `the answer to ${path} is not a list`);
  }
  const token = metadata?.continue;
  return {
    resourceVersion: version,
    continue: typeof token === 'string' ? token : '',
    items: read.filter(isObject),
  };
}

function readWatchEvent(line: string, path: string, clock: Clock): KubeWatchEvent {
  const { type, object } = parseLine(line, path);
  if (type === 'ERROR') throw watchEventError(`GET ${path.split('?', 1)[0]}`, object, clock.now());
  if (isObject(object)) {
    if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') return { type, object };
    const resourceVersion = object.metadata.resourceVersion;
    if (type === 'BOOKMARK' && resourceVersion !== undefined) return { type, resourceVersion };
  }
  throw new OrreryError('MESSAGE_UNREADABLE', `a watch event of ${path} is of an unknown form`, {
    facts: { type: typeof type === 'string' ? type.slice(0, 40) : null },
  });
}

function parseLine(line: string, path: string): { type?: unknown; object?: unknown } {
  try {
    return (JSON.parse(line) ?? {}) as { type?: unknown; object?: unknown };
  } catch (thrown) {
    throw new OrreryError(
      'MESSAGE_UNREADABLE',
      `a watch event of ${path} is not JSON: ${asError(thrown).message}`,
    );
  }
}

function isObject(value: unknown): value is KubeObject {
  const metadata = (value as { metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === 'object' && metadata !== null;
}

function readDiscovery(body: unknown, apiVersion: string, kind: string): KubeResource {
  const { resources } = body as { resources?: unknown };
  const found = (Array.isArray(resources) ? resources : []).find(
    (entry: { kind?: unknown; name?: unknown } | null) =>
      entry?.kind === kind && typeof entry.name === 'string' && !entry.name.includes('/'),
  ) as { name: string; namespaced?: unknown } | undefined;
  if (found === undefined) throw new OrreryError('KUBE_NOT_FOUND', `${apiVersion} has no kind ${kind}`);
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return {
    group: group ?? '',
    version: version ?? '',
    plural: found.name,
    kind,
    namespaced: found.namespaced === true,
  };
}
