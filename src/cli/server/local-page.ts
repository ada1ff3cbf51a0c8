/**
 * The inspector page on this machine, while a command runs: a loopback server that forwards every request to
 * Orrery with a token of the person who runs the command.
 *
 * Promises: only the browser that opened the printed link is served, because it has a cookie with a secret of
 * this process; no token reaches the browser; requests from other sites' pages, and those to a host name
 * other than loopback, are refused. Absent: opening a browser.
 */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError, inPlainWords } from '../../base/errors.ts';
import { joinSockets } from '../../base/http/joined-sockets.ts';
import { listenOn } from '../../base/http/listen.ts';
import { systemRandom } from '../../base/random.ts';
import { isForeign, isLoopbackName } from '../../inspector/http/credentials.ts';
import type { Access } from '../../kube/api/kube-http.ts';
import type { Right, Way } from './http-exchange.ts';

export interface LocalPage {
  /** The link that admits one browser. */
  readonly url: string;
  close(): Promise<void>;
}

const cookie = 'orrery_open';

/**
 * @param port 0: any free one
 * @param right that the tokens must have
 * @throws Error of the system if it cannot listen
 */
export async function serveLocalPage(
  plain: Way,
  { port, right }: { readonly port: number; readonly right: Right },
): Promise<LocalPage> {
  const way: Way = { ...plain, access: (_, refused) => plain.access(right, refused) };
  const secret = systemRandom.id() + systemRandom.id();
  const server = createServer((request, response) => {
    if (!isMeant(request)) return answer(response, 403, 'requests from other pages are refused\n');
    if (request.url === `/open/${secret}`) return letIn(response, secret);
    if (!isKnown(request, secret)) return answer(response, 401, 'open the link that `orrery open` printed\n');
    void handOn(way, request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isMeant(request) || !isKnown(request, secret)) return socket.destroy();
    void joinUp(way, request, socket, head);
  });
  const actual = await listenOn(server, { host: '127.0.0.1', port });
  return {
    url: `http://127.0.0.1:${actual}/open/${secret}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isMeant({ headers }: IncomingMessage): boolean {
  return isLoopbackName(headers.host) && !isForeign(headers);
}

function isKnown({ headers }: IncomingMessage, secret: string): boolean {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const given = pairs.find((pair) => pair.startsWith(`${cookie}=`))?.slice(cookie.length + 1) ?? '';
  const [one, other] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Redirects at once, so that the link is in no history but this one. */
function letIn(response: ServerResponse, secret: string): void {
  const flags = 'Path=/; HttpOnly; SameSite=Strict';
  response.writeHead(302, { location: '/', 'set-cookie': `${cookie}=${secret}; ${flags}` }).end();
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

async function handOn(way: Way, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const outgoing = open(await way.access('get', false), incoming);
    incoming.pipe(outgoing);
    response.once('close', () => outgoing.destroy());
    const there = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve);
      outgoing.once('error', reject);
    });
    // The next request uses a fresh token.
    if (there.statusCode === 401) await way.access('get', true).catch(() => {});
    response.writeHead(there.statusCode ?? 502, kept(there.headers));
    there.pipe(response);
  } catch (thrown) {
    if (response.headersSent) response.destroy();
    else answer(response, 502, `${way.name} cannot be reached: ${inPlainWords(asError(thrown).message)}\n`);
  }
}

async function joinUp(way: Way, incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  socket.on('error', () => socket.destroy());
  try {
    const outgoing = open(await way.access('get', false), incoming);
    outgoing.once('error', () => socket.destroy());
    outgoing.once('response', () => socket.destroy());
    outgoing.once('upgrade', (there: IncomingMessage, other: Duplex, first: Buffer) => {
      const lines = Object.entries(there.headers).map(([name, value]) => `${name}: ${String(value)}`);
      socket.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'));
      joinSockets({ socket, head }, { socket: other, head: first });
    });
    outgoing.end();
  } catch {
    socket.destroy();
  }
}

function open(
  { server, headers, tls, proxy }: Access,
  { url = '/', method, headers: theirs }: IncomingMessage,
) {
  const target = new URL(server + url);
  const { upgrade } = theirs;
  const joined = upgrade === undefined ? {} : { connection: 'Upgrade', upgrade };
  const options = {
    ...tls,
    method,
    headers: { ...kept(theirs), ...joined, ...headers },
    agent: proxy ?? false,
  };
  return (target.protocol === 'https:' ? requestHttps : requestHttp)(target, options);
}

/** Headers that belong to this connection or this browser only. */
const ours = new Set([
  'host',
  'connection',
  'keep-alive',
  'upgrade',
  'transfer-encoding',
  'cookie',
  'set-cookie',
  'origin',
  'referer',
  'authorization',
  'strict-transport-security',
]);

function kept(headers: IncomingMessage['headers']): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ours.has(name)));
}
