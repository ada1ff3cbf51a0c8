/**
 * `--acme-http`: answers the authority's request for an HTTP-01 challenge (RFC 8555 8.3), whichever replica
 * ordered the certificate.
 *
 * Owns the socket. Promises: a known token gets its key authorization, anything else 404; a limited number of
 * unknown tokens is looked up at a time, so a flood of guesses costs NATS nothing. An occupied port is
 * retried; the replica runs without it.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { HostPort } from '../../../base/config-values.ts';
import { asError, inPlainWords } from '../../../base/errors.ts';
import { boundConnections } from '../../../base/http/connections.ts';
import { listenOn } from '../../../base/http/listen.ts';
import { limits } from '../../../base/limits.ts';
import type { Log } from '../../../base/log-port.ts';
import type { ChallengeBoard } from './challenge.ts';

/** base64url, at least 128 bits (RFC 8555 8.3); nobody makes much longer ones. */
const path = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]{16,256})$/;
const listenAgainMs = 5_000;

export function startChallengeServer(parts: {
  readonly listen: HostPort;
  readonly board: Pick<ChallengeBoard, 'find'>;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const { listen, board, clock, log } = parts;
  const closing = new AbortController();
  const answer = answerer(board);
  const checks = {
    connectionsCheckingInterval: limits.httpRequestMs / 2,
    requestTimeout: limits.httpRequestMs,
  };
  const server = createServer(checks, (request, response) => void answer(request, response));
  // The port is public: silent connections must not keep authorities out.
  server.maxConnections = 2 * limits.httpConnections;
  boundConnections(server, 'connection');
  void keepListening(server, listen, { clock, log, signal: closing.signal });
  return {
    /** Where it listens; null while it does not. */
    address(): HostPort | null {
      const bound = server.address();
      return typeof bound === 'object' && bound !== null ? { host: listen.host, port: bound.port } : null;
    },
    async close(): Promise<void> {
      closing.abort(new Error('closed'));
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function keepListening(
  server: Server,
  { host, port }: HostPort,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await listenOn(server, { host, port });
      return log.info({ acmeHttp: `${host}:${port}` }, 'serving answers to HTTP-01 challenges');
    } catch (thrown) {
      const facts = { acmeHttp: `${host}:${port}`, error: inPlainWords(asError(thrown).message) };
      log.warn(facts, 'answers to HTTP-01 challenges cannot be served here; retrying');
      await sleep(clock, listenAgainMs, signal).catch(() => {});
    }
  }
}

function answerer(board: Pick<ChallengeBoard, 'find'>) {
  let lookups = 0;
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, token] = path.exec((request.url ?? '').split('?', 1)[0] ?? '') ?? [];
    if (token === undefined || (request.method !== 'GET' && request.method !== 'HEAD'))
      return end(response, 404, '');
    if (lookups >= limits.challengeLookups) return end(response, 503, '');
    lookups++;
    try {
      const found = await board.find(token);
      end(response, found === null ? 404 : 200, found ?? '');
    } catch {
      end(response, 503, '');
    } finally {
      lookups--;
    }
  };
}

function end(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'Content-Type': 'application/octet-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}
