/**
 * The HTTP of a replica: health, metrics and the API that answers for the whole cluster.
 *
 * Owns the listening socket and the one import of the HTTP library; what the paths answer is in `routes.ts`. Promises: every
 * answer carries the security headers; every error is JSON `{error: {code, message}}`; `/api` and `/` are asked about at
 * `authorize`, health and metrics are open; requests are bounded in time and size. Absent: TLS (the platform's), sessions.
 */
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Authorize } from '../access.ts';
import type { HostPort } from '../config-values.ts';
import { limits } from '../limits.ts';
import type { HttpAnswer } from './http-answer.ts';
import { failure, problem } from './http-answer.ts';
import { type HttpParts, type Route, routes } from './routes.ts';

export interface HttpOptions extends HttpParts {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly authorize: Authorize;
}

export interface HttpServer {
  /** Where it listens; the port is the real one. */
  readonly address: HostPort;
  /** Takes no new connection, ends the open ones and resolves when the socket is closed. Safe to call twice. */
  close(): Promise<void>;
}

/** @throws Error of the system if the address cannot be listened on */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const server = createHttp(options);
  await server.listen({ host: options.host, port: options.port });
  const listening = server.server.address();
  const port = typeof listening === 'object' && listening !== null ? listening.port : options.port;
  return {
    address: { host: options.host, port },
    close: () => server.close(),
  };
}

/** The server without a socket: tests inject requests. */
export function createHttp(options: HttpOptions): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: limits.httpBodyBytes,
    requestTimeout: limits.httpRequestMs,
    forceCloseConnections: true,
    // Names of actors may be long; the limit of the whole URL is the HTTP parser's.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
  });
  server.server.maxConnections = limits.httpConnections;
  server.addHook('onSend', async (_request, reply) => {
    reply.headers(securityHeaders);
    // The library adds a charset that the health form does not have: JSON is UTF-8 anyway (RFC 8259).
    if (String(reply.getHeader('Content-Type')).startsWith('application/json')) {
      reply.header('Content-Type', 'application/json');
    }
  });
  server.setNotFoundHandler((request, reply) =>
    write(reply, problem(404, 'NOT_FOUND', `there is nothing at ${request.url.split('?', 1)[0]}`)),
  );
  server.setErrorHandler((error, _request, reply) => write(reply, failure(error)));
  for (const route of routes(options)) addRoute(server, route, options.authorize);
  return server;
}

const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
};

function addRoute(server: FastifyInstance, { path, open, answer }: Route, authorize: Authorize): void {
  // HEAD comes with GET.
  server.get(path, async (request, reply) => {
    const refusal = open ? undefined : await refusalOf(request, authorize);
    if (refusal) return write(reply, refusal);
    const { params, query } = request;
    return write(reply, await answer({ params: texts(params), query: texts(query) }));
  });
  server.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: path,
    // Decided before a body is read.
    onRequest: async (_request, reply) => write(reply.header('Allow', 'GET, HEAD'), notAllowed),
    handler: async (_request, reply) => write(reply, notAllowed),
  });
}

const notAllowed = problem(405, 'METHOD_NOT_ALLOWED', 'only GET and HEAD are answered here');

async function refusalOf(request: FastifyRequest, authorize: Authorize): Promise<HttpAnswer | undefined> {
  const [, token = null] = /^Bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const access = await authorize(token, 'get', AbortSignal.timeout(limits.requestTimeoutMs));
  if (access.granted) return undefined;
  const refusal = problem(
    access.status,
    access.status === 401 ? 'UNAUTHENTICATED' : 'FORBIDDEN',
    access.reason,
  );
  return access.status === 401 ? { ...refusal, headers: { 'WWW-Authenticate': 'Bearer' } } : refusal;
}

function write(reply: FastifyReply, { status, contentType, headers, body }: HttpAnswer): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers, 'Content-Type': contentType })
    .send(body);
}

/** A parameter that is given twice counts as its last. */
function texts(values: unknown): Readonly<Record<string, string>> {
  if (typeof values !== 'object' || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value.at(-1) : value),
    ]),
  );
}
