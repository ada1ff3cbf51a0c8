/**
 * The port `Bus` over a connection to NATS: combines requests, appends, following and the reading of streams.
 */
import type { Clock } from '../../base/clock.ts';
import { asError, type OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Ambient } from '../../base/log-port.ts';
import type { Bus, BusMessage, RequestOptions, StoredMessage, StreamName, StreamState } from '../bus.ts';
import { nobodyAnswers, notPermitted, unanswered, unreachable } from '../bus-errors.ts';
import type { StreamDefinitions } from '../streams.ts';
import { matcher } from '../subject-match.ts';
import type { Troubles } from '../troubles.ts';
import { guardLanes } from './guard-lanes.ts';
import { copiesOf, isJetStreamError, type JetStreamApi, jetStreamCode } from './jetstream-api.ts';
import type { Takers } from './server/second-answers.ts';
import { createSilenceWatch } from './silence.ts';
import { type ApiMessage, storedMessageOfApi } from './stored-message.ts';
import type { Wire, WireMessage } from './wire.ts';
import { wireAppend } from './wire-append.ts';
import { wireBatch } from './wire-batch.ts';
import { silenceBounds } from './wire-consumer.ts';
import { type AnewListeners, type FollowEnvironment, follow } from './wire-follow.ts';
import { ask, type Failure, type WireRequests } from './wire-requests.ts';

export interface WireBusParts extends Ambient {
  readonly wire: Wire;
  readonly requests: WireRequests;
  readonly api: JetStreamApi;
  readonly streams: StreamDefinitions;
  /** Whether the streams are known to have several copies. */
  readonly isReplicated: boolean;
  readonly anew: AnewListeners;
  readonly troubles: Troubles;
  readonly takers: Takers;
}

export function wireBus(parts: WireBusParts): Bus {
  const { wire, requests, api, streams, clock, log } = parts;
  const silence = createSilenceWatch(clock, silenceBounds);
  const counters = { handlerErrors: 0, disconnects: 0, followRestarts: 0 };
  wire.onStatus((status) => {
    if (status === 'disconnected') counters.disconnects++;
  });
  const guarded = <T extends { readonly subject: string }>(
    handler: (message: T) => void,
    message: T,
  ): void => {
    silence.heard('');
    try {
      handler(message);
    } catch (error) {
      counters.handlerErrors++;
      log.error({ error: asError(error), subject: message.subject }, 'a message handler threw');
    }
  };
  const onRestart = () => counters.followRestarts++;
  const following: FollowEnvironment = {
    ...{ ...parts, silence, deliver: guarded, onRestart },
    told: new Map(),
  };
  return {
    counters,
    get status() {
      return wire.status;
    },
    troubles: () => parts.troubles.all(),
    onStatus: (callback) => wire.onStatus(callback),
    publish: (subject, data, sending = {}) => wire.publish(subject, data, sending.headers, sending.reply),
    subscribe: (subject, onMessage, { queue } = {}) =>
      wire.subscribe(subject, (message) => guarded(onMessage, busMessage(message)), queue),
    request: async (subject, data, asking) => {
      const failed = (failure: Failure) => errorOf(subject, failure, refusalOf(parts.troubles, subject));
      return ask(requests, { ...asking, subject, data, read: busMessage, failed });
    },
    requestMany: (subject, data, asking) => requestMany(requests, subject, data, asking),
    ...guardLanes({
      append: wireAppend(wire, requests, parts.takers),
      appendAll: wireBatch(wire, requests, () => parts.random.id(), parts.takers),
      clock,
      isReplicated: parts.isReplicated,
    }),
    follow: (stream, following_) => follow(following, streams[stream].name, following_),
    last: (stream, subject) => last(api, streams[stream].name, subject),
    lastOfMany: (stream, subjects) => lastOfMany(api, streams[stream].name, subjects),
    streamState: (stream) => streamState(api, streams[stream].name),
    startOver(stream) {
      for (const callback of [...parts.anew]) callback(streams[stream].name, true);
    },
    async purge(stream: StreamName, { subject, belowSequence }) {
      const below = belowSequence === undefined ? {} : { seq: belowSequence };
      await api(`STREAM.PURGE.${streams[stream].name}`, { filter: subject, ...below });
    },
    remove: (stream, sequence) => remove(api, streams[stream].name, sequence),
    close: closer(wire, requests, clock),
  };
}

