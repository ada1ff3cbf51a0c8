/**
 * The connection to NATS: the only file that imports the client library.
 *
 * Owns: finding a server (it retries forever and logs that once), authentication, the version check, the
 * existence of the streams, and the few behaviours in which the library differs from the port. Everything
 * else is in `wire-bus.ts`.
 *
 * Differences: the library stops reconnecting after ten attempts, or after two refusals of the same
 * credentials; here it never stops. The library keeps messages published while disconnected and sends them
 * later; here they are dropped or refused, because a write must not appear after its caller has given up. In
 * the library, an exception in a subscription's callback ends its reader; here none gets that far
 * (`wire-bus.ts`).
 */
import {
  type ConnectionOptions,
  connect,
  createInbox,
  credsAuthenticator,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  nkeyAuthenticator,
  PermissionViolationError,
} from 'nats';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { type Log, silentLog } from '../../base/log-port.ts';
import type { Random } from '../../base/random.ts';
import type { Bus, BusStatus, Headers } from '../bus.ts';
import { refused } from '../bus-errors.ts';
import { streamDefinitions } from '../streams.ts';
import { createTroubles, type Troubles } from '../troubles.ts';
import { jetStreamApi } from './jetstream-api.ts';
import { keepStreams } from './keep-streams.ts';
import { keepTrying } from './keep-trying.ts';
import { lastingSubscription } from './lasting-subscription.ts';
import { askOncePerTurn, flushOncePerTurn } from './once-per-turn.ts';
import { orderDials } from './server/dials.ts';
import { credentials, loginInUrls } from './server/nats-login.ts';
import { reasonOf } from './server/nats-reasons.ts';
import { type TlsFiles, tlsOptions } from './server/nats-tls.ts';
import { parseServer, withoutPasswords } from './server/nats-url.ts';
import { cannotReach, noteConnection, tellOutages } from './server/outage.ts';
import { PublishRefusals } from './server/publish-refusals.ts';
import { oneTaker } from './server/second-answers.ts';
import { checkServer, onReconnect } from './server/server-check.ts';
import { givenLaterMs, type ServerOrder, serverOrder } from './server/server-order.ts';
import { subscriptionLimit } from './server/subscription-limit.ts';
import { subscriptionRefusals } from './server/subscription-refusals.ts';
import { readHeaderBlock, writeHeaderBlock } from './stored-message.ts';
import type { Wire, WireMessage } from './wire.ts';
import { wireBus } from './wire-bus.ts';
import type { AnewListeners } from './wire-follow.ts';
import { publisher } from './wire-publish.ts';
import { wireRequests } from './wire-requests.ts';

export interface NatsParts {
  /** `nats://` or `tls://` URLs, or `host:port`; the first may contain a user and password, or a token. */
  readonly servers: readonly string[];
  readonly credsFile?: string;
  readonly tls?: TlsFiles;
  /** The prefix of subjects for answers, if this connection's permissions require one; default `_INBOX`. */
  readonly inboxPrefix?: string;
  /** The connection's name in the server's reports. */
  readonly name: string;
  readonly cluster: string;
  /**
   * Copies of each stream (1 or 3). Absent: the client neither creates nor changes streams; it only requests
   * and watches.
   */
  readonly streamReplicas?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Stops waiting for the first connection. */
  readonly signal?: AbortSignal;
  /** Kept up to date, also before the first connection. */
  readonly troubles?: Troubles;
}

/** With `maxPingOut`, a silent server is given up after 4 to 6 s; a broken connection is noticed at once. */
const pingIntervalMs = 2_000;
const maxPingOut = 2;

/**
 * Connects, checks the server's version, and creates or updates the streams. Keeps trying while NATS is away.
 *
 * @throws OrreryError BUS_VERSION, BUS_REFUSED (the streams have another number of shards, or max_payload is
 *   too small), USAGE (a file cannot be read), BUS_UNREACHABLE (only if `signal` was aborted)
 */
