/**
 * Answers a request: who asks, whether they may, and which document, verb or watch it is. Knows no sockets.
 */
import { attributesOf } from '../access/attributes.ts';
import { authorize } from '../access/authorize.ts';
import { ownAudience } from '../access/tokens.ts';
import { anonymous, type User } from '../access/users.ts';
import { openApiAnswer } from '../openapi/documents.ts';
import { type ApiError, noSuchPath, unauthorized } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { listOptions } from '../verbs/list-options.ts';
import { openWatch, type WatchSink } from '../watch/watch-stream.ts';
import { aggregatedDiscovery } from './aggregated-discovery.ts';
import { discoveryDocument, discoveryPaths } from './discovery.ts';
import { dispatch } from './dispatch.ts';
import { shaped, shapedSink, shaperOf } from './forms.ts';
import { type Answer, type ApiRequest, isSet, type Target } from './request.ts';
import { resourceTarget } from './request-path.ts';

/** The Kubernetes release whose behaviour this server follows. */
const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+orrery',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'node/any',
};

/** What a request needs besides itself. */
export interface Caller {
  /** The header. */
  readonly authorization: string | undefined;
  /** The name by which the client calls the server. */
  readonly host: string;
  /** Where the lines of a watch go; called once the watch is under way. */
  openSink(): WatchSink;
}

/**
 * undefined: the answer is a watch, which has begun.
 * @throws ApiError
 */
export function serveRequest(cluster: Cluster, given: ApiRequest, caller: Caller): Answer | undefined {
  const known = publicAnswer(given.path);
  if (known !== undefined) return known;
  const user = authenticate(cluster, caller.authorization);
  authorize(cluster, user, attributesOf(given));
  const request = { ...given, user };
  const document = documentOf(cluster, request, caller.host);
  if (document !== undefined) return document;
  const { request: plain, target } = targetOf(cluster, request);
  if (target === undefined) throw noSuchPath();
  const shape = shaperOf(plain, target, () => cluster.clock.now());
  if (!isWatch(plain, target)) return shaped(dispatch(cluster, plain, target), shape);
  const options = listOptions(plain.query, target.resource);
  openWatch(cluster, target, options, shapedSink(caller.openSink(), shape));
  return undefined;
}

/**
 * A caller without a token is anonymous.
 * @throws ApiError 401 for an unknown token
 */
export function authenticate(cluster: Cluster, header: string | undefined): User {
  const token = /^Bearer (.+)$/i.exec(header ?? '')?.[1];
  if (token === undefined) return anonymous;
  const known = cluster.tokens.find(token);
  if (known === undefined || !known.audiences.includes(ownAudience)) throw unauthorized();
  return known.user;
}

function documentOf(cluster: Cluster, request: ApiRequest, address: string): Answer | undefined {
  const special = aggregatedDiscovery(cluster.registry, request) ?? openApiAnswer(cluster, request);
  if (special !== undefined) return special;
  if (request.path === '/') return jsonAnswer(200, { paths: discoveryPaths(cluster.registry) });
  const document = discoveryDocument(cluster.registry, request.path, address);
  if (document !== undefined) return request.method === 'GET' ? jsonAnswer(200, document) : undefined;
  // Paths outside the API get plain text, and so does a group that does not exist.
  const isInApi = request.path.startsWith('/api/') || /^\/apis\/[^/]+\/[^/]+\/./.test(request.path);
  return isInApi ? undefined : pageNotFound();
}

/** The old form `/api/v1/watch/…` is a watch of the rest; `…/bindings` are POSTs to Pods. */
function targetOf(
  cluster: Cluster,
  request: ApiRequest,
): { request: ApiRequest; target: Target | undefined } {
  const watched = request.path.replace(/^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)\/watch\//, '$1/');
  const path = watched.replace(/^(\/api\/v1\/namespaces\/[^/]+)\/bindings$/, '$1/pods');
  const query = new URLSearchParams(request.query);
  if (watched !== request.path) query.set('watch', 'true');
  const target = resourceTarget(cluster.registry, path);
  const isBinding = path !== watched && target !== undefined;
  return {
    request: { ...request, query },
    target: isBinding ? { ...target, subresource: 'binding' } : target,
  };
}

function isWatch(request: ApiRequest, target: Target): boolean {
  return (
    request.method === 'GET' &&
    target.name === undefined &&
    target.subresource === '' &&
    isSet(request.query, 'watch')
  );
}

/** Paths that anyone may read, as in the real server. */
function publicAnswer(path: string): Answer | undefined {
  if (path === '/version' || path === '/version/') return jsonAnswer(200, version);
  if (!/^\/(healthz|livez|readyz)(\/|$)/.test(path)) return undefined;
  return { code: 200, body: 'ok', contentType: 'text/plain; charset=utf-8' };
}

function jsonAnswer(code: number, value: object): Answer {
  return { code, body: JSON.stringify(value) };
}

function pageNotFound(): Answer {
  return { code: 404, body: '404 page not found\n', contentType: 'text/plain; charset=utf-8' };
}

export function errorAnswer(error: ApiError): Answer {
  return jsonAnswer(error.code, error.status());
}
