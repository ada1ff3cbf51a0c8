/**
 * The HTTP server: reads requests, passes them on (`serving.ts`), writes answers and watches.
 *
 * Promises: every error becomes a Status. A fault of ours becomes a 500 and a log line and never ends the
 * server.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError } from '../../../src/base/errors.ts';
import { attributesOf } from '../access/attributes.ts';
import { authorize } from '../access/authorize.ts';
import { anonymous } from '../access/users.ts';
import { apiLimits } from '../limits.ts';
import { decodeProtobuf, protobufType } from '../protobuf/decode-protobuf.ts';
import { ApiError, badRequest, bodyTooLarge, internalError, noSuchPath } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import type { WatchSink } from '../watch/watch-stream.ts';
import { mediaType } from '../writing/body.ts';
import type { Answer, ApiRequest } from './request.ts';
import type { ServerCertificates } from './server-certificate.ts';
import { proxyRequest, proxyTarget, proxyUpgrade } from './service-proxy.ts';
import { authenticate, errorAnswer, serveRequest } from './serving.ts';

export function createHttpServer(cluster: Cluster, certificates: ServerCertificates): Server {
  const { cert, key } = certificates;
  const server = createServer({ cert, key }, (request, response) => {
    // A client that leaves midway is no fault of ours; without a listener the error would end the process.
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
    const caller = { authorization: request.headers.authorization, host: request.headers.host ?? '' };
    const answer = serveRequest(cluster, apiRequest, { ...caller, openSink: () => sinkOf(response) });
    if (answer !== undefined) write(response, answer);
  } catch (thrown) {
    writeError(cluster, request, response, asError(thrown));
  }
}

/** Other protocols exist only through a Service. */
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

/**
 * Past this point there is no protobuf.
 * @throws ApiError 400
 */
function jsonBody(contentType: string, body: Buffer): Pick<ApiRequest, 'contentType' | 'body'> {
  if (mediaType(contentType) !== protobufType || body.length === 0) return { contentType, body };
  try {
    const value = decodeProtobuf(body);
    return { contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
  } catch (thrown) {
    throw badRequest(asError(thrown).message);
  }
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
  // The rest of an oversized body is not read, so the connection cannot serve another request.
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
