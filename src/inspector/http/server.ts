/**
 * The HTTP server of a replica: health, metrics and the API for the whole cluster.
 *
 * Owns the listening socket; `routes.ts` has the answers. Promises: every answer has the security headers;
 * every error is JSON `{error: {code, message}}`; `/api` and `/` are checked with `authorize`, health is
 * open, and so are metrics unless configured otherwise; requests that change something are refused to pages
 * of other sites; requests are bounded in time and size. Absent: sessions.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { HostPort } from '../../base/config-values.ts';
import { attempt, OrreryError } from '../../base/errors.ts';
import { boundConnections } from '../../base/http/connections.ts';
import { listenOn } from '../../base/http/listen.ts';
import { limits } from '../../base/limits.ts';
import type { AccessVerb, Authorize } from '../../kube/api/access.ts';
import { type SocketParts, serveSockets } from '../live/socket.ts';

import { isDeliberate, isForeign, isLoopbackName, tokenOf } from './credentials.ts';
import type { HttpAnswer } from './http-answer.ts';
import { failure, problem } from './http-answer.ts';
import type { HttpRequest } from './http-route.ts';
import { readBody } from './request-body.ts';
import { routeTable } from './route-table.ts';
import { type HttpParts, routes } from './routes.ts';
import { keepTlsFresh, readTls, type TlsFiles } from './tls-files.ts';

export interface HttpServerParts extends HttpParts {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly authorize: Authorize;
  /** Absent: no TLS here; the platform may end it. */
  readonly tls?: TlsFiles | undefined;
  /**
   * `loopback`: `/api` and `/` answer only requests whose Host is a loopback name, because every local caller
   * may do everything.
   */
  readonly hosts: 'any' | 'loopback';
  readonly live: SocketParts['start'];
}

export interface HttpServer {
  /** Where it listens, with the actual port. */
  readonly address: HostPort;
  /**
   * Accepts no new connection, ends the open ones and resolves when the socket is closed. Safe to call twice.
   */
  close(): Promise<void>;
}

