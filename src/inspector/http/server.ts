/**
 * The HTTP server of a replica: health, metrics and the API for the whole cluster.
 *
 * Owns the listening socket and the only import of the HTTP library; `routes.ts` has the answers. Promises:
 * every answer has the security headers; every error is JSON `{error: {code, message}}`; `/api` and `/` are
 * checked with `authorize`, health is open, and so are metrics unless configured otherwise; requests that
 * change something are refused to pages of other sites; requests are bounded in time and size. Absent:
 * sessions.
 */
import type { Server as TlsServer } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { HostPort } from '../../base/config-values.ts';
import { boundConnections } from '../../base/http/connections.ts';
import { limits } from '../../base/limits.ts';
import type { AccessVerb, Authorize } from '../../kube/api/access.ts';
import { type SocketParts, serveSockets } from '../live/socket.ts';

import { isDeliberate, isForeign, isLoopbackName, tokenOf } from './credentials.ts';
import type { HttpAnswer } from './http-answer.ts';
import { failure, problem } from './http-answer.ts';
import type { HttpRequest, Route } from './http-route.ts';
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
  /** Starts a live feed. */
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
  const { authorize, clock, live } = parts;
  const sockets = serveSockets(server.server, {
    authorize,
    clock,
    start: live,
    isMeant: meantHosts(parts),
  });
  if (parts.tls) keepTlsFresh(server.server as unknown as TlsServer, parts.tls, clock);
  await server.listen({ host: parts.host, port: parts.port });
  const listening = server.server.address();
  const port = typeof listening === 'object' && listening !== null ? listening.port : parts.port;
  return {
    address: { host: parts.host, port },
    close: () => {
      sockets.close();
      return server.close();
    },
  };
}

/** How often unfinished requests, and connections without one, are looked for, ms. */
const watchful = { connectionsCheckingInterval: limits.httpRequestMs / 2 };

/** The server without a socket: tests inject requests. */
export function createHttp(parts: HttpServerParts): FastifyInstance {
  // The library's type depends on TLS; nothing here does.
  const secure = parts.tls
    ? { https: { ...readTls(parts.tls), ...watchful, handshakeTimeout: limits.httpRequestMs } }
    : { http: watchful };
  const server: FastifyInstance = fastify({
    ...(secure as object),
    logger: false,
    bodyLimit: limits.httpBodyBytes,
    requestTimeout: limits.httpRequestMs,
    keepAliveTimeout: limits.httpIdleMs,
    forceCloseConnections: true,
    // Names of actors may be long; the HTTP parser limits the whole URL.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
  });
  // Beyond the counted connections: handshakes, and sockets that are being closed.
  server.server.maxConnections = 2 * limits.httpConnections;
  boundConnections(server.server, parts.tls ? 'secureConnection' : 'connection');
  server.addHook('onSend', async (_request, reply) => {
    for (const [name, value] of Object.entries(securityHeaders)) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    // The library adds a charset that the health answers must not have: JSON is always UTF-8 (RFC 8259).
    if (String(reply.getHeader('Content-Type')).startsWith('application/json')) {
      reply.header('Content-Type', 'application/json');
    }
  });
  server.setNotFoundHandler((request, reply) =>
    write(reply, problem(404, 'NOT_FOUND', `there is nothing at ${request.url.split('?', 1)[0]}`)),
  );
  server.setErrorHandler((error, _request, reply) => write(reply, failure(error)));
  const guard = { authorize: parts.authorize, isMeant: meantHosts(parts) };
  for (const [path, ways] of Map.groupBy(routes(parts), ({ path }) => path)) {
    for (const route of ways) addRoute(server, route, guard);
    refuseOtherMethods(server, path, ways);
  }
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

function addRoute(server: FastifyInstance, route: Route, guard: Guard): void {
  const { path, open, method = 'GET', verb = 'get' } = route;
  const isChange = method !== 'GET';
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isChange && !isDeliberate(request.headers) && isForeign(request.headers))
      return write(reply, foreign);
    const asked = open === true ? { user: '', refusal: undefined } : await whoAsks(request, verb, guard);
    if (asked.refusal && open !== 'shell') return write(reply, asked.refusal);
    const { params, query, headers, body } = request;
    const call = {
      ...asked,
      // In the form in which a platform that ends TLS says it.
      headers: 'encrypted' in request.socket ? { ...headers, 'x-forwarded-proto': 'https' } : headers,
      body,
      token: tokenOf(headers),
      params: texts(params),
      query: texts(query),
    };
    return write(reply, await route.answer(call));
  };
  // HEAD comes with GET.
  server.route({ method, url: path, handler });
}

function refuseOtherMethods(server: FastifyInstance, path: string, ways: readonly Route[]): void {
  const allowed = ways.flatMap(({ method }) => method ?? ['GET', 'HEAD']);
  const refusal = problem(405, 'METHOD_NOT_ALLOWED', `only ${allowed.join(' and ')} are answered here`);
  const refuse = async (_request: FastifyRequest, reply: FastifyReply) =>
    write(reply.header('Allow', allowed.join(', ')), refusal);
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
    (method) => !allowed.includes(method),
  );
  // Decided before a body is read.
  server.route({ method: methods, url: path, exposeHeadRoute: false, onRequest: refuse, handler: refuse });
}

const foreign = problem(403, 'FORBIDDEN', 'requests from pages of other sites are refused');
const notMeant = problem(
  403,
  'FORBIDDEN',
  'without authentication only requests to a loopback address are answered',
);

async function whoAsks(
  { headers }: FastifyRequest,
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

function write(reply: FastifyReply, { status, contentType, headers, body }: HttpAnswer): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers, 'Content-Type': contentType })
    .send(body);
}

/** Of a repeated parameter the last counts. */
function texts(values: unknown): Readonly<Record<string, string>> {
  if (typeof values !== 'object' || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value.at(-1) : value),
    ]),
  );
}