/** Why nobody may hear what is sent there: replicas have the same permissions. Else nothing. */
function refusalOf(troubles: Troubles, subject: string): string {
  const told = troubles.all().find(({ refused }) => refused !== undefined && matcher(refused)(subject));
  return told === undefined ? '' : `. ${told.text}`;
}

function errorOf(subject: string, failure: Failure, refusal: string): OrreryError {
  if (failure === 'not permitted') return notPermitted(subject);
  if (failure === 'nobody') return nobodyAnswers(subject, refusal);
  if (failure === 'timeout') return unanswered(subject);
  return unreachable(`request to ${subject}: ${failure}`);
}

/** Does not overwrite the message's data; the server reclaims the space. */
async function remove(api: JetStreamApi, stream: string, sequence: number): Promise<void> {
  try {
    await api(`STREAM.MSG.DELETE.${stream}`, { seq: sequence, no_erase: true });
  } catch (error) {
    // For a sequence beyond the end, the store reports that it cannot delete, and "EOF".
    const isBeyond =
      isJetStreamError(error, jetStreamCode.deleteFailed) && asError(error).message.includes('EOF');
    if (!isBeyond && !isJetStreamError(error, jetStreamCode.sequenceNotFound)) throw error;
  }
}

function busMessage(message: WireMessage): BusMessage {
  return { subject: message.subject, data: message.data, headers: message.headers(), reply: message.reply };
}

function requestMany(
  requests: WireRequests,
  subject: string,
  data: Uint8Array,
  options: RequestOptions & { readonly enough: (answers: readonly BusMessage[]) => boolean },
): Promise<readonly BusMessage[]> {
  return new Promise((resolve, reject) => {
    const answers: BusMessage[] = [];
    const onAnswer = (message: WireMessage): boolean => {
      answers.push(busMessage(message));
      try {
        if (!options.enough(answers)) return true;
        resolve(answers);
      } catch (error) {
        reject(error);
      }
      return false;
    };
    requests.send(subject, data, options, { onAnswer, onFailure: () => resolve(answers) });
  });
}

async function streamState(api: JetStreamApi, stream: string): Promise<StreamState> {
  const info = await api(`STREAM.INFO.${stream}`);
  const { created, domain, state } = info;
  const { first_seq, last_seq, messages } = state as Readonly<Record<string, number>>;
  const [lastSequence, count] = [Number(last_seq), Number(messages)];
  const firstSequence = count > 0 ? Number(first_seq) : lastSequence + 1;
  return {
    ...{ created: String(created), lastSequence, firstSequence, messages: count, copies: copiesOf(info) },
    ...(typeof domain === 'string' ? { domain } : {}),
  };
}

/** The stream's leader answers `STREAM.MSG.GET`; "direct" reads may come from a copy that lags. */
async function last(api: JetStreamApi, stream: string, subject: string): Promise<StoredMessage | undefined> {
  try {
    const answer = await api(`STREAM.MSG.GET.${stream}`, { last_by_subj: subject });
    return storedMessageOfApi(answer.message as ApiMessage);
  } catch (error) {
    if (isJetStreamError(error, jetStreamCode.noMessage)) return undefined;
    throw error;
  }
}

/**
 * Many reads from the leader in parallel. A direct multi-get would be one request, but any copy may answer it
 * with an old state, without saying so, and these values decide ownership.
 */
async function lastOfMany(
  api: JetStreamApi,
  stream: string,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, StoredMessage>> {
  const found = new Map<string, StoredMessage>();
  const left = subjects.values();
  const readOn = async (): Promise<void> => {
    for (const subject of left) {
      const message = await last(api, stream, subject);
      if (message) found.set(subject, message);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limits.readsInFlight, subjects.length) }, readOn));
  return found;
}

/** Waits a while for outstanding answers, then closes. */
function closer(wire: Wire, requests: WireRequests, clock: Clock): () => Promise<void> {
  let closed: Promise<void> | undefined;
  const answered = (): Promise<void> =>
    new Promise((resolve) => {
      const giveUpAt = clock.monotonic() + limits.closeTimeoutMs;
      const look = (): void => {
        const isOver = requests.waiting === 0 || wire.status !== 'connected' || clock.monotonic() >= giveUpAt;
        if (isOver) resolve();
        else clock.after(5, look);
      };
      look();
    });
  return () => {
    closed ??= answered().then(() => wire.close());
    return closed;
  };
}