/** @throws Error of the system if it cannot listen on the address */
export async function startHttp(parts: HttpServerParts): Promise<HttpServer> {
  const server = createHttp(parts);
  const { authorize, clock, live, host } = parts;
  const sockets = serveSockets(server, { authorize, clock, start: live, isMeant: meantHosts(parts) });
  if (parts.tls) keepTlsFresh(server as TlsServer, parts.tls, clock);
  const port = await listenOn(server, parts);
  return {
    address: { host, port },
    close: () => {
      sockets.close();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** The server before it listens. */
export function createHttp(parts: HttpServerParts): Server {
  const options = {
    requestTimeout: limits.httpRequestMs,
    keepAliveTimeout: limits.httpIdleMs,
    // How often unfinished requests, and connections without one, are looked for.
    connectionsCheckingInterval: limits.httpRequestMs / 2,
    // Clients that would rather speak HTTP/2 (Java's) ask for that with a request that is to be answered.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
  };
  const answer = answererOf(parts);
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(request)
      .catch(failure)
      .then((found) => write(response, found))
      .catch(() => response.destroy());
  const { tls } = parts;
  const server: Server =
    tls === undefined
      ? createServer(options, serve)
      : createTlsServer({ ...options, ...readTls(tls), handshakeTimeout: limits.httpRequestMs }, serve);
  // Beyond the counted connections: handshakes, and sockets that are being closed.
  server.maxConnections = 2 * limits.httpConnections;
  boundConnections(server, tls === undefined ? 'connection' : 'secureConnection', { upgrades: true });
  return server;
}

interface Guard {
  readonly authorize: Authorize;
  readonly isMeant: (host: string | undefined) => boolean;
}

function meantHosts({ hosts }: HttpServerParts): Guard['isMeant'] {
  return hosts === 'any' ? () => true : isLoopbackName;
}

const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
};

function answererOf(parts: HttpServerParts): (request: IncomingMessage) => Promise<HttpAnswer> {
  const find = routeTable(routes(parts));
  const guard = { authorize: parts.authorize, isMeant: meantHosts(parts) };
  return async (request) => {
    const { method = 'GET', url = '/', socket } = request;
    const [path, search] = partsOf(url);
    const found = attempt(() => find(path), null);
    if (found === null) return problem(400, 'BAD_REQUEST', 'the path is not escaped as it must be');
    if (found === undefined) return problem(404, 'NOT_FOUND', `there is nothing at ${path}`);
    const route = found.ways.get(method === 'HEAD' ? 'GET' : method);
    // Decided before a body is read.
    if (route === undefined) return otherMethod(found.ways);
    const { open, verb = 'get' } = route;
    const isChange = route.method !== undefined;
    if (isChange && !isDeliberate(request.headers) && isForeign(request.headers)) return foreign;
    const asked = open === true ? { user: '', refusal: undefined } : await whoAsks(request, verb, guard);
    if (asked.refusal && open !== 'shell') return asked.refusal;
    const { headers } = request;
    return route.answer({
      ...asked,
      // In the form in which a platform that ends TLS says it.
      headers: 'encrypted' in socket ? { ...headers, 'x-forwarded-proto': 'https' } : headers,
      body: isChange ? await readBody(request) : undefined,
      token: tokenOf(headers),
      params: found.params,
      query: open === false ? readQuery(search) : {},
    });
  };
}

function partsOf(url: string): readonly [path: string, search: string] {
  const end = url.indexOf('?');
  return end < 0 ? [url, ''] : [url.slice(0, end), url.slice(end)];
}

/** @throws OrreryError USAGE for a parameter that is given twice: one of them would be ignored */
function readQuery(search: string): Readonly<Record<string, string>> {
  const given = new URLSearchParams(search);
  const twice = [...given.keys()].find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) throw new OrreryError('USAGE', `${twice}: is given more than once`);
  return Object.fromEntries(given);
}

function otherMethod(ways: ReadonlyMap<string, unknown>): HttpAnswer {
  const allowed = [...ways.keys()]
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method))
    .join(', ');
  const verb = allowed.includes(',') ? 'are' : 'is';
  const words = `only ${allowed.replaceAll(', ', ' and ')} ${verb} answered here`;
  const refusal = problem(405, 'METHOD_NOT_ALLOWED', words);
  return { ...refusal, headers: { Allow: allowed } };
}

const foreign = problem(403, 'FORBIDDEN', 'requests from pages of other sites are refused');
const notMeant = problem(
  403,
  'FORBIDDEN',
  'without authentication only requests to a loopback address are answered',
);

async function whoAsks(
  { headers }: IncomingMessage,
  verb: AccessVerb,
  { authorize, isMeant }: Guard,
): Promise<Pick<HttpRequest, 'user' | 'refusal'>> {
  if (!isMeant(headers.host)) return { user: '', refusal: notMeant };
  const token = tokenOf(headers);
  const access = await authorize(token, verb, AbortSignal.timeout(limits.requestTimeoutMs));
  if (access.granted) return { user: access.user, refusal: undefined };
  const code = access.status === 401 ? 'UNAUTHENTICATED' : 'FORBIDDEN';
  const isMalformed = token === null && headers.authorization !== undefined;
  const refusal = problem(access.status, code, isMalformed ? malformed : access.reason);
  const challenge = { 'WWW-Authenticate': 'Bearer' };
  return { user: '', refusal: access.status === 401 ? { ...refusal, headers: challenge } : refusal };
}

/** Without quoting the input, which may be a password. */
const malformed =
  'the header Authorization is not of the form "Bearer TOKEN", without blanks in the token (orrery token prints one)';

function write(response: ServerResponse, { status, contentType, headers, body }: HttpAnswer): void {
  const length = status === 304 ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const all = { ...securityHeaders, 'Content-Type': contentType, ...length, ...headers };
  response.statusCode = status;
  for (const [name, value] of Object.entries(all)) response.setHeader(name, value);
  // For HEAD the platform leaves the body out.
  response.end(body);
}
