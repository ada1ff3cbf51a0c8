/**
 * The vocabulary of errors. Errors are sorted by what happens next: *transient*: try again; *terminal*: tell
 * the actor; *fenced*: we are no longer the owner; *invariant*: a bug.
 */

export type ErrorKind = 'transient' | 'terminal' | 'fenced' | 'invariant';

/** Every error code of Orrery, with its meaning. `docs/reference/errors.md` is generated from this table. */
export const errorCodes = {
  BUS_UNREACHABLE: ['transient', 'NATS did not answer in time or is not connected.'],
  BUS_UNKNOWN_OUTCOME: [
    'transient',
    'A write was sent to NATS and no answer came: it may or may not be stored.',
  ],
  BUS_CONFLICT: ['fenced', 'NATS refused a conditional write: the guarded subject has a newer sequence.'],
  BUS_VERSION: ['terminal', 'The NATS server is too old for what Orrery relies on.'],
  BUS_REFUSED: ['terminal', 'NATS refused a request; trying again would not help.'],
  BUSY: ['transient', 'A replica is already answering as many requests as it may; try again.'],
  REPLICA_NAME_TAKEN: [
    'terminal',
    'Another replica runs under the same --replica name; the younger one ends.',
  ],
  MESSAGE_UNREADABLE: ['terminal', 'A message could not be decoded.'],
  MESSAGE_UNKNOWN_KIND: ['terminal', 'A message is addressed to a kind of actor that does not exist.'],
  MESSAGE_UNKNOWN_EVENT: ['terminal', 'The machine does not know the event, or its fields are wrong.'],
  MESSAGE_NOT_ALLOWED: [
    'terminal',
    'An internal message came from outside, or from an actor that may not send it.',
  ],
  MESSAGE_TOO_LARGE: ['terminal', 'A message is larger than the limit.'],
  ACTOR_MISSING: ['terminal', 'A message is addressed to an actor that does not exist.'],
  LETTER_MISSING: ['terminal', 'There is no dead letter with that number, or it was resent or dropped.'],
  ACTOR_PARKED: [
    'terminal',
    'The actor is parked: its machine failed, or its record has an unknown version.',
  ],
  MAILBOX_FULL: ['transient', 'The actor has too many events waiting.'],
  NOT_OWNER: ['fenced', 'This replica does not own the shard of the actor.'],
  KUBE_UNREACHABLE: ['transient', 'The Kubernetes API did not answer.'],
  KUBE_THROTTLED: ['transient', 'The Kubernetes API asked to wait (429 or 503 with Retry-After).'],
  KUBE_SERVER: ['transient', 'The Kubernetes API answered with a server error (5xx).'],
  KUBE_CONFLICT: ['transient', 'The object changed, or was replaced by another of the same name (409).'],
  KUBE_EXPIRED: ['transient', 'The resource version is too old; list again (410).'],
  KUBE_NOT_FOUND: ['terminal', 'The object does not exist (404).'],
  KUBE_REFUSED: ['terminal', 'The Kubernetes API refused the request (4xx).'],
  HTTP_UNREACHABLE: ['transient', 'A server that a feature called did not answer within its bounds.'],
  ACME_UNREACHABLE: ['transient', 'A certificate authority did not answer, or not properly.'],
  ACME_LIMITED: [
    'transient',
    'A certificate authority asked to wait (rate limit, 429, 503 with Retry-After).',
  ],
  ACME_REFUSED: ['terminal', 'A certificate authority refused a request, or a proof of control failed.'],
  CERTIFICATE_UNUSABLE: ['terminal', 'A certificate, a key or a Secret that holds one cannot be used.'],
  SERVER_UNREACHABLE: ['transient', "Orrery's HTTP server did not answer, or something else answered."],
  SERVER_REFUSED: ['terminal', "Orrery's HTTP server, or a proxy in front of it, refused a request."],
  CANDIDATE_REFUSED: [
    'terminal',
    'A request in an election names a candidate that the sender may not act for.',
  ],
  LEASE_HELD: ['transient', 'The Lease is held by another and has not expired.'],
  LEASE_LATE: ['fenced', 'A Lease was to be written after it had expired.'],
  EFFECT_TIMEOUT: ['transient', 'An effect did not end within its deadline.'],
  PROGRAM_UNREADABLE: ['transient', 'A part of the program could not be loaded from the disk.'],
  USAGE: ['terminal', 'A flag, an argument or a value is wrong.'],
  INVARIANT: ['invariant', 'Something happened that must never happen; this is a bug.'],
} as const satisfies Record<string, readonly [ErrorKind, string]>;

export type ErrorCode = keyof typeof errorCodes;

