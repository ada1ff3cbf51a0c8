/**
 * The JSON API of JetStream, as far as the bus uses it: `$JS.API.<verb>` requests, answered by the stream's
 * leader.
 */
import { asError, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { unreachable } from '../bus-errors.ts';
import type { WireMessage } from './wire.ts';
import { ask, type Failure, type WireRequests } from './wire-requests.ts';

/**
 * Calls `$JS.API.<verb>`. @throws OrreryError BUS_UNREACHABLE (try again) | BUS_REFUSED (fact
 * `jetStreamCode`)
 */
export type JetStreamApi = (verb: string, body?: unknown) => Promise<Record<string, unknown>>;

/** The codes that Orrery distinguishes (`errors.json` of the server). */
export const jetStreamCode = {
  /** The servers of a cluster have not met yet, or one of them is away: temporary. */
  noSuitablePeers: 10005,
  noMessage: 10037,
  sequenceNotFound: 10043,
  deleteFailed: 10057,
  consumerNotFound: 10014,
  streamNameInUse: 10058,
  streamNotFound: 10059,
  wrongLastSequence: 10071,
  wrongLastSequenceInFlight: 10164,
} as const;

export interface JetStreamError {
  /** As in HTTP: 4xx for a wrong request, 5xx if the server cannot answer now. */
  readonly code: number;
  readonly err_code: number;
  readonly description: string;
}

/** On how many servers a stream is, by what the API says of it. */
export const copiesOf = ({ config }: Readonly<Record<string, unknown>>): number =>
  (config as { readonly num_replicas: number }).num_replicas;

const utf8 = new TextEncoder();
const empty = new Uint8Array(0);

export function jetStreamApi(requests: WireRequests): JetStreamApi {
  return async (verb, body) =>
    ask(requests, {
      subject: `$JS.API.${verb}`,
      data: body === undefined ? empty : utf8.encode(JSON.stringify(body)),
      timeoutMs: limits.requestTimeoutMs,
      read: (message) => answerOf(verb, message),
      failed: (failure) => unreachable(`JetStream, ${verb}: ${failure}${adviceOn(failure, verb)}`),
    });
}

/** Parses a JSON object from a message. @throws OrreryError BUS_UNREACHABLE */
export function jsonOf(message: WireMessage): Record<string, unknown> {
  try {
    const { buffer, byteOffset, length } = message.data;
    const value: unknown = JSON.parse(Buffer.from(buffer, byteOffset, length).toString());
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    throw unreachable(`an answer cannot be read: ${asError(error).message}`, error);
  }
  throw unreachable('an answer is not a JSON object');
}

export function errorIn(answer: Record<string, unknown>): JetStreamError | undefined {
  return answer.error as JetStreamError | undefined;
}

export function isJetStreamError(error: unknown, code: number): boolean {
  return error instanceof OrreryError && error.facts.jetStreamCode === code;
}

function adviceOn(failure: Failure, verb: string): string {
  if (failure === 'nobody')
    return ' answers (is JetStream enabled on this NATS server? A leaf node without it needs default_js_domain, for the account and the domain of its hub)';
  if (failure === 'timeout' && /^(STREAM\.INFO|CONSUMER)\./.test(verb)) return silentStream;
  return failure === 'not permitted' ? ' to this NATS user (deploy/nats/permissions.conf)' : '';
}

/** Only a stream's leader answers for it. */
const silentStream =
  ' (if it lasts: the NATS servers that keep this stream are away, start them again. With one copy, --stream-replicas 1, that is one server; of three copies one may be away)';

const noRoom =
  "raise max_file of the account (in its JWT, disk storage), or max_file_store of the NATS servers: Orrery's streams need room";

/** What to do about the codes that tell of the account or the server, not of one request. */
const advice: Readonly<Record<number, string>> = {
  10002: "the account's room is used up: raise its max_file (in its JWT, disk storage)",
  10008: 'the NATS servers have no leader: are more than half of them there?',
  10023: noRoom,
  10026: 'each replica needs a consumer for each of its shards and some more: raise max_consumers',
  10027: 'Orrery needs five streams: raise max_streams',
  10047: noRoom,
  10039: 'enable JetStream for the account of this NATS user',
  10052:
    'somebody else made or changed the stream, and NATS does not let Orrery change it back: back it up, then delete it at a quiet moment, and it is made again',
  10065: "another stream in the account takes Orrery's subjects: it must not",
  10074: '--stream-replicas 3 needs a cluster of three NATS servers',
  10077:
    'raise max_bytes, max_msgs or max_msgs_per_subject of the stream (nats stream edit), or find out why nobody takes what is in it',
  10110:
    'somebody set deny_purge on the stream, which NATS cannot undo: delete the stream at a quiet moment, it is made again without what waits in it',
  10113: "turn max_bytes_required off for the account: Orrery's streams have no bound in bytes",
};

/** With what to do about it, where that is known. */
export function errorText({ description, err_code: code }: JetStreamError): string {
  const known = advice[code];
  return `${description} (${code})${known === undefined ? '' : `; ${known}`}`;
}

function answerOf(verb: string, message: WireMessage): Record<string, unknown> {
  const answer = jsonOf(message);
  const error = errorIn(answer);
  if (!error) return answer;
  const facts = { jetStreamCode: error.err_code, status: error.code, verb };
  const text = `JetStream, ${verb}: ${errorText(error)}`;
  const isForNow = error.code >= 500 || error.err_code === jetStreamCode.noSuitablePeers;
  throw new OrreryError(isForNow ? 'BUS_UNREACHABLE' : 'BUS_REFUSED', text, { facts });
}
