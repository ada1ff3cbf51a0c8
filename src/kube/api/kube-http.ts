/**
 * HTTP to the Kubernetes API: JSON calls and streams over Node's own client, with kept connections.
 *
 * Owns the connections. Promises: every call is bounded in time and size, and ends when its signal is
 * aborted; failures are OrreryErrors; if the server closed a kept connection, a repeatable request is
 * repeated without an error; changed credentials apply to the next connection. Absent: authentication
 * (`kube-connection.ts`, through `GetAccess`), the requests themselves (`rest.ts`), client-side throttling
 * (callers honour the API server's 429), compression (it costs more than it saves within a cluster).
 */
import { createHash } from 'node:crypto';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { asError, attempt, connectionFault, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortedError, within } from './deadline.ts';
import { refusalError } from './refusals.ts';

/** The API server's address and our credentials. Secret throughout: never logged (I9). */
export interface Access {
  /** `https://host:port[/path]`, without a slash at the end. */
  readonly server: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsAccess;
  /** A connection pool that goes through a proxy. */
  readonly proxy?: HttpAgent;
}

export interface TlsAccess {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** @param refused true: the previous credentials were answered with 401, or trust another authority */
export type GetAccess = (refused: boolean, signal: AbortSignal) => Promise<Access>;

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly body?: unknown;
  /** Of the body; default JSON. */
  readonly contentType?: string;
  readonly timeoutMs: number;
  /** Repeating the request has no further effect. */
  readonly repeatable: boolean;
}

export interface Transport {
  /** The answer's JSON. */
  call(call: HttpCall, signal: AbortSignal): Promise<unknown>;
  /**
   * Passes on the pieces of a streamed answer; resolves when the server ends it cleanly. An exception
   * in `onPiece` ends the stream.
   *
   * @throws OrreryError KUBE_UNREACHABLE if no byte comes for `silenceMs`
   */
  stream(
    request: { readonly path: string; readonly silenceMs: number; readonly onOpen?: () => void },
    onPiece: (piece: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Closes the idle connections; those in use end with their requests. */
  close(): void;
}

/**
 * The server may have closed several kept connections in a row; after this many tries a new one is opened.
 */
const repeatsMax = 3;

export function createTransport(parts: { readonly clock: Clock; readonly getAccess: GetAccess }): Transport {
  const { clock, getAccess } = parts;
  const pools = createPools();

  const ask = (call: HttpCall, pool: PoolName, signal: AbortSignal): Promise<IncomingMessage> =>
    admitted(getAccess, signal, (access) => send(access, call, pool, signal));
  const send = async (access: Access, call: HttpCall, pool: PoolName, signal: AbortSignal) => {
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await exchange(access, call, access.proxy ?? pools.agent(access, pool), signal);
      } catch (thrown) {
        if (!(thrown instanceof StaleConnection) || repeats >= repeatsMax)
          throw unreachable(call, thrown, access.server);
      }
    }
  };

  return {
    call(call, signal) {
      const what = `${call.method} ${bare(call.path)}`;
      return within({ clock, ms: call.timeoutMs, what, signal }, async (inner) => {
        const answer = await ask(call, 'calls', inner);
        const text = await readAll(answer, what, inner);
        if (isRefused(answer)) throw refusalOf(what, answer, text, clock.now());
        const body = readJson(text);
        if (body === undefined) throw new OrreryError('KUBE_SERVER', `${what} was not answered with JSON`);
        return body;
      });
    },
    async stream({ path, silenceMs, onOpen }, onPiece, signal) {
      const what = `GET ${bare(path)}`;
      const call: HttpCall = { method: 'GET', path, timeoutMs: limits.kubeRequestMs, repeatable: true };
      const ending = new AbortController();
      const onAbort = () => ending.abort(abortedError(what, signal));
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        const answer = await within({ clock, ms: call.timeoutMs, what, signal }, () =>
          ask(call, 'watches', ending.signal),
        );
        if (isRefused(answer)) {
          const text = await within({ clock, ms: call.timeoutMs, what, signal }, (inner) =>
            readAll(answer, what, inner),
          );
          throw refusalOf(what, answer, text, clock.now());
        }
        onOpen?.();
        await readPieces(answer, { clock, what, silenceMs, signal: ending.signal }, onPiece);
      } finally {
        signal.removeEventListener('abort', onAbort);
        // However it ended, the connection is closed.
        ending.abort(new OrreryError('KUBE_UNREACHABLE', `${what} is over`));
      }
    },
    close: () => pools.close(),
  };
}