/** Facts for debugging: small, plain, and never a secret (I9). */
export type ErrorFacts = Readonly<Record<string, string | number | boolean | null | undefined>>;

export class OrreryError extends Error {
  readonly code: ErrorCode;
  readonly facts: ErrorFacts;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; facts?: ErrorFacts } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OrreryError';
    this.code = code;
    this.facts = options.facts ?? {};
  }

  /**
   * Also true for errors of another copy of this class: a loaded feature brings its own copy of the package.
   */
  static override [Symbol.hasInstance](thrown: unknown): boolean {
    return Error[Symbol.hasInstance].call(Error, thrown) && (thrown as Error).name === 'OrreryError';
  }

  get kind(): ErrorKind {
    return errorCodes[this.code][0];
  }
}

/** The one function that turns a thrown value into an `Error`. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown)));
}

/**
 * Also true for an error that another copy of this file made: a loaded feature uses the package, a replica
 * its bundle.
 */
export function hasCode(thrown: unknown, ...codes: ErrorCode[]): thrown is OrreryError {
  if (!(thrown instanceof Error) || thrown.name !== 'OrreryError') return false;
  return codes.some((code) => 'code' in thrown && thrown.code === code);
}

/** How long the other side asked to wait before the next try, ms; null: it did not say. */
export function retryAfterOf(thrown: unknown): number | null {
  const ms = thrown instanceof OrreryError ? thrown.facts.retryAfterMs : null;
  return typeof ms === 'number' ? ms : null;
}

/** Throws an INVARIANT error unless `condition` holds. `claim` states what must always be true. */
export function invariant(condition: unknown, claim: string, facts: ErrorFacts = {}): asserts condition {
  if (!condition) throw new OrreryError('INVARIANT', `broken invariant: ${claim}`, { facts });
}

/** The result of `read`, or `otherwise` if it throws. For input from outside, which may be anything. */
export function attempt<T, E>(read: () => T, otherwise: E): T | E {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** What the operating system says of a failure, and the same in words that need no manual. */
const words: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:connect|read|write|recvmsg) ECONNREFUSED(?: [\d.:[\]a-f]+)?/g, 'connection refused'],
  [/\b(?:read|write) (?:ECONNRESET|EPIPE)\b|\bsocket hang up\b|^aborted$/g, 'the connection was cut'],
  [/\bwrite EPROTO .*wrong version number.*/gs, 'it speaks no TLS: is it http:// instead of https://?'],
  [/\bconnect ETIMEDOUT(?: [\d.:[\]a-f]+)?/g, 'no answer'],
  [/\bconnect E(?:HOST|NET)UNREACH(?: [\d.:[\]a-f]+)?.*/g, 'no network leads there'],
  [/\bgetaddrinfo ENOTFOUND (\S+)/g, 'the name $1 does not exist'],
  [/\bgetaddrinfo EAI_AGAIN (\S+)/g, 'the name $1 cannot be looked up: no name server answers'],
  [/\blisten EADDRINUSE: address already in use (\S+):(\d+)/g, 'port $2 of $1 is taken'],
  [/\blisten EADDRNOTAVAIL: address not available (\S+):(\d+)/g, 'this machine does not have the address $1'],
  [/\blisten EACCES: permission denied (\S+):(\d+)/g, 'you may not listen on port $2 of $1'],
  [/\bENOENT: no such file or directory(?:, \w+ '[^']*')?/g, 'there is no such file'],
  [/\bEACCES: permission denied(?:, \w+ '[^']*')?/g, 'permission denied'],
  [/\bEISDIR: illegal operation on a directory(?:, \w+)?/g, 'it is a folder'],
];

/** The message with such failures in words. */
export function inPlainWords(message: string): string {
  return words.reduce((text, [pattern, instead]) => text.replaceAll(pattern, instead), message);
}

const inFile = /(?:^file:|^\s+at ).*?([^/\\\s(]+\.[cm]?[jt]s:\d+)/;

/**
 * Where an exception arose, for people who look for it in their own code.
 *
 * @returns ` (feature.ts:47)`: the first place of its stack in a file outside of Node.js and packages; '' if
 *   there is none
 */
export function placeOf({ stack = '' }: Error): string {
  const line = stack.split('\n').find((text) => inFile.test(text) && !/\(?node:|node_modules\//.test(text));
  const place = line === undefined ? undefined : inFile.exec(line)?.[1];
  return place === undefined ? '' : ` (${place})`;
}

/** Why a connection or a request failed, in such words. */
export function connectionFault(thrown: unknown): string {
  const error: Error & { code?: string; errors?: readonly Error[] } = asError(thrown);
  // The error of a name with several addresses has no message of its own, only one for each address.
  return inPlainWords(error.message || error.errors?.[0]?.message || error.code || error.name);
}
