/**
 * One ordered consumer on a NATS server, from its creation to the first doubt.
 *
 * The server pushes to a subject of ours, unacknowledged, with flow control and heartbeats. Each message
 * carries the consumer's own count. A gap in the count, a missing heartbeat or an unexpected status is a
 * doubt: this consumer then ends, and `wire-follow.ts` creates the next one.
 */
import { type Clock, timestamp } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import type { FollowFrom, FollowOptions, StoredMessage, Subscription } from '../bus.ts';
import { unreachable } from '../bus-errors.ts';
import type { FollowPlace } from './follow-place.ts';
import { copiesOf, type JetStreamApi } from './jetstream-api.ts';
import type { Listening, SilenceBounds, SilenceWatch, Silent } from './silence.ts';
import { readDelivery, storedMessage } from './stored-message.ts';
import type { Wire, WireMessage } from './wire.ts';

export interface ConsumerEnvironment {
  readonly wire: Wire;
  readonly api: JetStreamApi;
  /** Configured with `silenceBounds`. */
  readonly silence: SilenceWatch;
  readonly clock: Clock;
  readonly log: Log;
  /** Calls the user's handler and catches its exceptions. */
  readonly deliver: (handler: (message: StoredMessage) => void, message: StoredMessage) => void;
}

export interface ConsumerPlan {
  readonly stream: string;
  readonly name: string;
  /** The subject to which the server pushes. */
  readonly inbox: string;
  readonly options: FollowOptions;
  readonly place: FollowPlace;
}

/** No event follows after `end`. */
export interface ConsumerEvents {
  /** The starting position is fixed. */
  onReady(): void;
  /**
   * The messages that were in the stream at the creation of the consumer have been delivered; may be called
   * again.
   */
  onCaughtUp(): void;
  onDoubt(reason: string): void;
  onFailure(error: Error): void;
}

export interface Consumer {
  end(): void;
}

/**
 * Rare, because a replica has one consumer per shard; only the loss of the last message on a broken route is
 * seen by a heartbeat alone.
 */
const heartbeatMs = 5_000;
export const silenceBounds: SilenceBounds = {
  askAfterMs: 1_000,
  answerMaxMs: 1_500,
  /** Two and a half heartbeats: one may be late, two may not. */
  consumerMaxMs: 2.5 * heartbeatMs,
};
/** The server removes an abandoned consumer after this time; usually we delete it ourselves. */
const inactiveMs = 30_000;
const nanosPerMs = 1e6;
const empty = new Uint8Array(0);

export function startConsumer(
  environment: ConsumerEnvironment,
  plan: ConsumerPlan,
  events: ConsumerEvents,
): Consumer {
  const { wire, api } = environment;
  const { stream, name, place, options } = plan;
  let silence: Listening | undefined;
  const progress = progressOf(events);
  let ended = false;
  let isMade = false;
  let subscription: Subscription | undefined;

  const onMessage = (message: WireMessage): void => {
    if (ended) return;
    silence?.heard();
    const delivery = message.status === 0 ? readDelivery(message.reply) : undefined;
    if (delivery === undefined) onControl(wire, message, progress, events);
    else if (progress.count(delivery.consumerSequence)) {
      if (place.take(delivery.streamSequence)) {
        environment.deliver(options.onMessage, storedMessage(message, delivery));
      }
      if (!ended) progress.look(delivery.pending);
    }
  };
  const create = async (): Promise<void> => {
    const info = await api(`STREAM.INFO.${stream}`);
    if (ended) return;
    noteStream(environment, plan, info);
    if (ended) return;
    subscription = wire.subscribe(plan.inbox, onMessage);
    const body = { stream_name: stream, config: consumerConfig(plan), action: 'create' };
    const made = await api(`CONSUMER.CREATE.${stream}.${name}`, body);
    if (ended) return remove();
    isMade = true;
    silence = environment.silence.listen(silentOf(made, environment, plan, events));
    onMade(made.num_pending as number, (made.delivered as { stream_seq: number }).stream_seq);
  };
  const onMade = (waiting: number, before: number): void => {
    // With `lastPerSubject`, there is no position before the first message, unless the stream is empty.
    if (waiting === 0 || options.from.kind !== 'lastPerSubject') place.fix(before + 1);
    events.onReady();
    progress.start(waiting);
  };
  /** In the background: a consumer that cannot be deleted now removes itself. */
  const remove = (): void => void api(`CONSUMER.DELETE.${stream}.${name}`).catch(() => undefined);

  void create().catch((error) => {
    if (!ended) events.onFailure(asError(error));
  });
  return {
    end() {
      ended = true;
      silence?.stop();
      subscription?.stop();
      if (isMade && wire.status === 'connected') remove();
    },
  };
}