export async function connectNats(given: NatsParts): Promise<Bus> {
  const troubles = given.troubles ?? createTroubles(given.clock);
  const parts = { ...given, troubles };
  const log = parts.log ?? silentLog;
  const connection = await firstConnection(parts, log);
  try {
    const wire = natsWire(connection, parts, log);
    checkServer(wire, parts);
    const requests = wireRequests(wire, parts.clock, parts.random);
    const api = askOncePerTurn(jetStreamApi(requests));
    const streams = streamDefinitions(parts.cluster);
    const { streamReplicas: replicas } = parts;
    const anew: AnewListeners = new Set();
    const onAnew = (stream: string) => {
      for (const callback of [...anew]) callback(stream, false);
    };
    const takers = oneTaker();
    const kept = { ...parts, wire, api, requests, streams, log, onAnew, takers };
    if (replicas !== undefined) await keepStreams({ ...kept, replicas });
    const isReplicated = (replicas ?? 1) > 1;
    const { clock, random } = parts;
    const common = { wire, requests, api, streams, clock, random, log, troubles, takers };
    const bus = wireBus({ ...common, isReplicated, anew });
    wire.onStatus((status) => onReconnect(status, wire, parts, log));
    return bus;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function firstConnection(parts: KnownParts, log: Log): Promise<NatsConnection> {
  const order = serverOrder(parts);
  const settings = connectionOptions(parts, order, log);
  const attempt = {
    ...parts,
    log,
    facts: { servers: parts.servers.map(withoutPasswords) },
    trouble: cannotReach,
    success: 'NATS answers now',
    onReason: (reason: string | null) => noteConnection(parts.troubles, reason),
  };
  const connection = await keepTrying(attempt, () =>
    connect(settings).catch((error) => {
      throw new Error(reasonOf(asError(error)), { cause: error });
    }),
  );
  flushOncePerTurn(connection);
  orderDials(connection, order);
  return connection;
}

type KnownParts = NatsParts & { readonly troubles: Troubles };

function connectionOptions(parts: KnownParts, order: ServerOrder, log: Log): ConnectionOptions {
  const { credsFile, tls, name, inboxPrefix } = parts;
  const urls = parts.servers.map(parseServer);
  const makers = { jwt: credsAuthenticator, nkey: nkeyAuthenticator };
  return {
    servers: urls.map((url) => url.server),
    name,
    ...loginInUrls(urls),
    ...(credsFile === undefined ? {} : { authenticator: credentials(credsFile, makers, { ...parts, log }) }),
    ...(tls === undefined && !urls.some((url) => url.isTls) ? {} : { tls: tlsOptions(tls ?? {}, urls) }),
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    maxReconnectAttempts: -1,
    reconnectToServer: order.next,
    ignoreClusterUpdates: true,
    reconnectTimeWait: 100,
    pingInterval: pingIntervalMs,
    maxPingOut,
    timeout: givenLaterMs,
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true,
  };
}

const closedForGood =
  'the NATS connection was closed for good: this process ends, and other replicas take over its work';

/** The library's connection as the port of `wire.ts`. */
export function natsWire(
  connection: NatsConnection,
  parts: Pick<KnownParts, 'clock' | 'inboxPrefix' | 'troubles'>,
  log: Log,
): Wire {
  const callbacks = new Set<(status: BusStatus) => void>();
  const publishNow = publisher(connection, (subject, data, headers, reply) =>
    connection.publish(subject, data, publishOptions(headers, reply)),
  );
  let status: BusStatus = 'connected';
  const change = (next: BusStatus): void => {
    if (status === next || status === 'closed') return;
    status = next;
    if (next === 'connected') outageEnds();
    for (const callback of [...callbacks]) callback(next);
  };
  const outageEnds = tellOutages(connection, parts.troubles, log);
  const refusals = new PublishRefusals({ ...parts, log });
  const onForbidden = (subject: string) => refusals.note(subject);
  void watchStatus(connection, { ...parts, status: () => status, change, onForbidden, log });
  void connection.closed().then((reason) => {
    if (reason) log.error({ error: asError(reason) }, closedForGood);
    refusals.stop();
    change('closed');
  });
  return {
    inbox: createInbox(parts.inboxPrefix),
    get status() {
      return status;
    },
    get serverVersion() {
      return connection.info?.version ?? '';
    },
    get maxPayload() {
      return connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    },
    get isClustered() {
      return connection.info?.cluster !== undefined;
    },
    onStatus(callback) {
      callbacks.add(callback);
      return { stop: () => void callbacks.delete(callback) };
    },
    publish(subject, data, headers, reply) {
      if (status !== 'connected') return;
      try {
        publishNow(subject, data, headers, reply);
      } catch (error) {
        if (!connection.isClosed()) throw refused(asError(error).message);
      }
    },
    onForbidden: (callback) => refusals.listen(callback),
    subscribe: subscriber(connection, parts, log),
    close: () => closeConnection(connection, status, parts.clock),
  };
}

function subscriber(
  connection: NatsConnection,
  { clock, troubles }: Pick<KnownParts, 'clock' | 'troubles'>,
  log: Log,
): Wire['subscribe'] {
  const flush = () => connection.flush();
  const isClosed = () => connection.isClosed();
  const refusals = subscriptionRefusals({ clock, troubles, log });
  return (subject, onMessage, queue) => {
    if (isClosed()) return { stop: () => undefined };
    const subscribe = (onRefused: () => void) => {
      const callback = (error: Error | null, message: Msg): void => {
        if (error) onRefused();
        else receive(onMessage, message, log);
      };
      const options = { callback, ...(queue === undefined ? {} : { queue }) };
      const subscription = connection.subscribe(subject, options);
      return { stop: () => subscription.unsubscribe() };
    };
    return lastingSubscription({ subject, subscribe, flush, isClosed, clock, refusals });
  };
}

interface StatusParts extends Pick<KnownParts, 'clock' | 'troubles'> {
  readonly status: () => BusStatus;
  readonly change: (status: BusStatus) => void;
  readonly onForbidden: (subject: string) => void;
  readonly log: Log;
}

async function watchStatus(connection: NatsConnection, parts: StatusParts): Promise<void> {
  const { change, log } = parts;
  const limit = subscriptionLimit({ ...parts, reconnect: () => connection.reconnect() });
  for await (const event of connection.status()) {
    if (event.type === 'disconnect') change('disconnected');
    else if (event.type === 'reconnect') {
      limit.onConnected();
      change('connected');
    } else if (event.type === 'error' && !limit.onError(event.error)) onError(event.error, parts);
    else if (event.type === 'ldm') log.info({ server: event.server }, 'the NATS server is about to stop');
  }
}

/** What is said in an outage comes as its reason, a refused subscription to the subscription. */
function onError(error: Error, { status, onForbidden, log }: StatusParts): void {
  if (error instanceof PermissionViolationError) {
    if (error.operation !== 'publish') return;
    onForbidden(error.subject);
  } else if (status() === 'connected') log.warn({ reason: reasonOf(error) }, 'NATS reported an error');
}

/** Draining waits for the server, so it is skipped while disconnected. */
async function closeConnection(connection: NatsConnection, status: BusStatus, clock: Clock): Promise<void> {
  if (status === 'connected') {
    const { promise: tooLong, resolve } = Promise.withResolvers<void>();
    const timer = clock.after(limits.closeTimeoutMs, resolve);
    const flushed = connection.flush().catch(() => undefined);
    await Promise.race([flushed, connection.closed(), tooLong]);
    timer.cancel();
  }
  await connection.close();
}

/**
 * The library encodes any object passed as headers by calling `encode`. Its own headers type canonicalizes
 * and searches on each `set`, a third of the cost of a guarded write.
 */
function publishOptions(
  headers: Headers | undefined,
  reply: string | undefined,
): { headers?: MsgHdrs; reply?: string } {
  const options: { headers?: MsgHdrs; reply?: string } = {};
  if (reply) options.reply = reply;
  if (headers) {
    const block = Buffer.from(writeHeaderBlock(headers));
    options.headers = { encode: () => block } as unknown as MsgHdrs;
  }
  return options;
}

/**
 * The last resort: an exception that escaped here would end the library's reader, and with it the connection.
 */
function receive(onMessage: (message: WireMessage) => void, message: Msg, log: Log): void {
  try {
    onMessage(wireMessage(message));
  } catch (error) {
    log.error({ error: asError(error), subject: message.subject }, 'a message could not be taken');
  }
}

/** The internal form of the library's messages. */
interface Inside {
  readonly _msg?: { readonly hdr?: number; readonly reply?: Uint8Array };
  readonly _rdata?: Uint8Array;
}

function wireMessage(message: Msg): WireMessage {
  const block = headerBlock(message);
  const [status = '', description] = block === '' ? [] : statusOf(block);
  return {
    subject: message.subject,
    data: message.data,
    reply: replyOf(message),
    status: Number(status),
    description: description ?? '',
    headers: () => readHeaderBlock(block),
  };
}

/**
 * Reads the raw header block, because the library canonicalizes each name and heartbeats and stored messages
 * come by the thousand. If the internal form is not as expected, the library's own reading is used.
 */
function headerBlock(message: Msg): string {
  const { _msg: { hdr = undefined } = {}, _rdata: bytes } = message as unknown as Inside;
  if (hdr === undefined || !(bytes instanceof Uint8Array)) return blockAsRead(message.headers);
  return hdr < 0 ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, hdr).toString();
}

function blockAsRead(headers: MsgHdrs | undefined): string {
  if (headers === undefined) return '';
  const lines = Array.from(headers, ([name, [value]]) => `${name}: ${value ?? ''}`);
  return `NATS/1.0 ${headers.code || ''} ${headers.description}\r\n${lines.join('\r\n')}`;
}

/** The library decodes the place for an answer also where there is none, as in each acknowledgement. */
function replyOf(message: Msg): string {
  const { _msg: inside } = message as unknown as Inside;
  return inside !== undefined && inside.reply === undefined ? '' : (message.reply ?? '');
}

/** `NATS/1.0 100 Idle Heartbeat` */
function statusOf(block: string): readonly string[] {
  return /^NATS\/1\.0 +(\d+) *([^\r]*)/.exec(block)?.slice(1) ?? [];
}
