/**
 * A minimal HTTP/1.1 server for health checks: one request without a body for each connection.
 *
 * For the node agent, which runs on every node: Node's own HTTP server costs 5 MB of memory there. Promises:
 * connections are bounded in time, bytes and number; at the bound the oldest is closed, so idle ones keep
 * nobody out; anything but a request gets 400. Absent: bodies, keep-alive (every answer says `Connection:
 * close`), pipelining.
 */
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { HostPort } from '../../base/config-values.ts';
import { listenOn } from '../../base/http/listen.ts';
import { limits } from '../../base/limits.ts';

export interface SmallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SmallServer {
  /** With the actual port. */
  readonly address: HostPort;
  close(): Promise<void>;
}

/**
 * @param answer called once for each request; HEAD gets the same without the body
 * @throws Error of the system if it cannot listen on the address
 */
export async function startSmallHttp(parts: {
  readonly listen: HostPort;
  readonly clock: Clock;
  readonly answer: (method: string, path: string) => SmallAnswer;
  /** PEM; absent: no TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
}): Promise<SmallServer> {
  const { listen, clock, tls } = parts;
  const open = new Set<Socket>();
  const take = (socket: Socket): void => {
    const [oldest] = open;
    if (open.size >= limits.httpConnections) oldest?.destroy();
    open.add(socket);
    const patience = clock.after(limits.httpRequestMs, () => socket.destroy());
    socket.on('close', () => {
      patience.cancel();
      open.delete(socket);
    });
    // A caller that disconnects is no error.
    socket.on('error', () => socket.destroy());
    read(socket, parts);
  };
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  // Unfinished handshakes are bounded separately.
  server.maxConnections = 2 * limits.httpConnections;
  const port = await listenOn(server, listen);
  return {
    address: { host: listen.host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function read(socket: Socket, { clock, answer }: Parameters<typeof startSmallHttp>[0]): void {
  let head = '';
  const onData = (chunk: Buffer) => {
    head += chunk.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end < 0 && head.length <= limits.httpHeadBytes) return;
    // What follows the head is discarded, because unread bytes would reset the connection and lose the
    // answer.
    socket.off('data', onData).resume();
    const [method = '', path = ''] = requestOf(end < 0 ? '' : head.slice(0, end)) ?? [];
    const given = path === '' ? badRequest : answer(method, path);
    socket.end(text(given, method === 'HEAD', clock));
  };
  socket.on('data', onData);
}

/** Method and path of a request; undefined if malformed. */
function requestOf(head: string): readonly [string, string] | undefined {
  const [line = '', ...headers] = head.split('\r\n');
  const match = /^([A-Z]{1,20}) (?:https?:\/\/[^/ ]*)?(\/[^ ]*) HTTP\/1\.[01]$/.exec(line);
  const isWellFormed = headers.every((header) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/.test(header));
  return match && isWellFormed ? [match[1] ?? '', (match[2] ?? '').split('?', 1)[0] ?? ''] : undefined;
}

const badRequest: SmallAnswer = {
  status: 400,
  headers: { 'Content-Type': 'text/plain' },
  body: 'bad request\n',
};

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  503: 'Service Unavailable',
};

function text({ status, headers, body }: SmallAnswer, isHead: boolean, clock: Clock): string {
  const all = {
    ...headers,
    Date: new Date(clock.now()).toUTCString(),
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${reasons[status] ?? ''}\r\n${lines.join('')}\r\n${isHead ? '' : body}`;
}