/** @param made the answer of the server that runs the consumer */
function silentOf(
  made: Record<string, unknown>,
  { api }: ConsumerEnvironment,
  { stream, name }: ConsumerPlan,
  events: ConsumerEvents,
): Silent {
  return {
    server: (made.cluster as { leader?: string } | undefined)?.leader ?? '',
    ask: () => api(`CONSUMER.INFO.${stream}.${name}`),
    onSilent: (ms) => events.onDoubt(`nothing heard for ${Math.round(ms)} ms`),
  };
}

/** Checks whether this is the stream that was read before; if not, reading starts over. */
function noteStream(
  { clock, log }: Pick<ConsumerEnvironment, 'clock' | 'log'>,
  { stream, place, options }: ConsumerPlan,
  info: Record<string, unknown>,
): void {
  const { last_seq: lastSequence } = info.state as { readonly last_seq: number };
  const found = { created: info.created, lastSequence, copies: copiesOf(info) };
  const finding = place.checkStream(found, clock.monotonic());
  if (!finding) return;
  if (finding.isUnsure) throw unreachable(finding.text);
  log.error({ stream, next: place.next() }, finding.text);
  if (!options.onAnother) return;
  place.again();
  options.onAnother();
}

type Progress = ReturnType<typeof progressOf>;

/** Counts deliveries, and reports when the messages that waited at the beginning have come. */
function progressOf(events: ConsumerEvents) {
  let count = 0;
  /** undefined until the server has said how many messages waited; some may arrive before that. */
  let waiting: number | undefined;
  const look = (pending: number): void => {
    if (waiting !== undefined && (count >= waiting || pending === 0)) events.onCaughtUp();
  };
  return {
    delivered: () => count,
    look,
    /** Whether this is the next message; otherwise there is a doubt. */
    count(sequence: number): boolean {
      if (sequence === count + 1) {
        count = sequence;
        return true;
      }
      events.onDoubt(`delivery ${sequence} came after ${count}`);
      return false;
    },
    start(waitingNow: number): void {
      waiting = waitingNow;
      look(Number.POSITIVE_INFINITY);
    },
  };
}

/** Handles a flow control request, a heartbeat, or the end of the consumer. */
function onControl(wire: Wire, message: WireMessage, progress: Progress, events: ConsumerEvents): void {
  if (message.status !== 100) events.onDoubt(`${message.status} ${message.description}`);
  else if (message.reply !== '') wire.publish(message.reply, empty);
  else onHeartbeat(wire, message, progress, events);
}

function onHeartbeat(wire: Wire, message: WireMessage, progress: Progress, events: ConsumerEvents): void {
  const headers = message.headers();
  const stalled = headers['Nats-Consumer-Stalled'];
  if (stalled) wire.publish(stalled, empty);
  const last = Number(headers['Nats-Last-Consumer'] ?? progress.delivered());
  if (last !== progress.delivered()) {
    events.onDoubt(`the heartbeat counts ${last} deliveries, ${progress.delivered()} came`);
  } else if (!stalled) {
    // A server sends heartbeats when it has nothing to send: unless it waits for us, that was all.
    progress.look(0);
  }
}

function consumerConfig({ name, inbox, options, place }: ConsumerPlan): Record<string, unknown> {
  return {
    name,
    deliver_subject: inbox,
    filter_subjects: options.subjects,
    ...deliverPolicy(place.from()),
    ack_policy: 'none',
    max_deliver: 1,
    replay_policy: 'instant',
    flow_control: true,
    idle_heartbeat: heartbeatMs * nanosPerMs,
    inactive_threshold: inactiveMs * nanosPerMs,
    // The consumer is lost with its server and recreated elsewhere, so it needs neither a disk nor a second
    // copy.
    mem_storage: true,
    num_replicas: 1,
  };
}

function deliverPolicy(from: FollowFrom): Record<string, unknown> {
  switch (from.kind) {
    case 'lastPerSubject':
      return { deliver_policy: 'last_per_subject' };
    case 'sequence':
      return { deliver_policy: 'by_start_sequence', opt_start_seq: from.sequence };
    case 'time':
      return { deliver_policy: 'by_start_time', opt_start_time: timestamp(from.at) };
    case 'new':
      return { deliver_policy: 'new' };
  }
}
