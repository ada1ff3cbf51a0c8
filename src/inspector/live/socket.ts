/**
 * The WebSocket `/api/v1/inspect`: who may open it, and how long it lives. The only importer of the WebSocket
 * library.
 *
 * Promises: only callers that may `get` the inspector are admitted, and no page of another site; the
 * permission is checked again while the socket is open, and a socket whose client is gone or whose permission
 * was withdrawn is closed. At most `limits.inspectSessions` are open; one more is told so and closed. A
 * client that does not hang up holds no connection.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Access, Authorize } from '../../kube/api/access.ts';
import { isDeliberate, isForeign, offeredProtocols, tokenOf } from '../http/credentials.ts';
import type { LiveLine, LiveSession } from './live.ts';
import { liveProtocol } from './live-protocol.ts';

export interface SocketParts {
  readonly authorize: Authorize;
  readonly clock: Clock;
  /** Whether requests to this Host name are answered. */
  readonly isMeant: (host: string | undefined) => boolean;
  /** Starts the feed on an open socket. @param query of the address */
  readonly start: (query: URLSearchParams, line: LiveLine) => LiveSession;
}

const path = '/api/v1/inspect';
/** Close codes: those below 4000 are RFC 6455's; 4401 and 4403 correspond to HTTP's 401 and 403. */
const closing = { away: 1001, full: 1013, unauthenticated: 4401, forbidden: 4403 } as const;
const full = `${limits.inspectSessions} live feeds are open on this replica, as many as it serves; it is tried again`;

const options = {
  noServer: true,
  maxPayload: limits.inspectMessageBytes,
  // Not worth it for small messages; lists shrink to a tenth.
  perMessageDeflate: { threshold: 4_096, zlibDeflateOptions: { level: 3 }, concurrencyLimit: 2 },
  closeTimeout: limits.inspectCloseMs,
  handleProtocols: (offered: ReadonlySet<string>) => (offered.has(liveProtocol) ? liveProtocol : false),
} as const;

export function serveSockets(server: Server, parts: SocketParts) {
  const sockets = new WebSocketServer(options);
  const isFull = () => {
    const open = [...sockets.clients].filter(({ readyState }) => readyState === WebSocket.OPEN);
    return open.length > limits.inspectSessions;
  };
  /** Whose permission is still asked for. */
  const waiting = new Set<Duplex>();
  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const url = new URL(request.url ?? '/', 'http://orrery');
    waiting.add(socket);
    const refusal = await refusalOf(request, url, parts).finally(() => waiting.delete(socket));
    if (refusal !== null) return end(socket, refusal);
    sockets.handleUpgrade(request, socket, head, (opened) => {
      // Many may have asked at the same time. A browser hears a reason from an open socket only.
      if (isFull()) dismiss(opened);
      else attend(opened, request, url, parts);
    });
  };
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    open(request, socket, head).catch(() => end(socket, '503 Service Unavailable'));
  });
  return {
    /** Closes all sockets and accepts no more. */
    close(): void {
      for (const socket of waiting) socket.destroy();
      for (const one of sockets.clients) one.close(closing.away, 'the replica is stopping');
      sockets.close();
    },
  };
}

function dismiss(socket: WebSocket): void {
  socket.on('error', () => {});
  socket.close(closing.full, full);
}

async function refusalOf(
  { headers }: IncomingMessage,
  url: URL,
  { authorize, isMeant }: SocketParts,
): Promise<string | null> {
  if (url.pathname.replace(/\/$/, '') !== path) return '404 Not Found';
  const offered = offeredProtocols(headers).filter((one) => one !== '');
  if (offered.length > 0 && !offered.includes(liveProtocol)) return '400 Bad Request';
  if (!isMeant(headers.host)) return '403 Forbidden';
  if (!isDeliberate(headers) && isForeign(headers)) return '403 Forbidden';
  const access = await ask(authorize, headers);
  if (access.granted) return null;
  return access.status === 401 ? '401 Unauthorized\r\nWWW-Authenticate: Bearer' : '403 Forbidden';
}

function end(socket: Duplex, status: string): void {
  // Whatever the client does then: a connection that it left open would keep the server from closing.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function attend(socket: WebSocket, { headers }: IncomingMessage, url: URL, parts: SocketParts): void {
  const { clock } = parts;
  const session = parts.start(url.searchParams, {
    send: (text) => socket.send(text),
    unread: () => socket.bufferedAmount,
  });
  let isAlive = true;
  let timer: Timer;
  const check = async () => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
    // While Kubernetes cannot be asked, admitted callers stay: they may be looking for the cause.
    const access = await ask(parts.authorize, headers).catch(
      (error): Access => ({ granted: true, user: asError(error).message }),
    );
    if (access.granted) timer = clock.after(limits.inspectCheckMs, check);
    else
      socket.close(
        access.status === 401 ? closing.unauthenticated : closing.forbidden,
        closeReason(access.reason),
      );
  };
  timer = clock.after(limits.inspectCheckMs, check);
  socket.on('pong', () => {
    isAlive = true;
  });
  socket.on('message', (data) => session.take(String(data)));
  // The close follows an error.
  socket.on('error', () => {});
  socket.on('close', () => {
    timer.cancel();
    isAlive = false;
    session.end();
  });
}

/** A WebSocket's reason has 123 bytes at most; a longer one is not sent at all. */
const closeReason = (text: string): string =>
  Buffer.from(text)
    .subarray(0, 123)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');

const ask = (authorize: Authorize, headers: IncomingHttpHeaders): Promise<Access> =>
  authorize(tokenOf(headers), 'get', AbortSignal.timeout(limits.requestTimeoutMs));
