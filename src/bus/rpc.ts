/**
 * Answers requests as a NATS micro service (ADR-32), so that `nats micro ls`, `info` and `stats` show it.
 *
 * Implements the small protocol itself: `$SRV.PING|INFO|STATS`, for all services, by name and by id, with
 * answers of type `io.nats.micro.v1.…_response`; errors in the headers `Nats-Service-Error` and
 * `Nats-Service-Error-Code`.
 *
 * Promises: every request is answered once, with the handler's bytes or with an error, unless the handler
 * leaves it to another replica. An exception of a handler goes only to the requester. At most
 * `limits.requestsInFlight` requests run, or `atOnce` of an endpoint; further ones are answered with BUSY.
 * Absent: what the requests mean.
 */
import type { Clock } from '../base/clock.ts';
import { timestamp } from '../base/clock.ts';
import { asError, type ErrorCode, errorCodes, OrreryError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { type Log, silentLog } from '../base/log-port.ts';
import type { Bus, BusMessage, Headers, Subscription } from './bus.ts';
import { contentType, encodeJson } from './codec.ts';
import { headerOf } from './envelope.ts';
import { senderIn } from './sender.ts';
import { writeToken } from './subject-token.ts';
import { busy, costlyTurns, createTurns, type Turns } from './turns.ts';

export interface Answer {
  readonly data: Uint8Array;
  readonly headers?: Headers;
}

export interface Endpoint {
  /** `[A-Za-z0-9_-]+`, for people. */
  readonly name: string;
  /** Wildcards allowed. */
  readonly subject: string;
  /** Shares the requests among the replicas; without it, each replica gets every request. */
  readonly queue?: string;
  /** For costly requests: so many run at the same time, half of them for one sender. */
  readonly atOnce?: number;
  /**
   * Plain bytes are sent as JSON. undefined: another replica answers. An exception becomes an error answer.
   */
  readonly handler: (message: BusMessage) => Promise<Answer | Uint8Array | undefined>;
}

export interface ServiceParts {
  /** `[A-Za-z0-9_-]+` */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  /** This replica; as a subject token, escaped where necessary. */
  readonly id: string;
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  readonly log?: Log;
}

export interface Service {
  /** Stops taking requests; resolves when those in progress are answered. */
  stop(): Promise<void>;
}

const errorHeader = 'Nats-Service-Error';
const errorCodeHeader = 'Nats-Service-Error-Code';
/** Orrery's error code, beside the numeric one of the protocol. */
const orreryErrorHeader = 'Orrery-Error';
const verbs = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof verbs)[number];

/**
 * Whether an answer may be sent to this subject: it has to be an inbox. The requester names the subject, and
 * the answer is published with our permissions: under our own prefix or the server's, it would be a record, a
 * fence or a command.
 */
export function isAnswerable(reply: string): boolean {
  return reply !== '' && !reply.startsWith('orrery.') && !reply.startsWith('$');
}

export function serve(bus: Bus, parts: ServiceParts): Service {
  const started = parts.clock.now();
  const running = parts.endpoints.map((endpoint) => runEndpoint(bus, endpoint, parts));
  const describe = describer(parts, running, started);
  const discovery = verbs.flatMap((verb) =>
    discoverySubjects(verb, parts).map((subject) => bus.subscribe(subject, describe(bus, verb))),
  );
  return {
    async stop() {
      for (const subscription of discovery) subscription.stop();
      await Promise.all(running.map((endpoint) => endpoint.stop()));
    },
  };
}

/**
 * The error in an answer, with the code of the replica that sent it, and the fact that it was `told`;
 * undefined if it is no error.
 */
export function errorInAnswer(message: BusMessage): OrreryError | undefined {
  const text = headerOf(message.headers, errorHeader);
  if (text === undefined) return undefined;
  const code = headerOf(message.headers, orreryErrorHeader) ?? '';
  return new OrreryError(isErrorCode(code) ? code : 'BUS_REFUSED', text, { facts: { told: true } });
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}

interface EndpointStats {
  requests: number;
  errors: number;
  lastError: string;
  /** Total milliseconds in handlers. */
  busyMs: number;
}

interface RunningEndpoint {
  readonly endpoint: Endpoint;
  readonly stats: Readonly<EndpointStats>;
  stop(): Promise<void>;
}

function turnsOf({ atOnce }: Endpoint): Turns {
  if (atOnce !== undefined) return costlyTurns(atOnce);
  return createTurns({ most: limits.requestsInFlight, ownMost: limits.requestsOfSender });
}