/** One call over its own connection, with the whole text of the answer. */
export async function askOnce(
  access: Access,
  call: HttpCall,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await exchange(access, call, access.proxy ?? false, signal);
  const text = await readAll(answer, `${call.method} ${bare(call.path)}`, signal);
  return { status: answer.statusCode ?? 0, text };
}

/** Sends a second time, with credentials that were looked up again, where the first were no good. */
async function admitted(
  getAccess: GetAccess,
  signal: AbortSignal,
  send: (access: Access) => Promise<IncomingMessage>,
): Promise<IncomingMessage> {
  try {
    const answer = await send(await getAccess(false, signal));
    if (answer.statusCode !== 401) return answer;
    answer.resume();
  } catch (thrown) {
    // A server that is not trusted has been told nothing.
    if (!isDistrust(asError(thrown).cause)) throw thrown;
  }
  return send(await getAccess(true, signal));
}

/** The server had closed the kept connection before it received the request. */
class StaleConnection extends Error {}

function isRefused({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode < 200 || statusCode > 299;
}

function refusalOf(what: string, answer: IncomingMessage, text: string, at: number): OrreryError {
  const { statusCode: status = 0, headers } = answer;
  const body = readJson(text) ?? text;
  return refusalError({ request: what, status, body, retryAfter: headers['retry-after'] }, at);
}

/** Sends the request and resolves with the head of the answer. */
function exchange(
  access: Access,
  call: HttpCall,
  agent: HttpAgent | false,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const url = new URL(access.server + call.path);
    const begin = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = begin(url, {
      method: call.method,
      agent,
      headers: {
        ...access.headers,
        accept: 'application/json',
        ...(body === undefined
          ? {}
          : { 'content-type': call.contentType ?? 'application/json', 'content-length': body.length }),
      },
      // Our own pools already have these, and would otherwise look connections up by all of them.
      ...((access.proxy !== undefined || agent === false) && url.protocol === 'https:' ? access.tls : {}),
    });
    const onAbort = () => request.destroy(asError(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('socket', (socket) => keepAlive(socket));
    // Also after the head: then reading the answer reports the error.
    request.on('error', (error) =>
      reject(isStale(request, call, error) ? new StaleConnection(error.message) : error),
    );
    request.on('response', resolve);
    request.on('close', () => signal.removeEventListener('abort', onAbort));
    request.end(body);
  });
}

function keepAlive(socket: Socket): void {
  socket.setKeepAlive(true, limits.kubeTcpKeepAliveMs);
  socket.setNoDelay(true);
}

function isStale(request: ClientRequest, call: HttpCall, error: NodeJS.ErrnoException): boolean {
  return call.repeatable && request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

function unreachable(call: HttpCall, thrown: unknown, server = ''): OrreryError {
  if (thrown instanceof OrreryError) return thrown;
  const error: NodeJS.ErrnoException = asError(thrown);
  const what = `${call.method} ${server}${bare(call.path)}`;
  const why = isDistrust(error)
    ? `the API server's certificate is not trusted (${error.code}): which authority is configured?`
    : connectionFault(error);
  return new OrreryError('KUBE_UNREACHABLE', `${what} failed: ${why}`, { cause: error });
}

/** Of Node's TLS: the server's certificate has another authority, another name, or is out of date. */
function isDistrust(thrown: unknown): boolean {
  const { code } = (thrown ?? {}) as NodeJS.ErrnoException;
  return typeof code === 'string' && /CERT|SIGNATURE/.test(code);
}

async function readAll(answer: IncomingMessage, what: string, signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await readToEnd(answer, what, signal, (piece) => {
    bytes += piece.length;
    if (bytes > limits.kubeAnswerBytes) {
      throw new OrreryError(
        'MESSAGE_TOO_LARGE',
        `the answer to ${what} is longer than ${limits.kubeAnswerBytes} bytes`,
      );
    }
    pieces.push(piece);
  });
  return Buffer.concat(pieces, bytes).toString('utf8');
}

async function readPieces(
  answer: IncomingMessage,
  parts: {
    readonly clock: Clock;
    readonly what: string;
    readonly silenceMs: number;
    readonly signal: AbortSignal;
  },
  onPiece: (piece: Uint8Array) => void,
): Promise<void> {
  const { clock, what, silenceMs, signal } = parts;
  let lastByteAt = clock.monotonic();
  const listen = (): { cancel(): void } =>
    clock.after(lastByteAt + silenceMs - clock.monotonic(), () => {
      if (clock.monotonic() - lastByteAt < silenceMs) timer = listen();
      else answer.destroy(new OrreryError('KUBE_UNREACHABLE', `${what} was silent for ${silenceMs} ms`));
    });
  let timer = listen();
  try {
    await readToEnd(answer, what, signal, (piece) => {
      lastByteAt = clock.monotonic();
      onPiece(piece);
    });
  } finally {
    timer.cancel();
  }
}

/** Rejects if the answer breaks off; an exception in `onPiece` breaks it off. */
function readToEnd(
  answer: IncomingMessage,
  what: string,
  signal: AbortSignal,
  onPiece: (piece: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (thrown: unknown) => {
      signal.removeEventListener('abort', onAbort);
      answer.destroy();
      const error = asError(thrown);
      reject(error instanceof OrreryError ? error : brokenOff(what, error));
    };
    const onAbort = () => fail(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    answer.on('data', (piece: Buffer) => {
      try {
        onPiece(piece);
      } catch (thrown) {
        fail(thrown);
      }
    });
    answer.on('error', fail);
    answer.on('end', () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    answer.on('close', () => fail(new Error('the connection was closed')));
  });
}

function brokenOff(what: string, cause: Error): OrreryError {
  return new OrreryError('KUBE_UNREACHABLE', `the answer to ${what} broke off: ${cause.message}`, { cause });
}

function readJson(text: string): unknown {
  return attempt(() => JSON.parse(text), undefined);
}

/** Without the query: a continue token tells a person nothing. */
function bare(path: string): string {
  return path.split('?', 1)[0] ?? path;
}

type PoolName = 'calls' | 'watches';

/** Separate pools for calls and for watches, so that no watch waits for a call to end. */
function createPools() {
  let current: { readonly identity: string; readonly agents: Record<PoolName, HttpAgent> } | undefined;
  const closeIdle = () => {
    for (const agent of Object.values(current?.agents ?? {})) {
      for (const sockets of Object.values(agent.freeSockets))
        for (const socket of sockets ?? []) socket.destroy();
    }
  };
  return {
    agent(access: Access, pool: PoolName): HttpAgent {
      const identity = identityOf(access);
      if (current?.identity !== identity) {
        closeIdle();
        current = { identity, agents: createAgents(access) };
      }
      return current.agents[pool];
    },
    close: closeIdle,
  };
}

function createAgents({ server, tls }: Access): Record<PoolName, HttpAgent> {
  const { ca, cert, key, ...how } = tls;
  // Certificates are read once, not for each connection.
  const secureContext = createSecureContext(definedOf({ ca, cert, key }));
  const create = (maxSockets: number) =>
    server.startsWith('https:')
      ? new HttpsAgent({ ...how, secureContext, keepAlive: true, maxSockets })
      : new HttpAgent({ keepAlive: true, maxSockets });
  return { calls: create(limits.kubeSockets), watches: create(Number.POSITIVE_INFINITY) };
}

function definedOf<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof definedOf<T>
  >;
}

const identities = new WeakMap<Access, string>();

/** Identifies the credentials with which a connection was opened, without keeping the secret. */
function identityOf(access: Access): string {
  const known = identities.get(access);
  if (known !== undefined) return known;
  const identity = hashOf(access);
  identities.set(access, identity);
  return identity;
}

function hashOf({ server, tls }: Access): string {
  const hash = createHash('sha256');
  for (const part of [server, tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)]) {
    hash.update(part ?? '').update('\0');
  }
  return hash.digest('base64');
}
