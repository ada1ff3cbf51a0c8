/**
 * The HTTP server: reads requests, asks who is there, brings them to the verbs, writes answers and watches.
 *
 * Promises: every error becomes a Status; a fault of ours becomes a 500 and a log line and never ends the
 * server.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError } from '../../../src/base/errors.ts';
import { attributesOf } from '../access/attributes.ts';
import { authorize } from '../access/authorize.ts';
import { ownAudience } from '../access/tokens.ts';
import { anonymous, type User } from '../access/users.ts';
import { apiLimits } from '../limits.ts';
import { openApiAnswer } from '../openapi/documents.ts';
import { decodeProtobuf, protobufType } from '../protobuf/decode-protobuf.ts';
import { ApiError, badRequest, bodyTooLarge, internalError, noSuchPath, unauthorized } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { listOptions } from '../verbs/list-options.ts';
import { openWatch, type WatchSink } from '../watch/watch-stream.ts';
import { mediaType } from '../writing/body.ts';
import { aggregatedDiscovery } from './aggregated-discovery.ts';
import { discoveryDocument, discoveryPaths } from './discovery.ts';
import { dispatch } from './dispatch.ts';
import { shaped, shapedSink, shaperOf } from './forms.ts';
import { type Answer, type ApiRequest, isSet, type Target } from './request.ts';
import { resourceTarget } from './request-path.ts';
import type { ServerCertificates } from './server-certificate.ts';
import { proxyRequest, proxyTarget, proxyUpgrade } from './service-proxy.ts';

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

export function createHttpServer(cluster: Cluster, certificates: ServerCertificates): Server {
  const { cert, key } = certificates;
  const server = createServer({ cert, key }, (request, response) => {
    // A client that leaves in the middle is no fault of ours; without a listener it would end the process.
    response.on('error', (error) => cluster.log.debug({ error, url: request.url }, 'client left'));
    void serve(cluster, request, response);
  });
  server.on('upgrade', (request, socket, head) => upgrade(cluster, request, socket, head));
  server.keepAliveTimeout = apiLimits.keepAliveMs;
  return server;
}

async function serve(cluster: Cluster, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const apiRequest = await readRequest(request);
    const proxied = proxyTarget(request.url ?? '');
    if (proxied !== undefined) {
      authorize(cluster, authenticate(cluster, request.headers.authorization), attributesOf(apiRequest));
      return await proxyRequest(cluster, proxied, { incoming: request, body: apiRequest.body, response });
    }
    const answer = publicAnswer(apiRequest.path) ?? answerOf(cluster, apiRequest, request, response);
    if (answer !== undefined) write(response, answer);
  } catch (thrown) {
    writeError(cluster, request, response, asError(thrown));
  }
}

/** Other protocols are spoken through a Service only. */
function upgrade(cluster: Cluster, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  try {
    const { url = '/', method = 'GET', headers } = request;
    const [path, query] = splitOnce(url, '?');
    const target = proxyTarget(url);
    if (target === undefined) throw noSuchPath();
    const attributes = attributesOf({ method, path, query: new URLSearchParams(query) });
    authorize(cluster, authenticate(cluster, headers.authorization), attributes);
    proxyUpgrade(cluster, target, { incoming: request, socket, head });
  } catch (thrown) {
    const { code, body } = errorAnswer(statusError(cluster, request, thrown));
    const lines = [`HTTP/1.1 ${code} ${STATUS_CODES[code]}`, 'Content-Type: application/json'];
    socket.end(
      [...lines, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', body].join('\r\n'),
    );
  }
}

async function readRequest(request: IncomingMessage): Promise<ApiRequest> {
  const [path = '/', query = ''] = splitOnce(request.url ?? '/', '?');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > apiLimits.requestBytes) throw bodyTooLarge(apiLimits.requestBytes);
    chunks.push(chunk);
  }
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(query),
    accept: request.headers.accept ?? '',
    user: anonymous,
    userAgent: request.headers['user-agent'] ?? '',
    ...jsonBody(request.headers['content-type'] ?? '', Buffer.concat(chunks)),
  };
}

/** Behind this point there is no protobuf. @throws ApiError 400 */
function jsonBody(contentType: string, body: Buffer): Pick<ApiRequest, 'contentType' | 'body'> {
  if (mediaType(contentType) !== protobufType || body.length === 0) return { contentType, body };
  try {
    const value = decodeProtobuf(body);
    return { contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
  } catch (thrown) {
    throw badRequest(asError(thrown).message);
  }
}

/** undefined: the answer is a watch, which is under way. */
function answerOf(
  cluster: Cluster,
  given: ApiRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
): Answer | undefined {
  const user = authenticate(cluster, incoming.headers.authorization);
  authorize(cluster, user, attributesOf(given));
  const request = { ...given, user };
  const document = documentOf(cluster, request, incoming.headers.host ?? '');
  if (document !== undefined) return document;
  const { request: plain, target } = targetOf(cluster, request);
  if (target === undefined) throw noSuchPath();
  const shape = shaperOf(plain, target, () => cluster.clock.now());
  if (!isWatch(plain, target)) return shaped(dispatch(cluster, plain, target), shape);
  const options = listOptions(plain.query, target.resource);
  openWatch(cluster, target, options, shapedSink(sinkOf(response), shape));
  return undefined;
}

/** Who brings no token is nobody in particular. @throws ApiError 401 for a token that is not known */
function authenticate(cluster: Cluster, header: string | undefined): User {
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
  // What is outside the API is told in plain text, and so is a group that does not exist.
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

function sinkOf(response: ServerResponse): WatchSink {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.flushHeaders();
  return {
    write: (line) => void response.write(line),
    end: () => void response.end(),
    cut: () => void response.destroy(),
    get waitingBytes() {
      return response.writableLength;
    },
    onClose: (fn) => void response.once('close', fn),
  };
}

function write(response: ServerResponse, answer: Answer): void {
  const warnings = (answer.warnings ?? []).map((text) => `299 - ${JSON.stringify(text)}`);
  response.writeHead(answer.code, {
    'Content-Type': answer.contentType ?? 'application/json',
    'Cache-Control': 'no-cache, private',
    'Content-Length': Buffer.byteLength(answer.body),
    ...(warnings.length === 0 ? {} : { Warning: warnings }),
  });
  response.end(answer.body);
}

function writeError(
  cluster: Cluster,
  request: IncomingMessage,
  response: ServerResponse,
  error: Error,
): void {
  const known = statusError(cluster, request, error);
  // The rest of a body that is too large is not read, so the connection cannot serve another request.
  if (known.code === 413) response.setHeader('Connection', 'close');
  if (response.headersSent) response.destroy();
  else {
    const seconds = known.details?.retryAfterSeconds;
    if (seconds !== undefined) response.setHeader('Retry-After', String(seconds));
    write(response, errorAnswer(known));
  }
}

function statusError(cluster: Cluster, request: IncomingMessage, thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const error = asError(thrown);
  cluster.log.error({ error, method: request.method, url: request.url }, 'request failed');
  return internalError(error.message);
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Paths that anybody may ask, as in the real server. */
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

function errorAnswer(error: ApiError): Answer {
  return jsonAnswer(error.code, error.status());
}