function runEndpoint(
  bus: Bus,
  endpoint: Endpoint,
  { clock, log = silentLog }: ServiceParts,
): RunningEndpoint {
  const stats: EndpointStats = { requests: 0, errors: 0, lastError: '', busyMs: 0 };
  const underWay = new Set<Promise<void>>();
  const turns = turnsOf(endpoint);
  const respond = (message: BusMessage, answer: Answer): void => {
    if (!isAnswerable(message.reply)) return;
    bus.publish(message.reply, answer.data, { headers: answer.headers ?? {} });
  };
  const fail = (message: BusMessage, thrown: unknown): void => {
    const error = asError(thrown);
    stats.errors++;
    stats.lastError = boundedText(error.message);
    if (!(error instanceof OrreryError) || error.kind === 'invariant') {
      log.error({ error, subject: message.subject }, 'a request handler failed');
    }
    respond(message, errorAnswer(error));
  };
  const take = async (message: BusMessage): Promise<void> => {
    const from = clock.monotonic();
    try {
      const answer = await endpoint.handler(message);
      if (answer) respond(message, answer instanceof Uint8Array ? jsonBytes(answer) : answer);
    } catch (error) {
      fail(message, error);
    } finally {
      stats.busyMs += clock.monotonic() - from;
    }
  };
  const onRequest = (message: BusMessage): void => {
    stats.requests++;
    const end = turns.take(senderIn(message.headers));
    if (end === null) {
      fail(message, busy());
      return;
    }
    const taken: Promise<void> = take(message).catch((error) => {
      log.error({ error: asError(error), subject: message.subject }, 'a request could not be answered');
    });
    underWay.add(taken);
    void taken.then(() => underWay.delete(taken)).then(end);
  };
  const { queue } = endpoint;
  const subscription: Subscription = bus.subscribe(
    endpoint.subject,
    onRequest,
    queue === undefined ? {} : { queue },
  );
  return {
    endpoint,
    stats,
    async stop() {
      subscription.stop();
      await Promise.all(underWay);
    },
  };
}

/**
 * Answers one request with the result of `work`, or with the error it throws; undefined: another replica
 * answers.
 */
export async function answerLate(
  bus: Bus,
  { reply }: BusMessage,
  work: () => Promise<Answer | Uint8Array | undefined>,
): Promise<void> {
  if (!isAnswerable(reply)) return;
  const given = await work().catch((thrown) => errorAnswer(asError(thrown)));
  if (given === undefined) return;
  const { data, headers = {} } = given instanceof Uint8Array ? jsonBytes(given) : given;
  bus.publish(reply, data, { headers });
}

const jsonBytes = (data: Uint8Array): Answer => ({
  data,
  headers: { [contentType.header]: contentType.json },
});

/** As in HTTP, for clients that know only the numbers. */
const statusOfKind = { transient: 503, terminal: 400, fenced: 409, invariant: 500 } as const;

function errorAnswer(error: Error): Answer {
  const code = error instanceof OrreryError ? error.code : 'INVARIANT';
  const status = statusOfKind[errorCodes[code][0]];
  return {
    data: encodeJson({ error: { code, message: boundedText(error.message) } }),
    headers: {
      [contentType.header]: contentType.json,
      // One line of bounded length, because a header cannot contain more.
      [errorHeader]: error.message.replace(/\s+/g, ' ').slice(0, 500),
      [errorCodeHeader]: String(status),
      [orreryErrorHeader]: code,
    },
  };
}

/** An error may quote what was asked: uncut, its answer, and that about the service, would not fit either. */
const boundedText = (message: string) =>
  message.length > limits.errorAnswerChars ? `${message.slice(0, limits.errorAnswerChars)}…` : message;

function discoverySubjects(verb: Verb, { name, id }: ServiceParts): readonly string[] {
  return [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${writeToken(id)}`];
}

function describer(parts: ServiceParts, running: readonly RunningEndpoint[], started: number) {
  const { name, version, description = '', metadata = {} } = parts;
  const id = writeToken(parts.id);
  const body = (verb: Verb): Record<string, unknown> => {
    const base = { type: `io.nats.micro.v1.${verb.toLowerCase()}_response`, name, id, version, metadata };
    switch (verb) {
      case 'PING':
        return base;
      case 'INFO':
        return { ...base, description, endpoints: running.map(({ endpoint }) => endpointInfo(endpoint)) };
      case 'STATS':
        return { ...base, started: timestamp(started), endpoints: running.map(endpointStats) };
    }
  };
  return (bus: Bus, verb: Verb) => (message: BusMessage) => {
    if (isAnswerable(message.reply)) bus.publish(message.reply, encodeJson(body(verb)));
  };
}

function endpointInfo({ name, subject, queue = '' }: Endpoint): Record<string, unknown> {
  return { name, subject, queue_group: queue, metadata: {} };
}

function endpointStats({ endpoint, stats }: RunningEndpoint): Record<string, unknown> {
  const { name, subject, queue = '' } = endpoint;
  const nanos = Math.round(stats.busyMs * 1e6);
  return {
    name,
    subject,
    queue_group: queue,
    num_requests: stats.requests,
    num_errors: stats.errors,
    last_error: stats.lastError,
    processing_time: nanos,
    average_processing_time: stats.requests === 0 ? 0 : Math.round(nanos / stats.requests),
  };
}
