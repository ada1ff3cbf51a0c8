/**
 * One ordered consumer on a NATS server, from its making to the first doubt.
 *
 * The server pushes to a subject of our own, unacknowledged, with flow control and heartbeats. Each message
 * carries the consumer's own count. A count that is missing, a heartbeat that does not come, a status that is
 * no heartbeat: each is a doubt, and this consumer is of no use any more; `wire-follow.ts` makes the next
 * one.
 */
import { timestamp } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import type { FollowFrom, FollowOptions, StoredMessage, Subscription } from '../bus.ts';
import type { FollowPlace } from './follow-place.ts';
import type { JetStreamApi } from './jetstream-api.ts';
import type { Listening, SilenceBounds, SilenceWatch } from './silence.ts';
import { readDelivery, storedMessage } from './stored-message.ts';
import type { Wire, WireMessage } from './wire.ts';

export interface ConsumerEnvironment {
  readonly wire: Wire;
  readonly api: JetStreamApi;
  /** Of `silenceBounds`. */
  readonly silence: SilenceWatch;
  readonly log: Log;
  /** Calls the user's handler; it catches what the handler throws. */
  readonly deliver: (handler: (message: StoredMessage) => void, message: StoredMessage) => void;
}

export interface ConsumerPlan {
  readonly stream: string;
  readonly name: string;
  /** Where the server pushes to. */
  readonly inbox: string;
  readonly options: FollowOptions;
  readonly place: FollowPlace;
}

/** Nothing is told after `end`. */
export interface ConsumerEvents {
  /** The place to begin at is fixed. */
  onReady(): void;
  /** What waited in the stream when the consumer was made has been delivered; may be called again. */
  onCaughtUp(): void;
  onDoubt(reason: string): void;
  onFailure(error: Error): void;
}

export interface Consumer {
  end(): void;
}

/**
 * Seldom, since a replica has a consumer for each shard: what is seen by a heartbeat alone, the loss of the
 * last message on a broken route, is rare.
 */
const heartbeatMs = 5_000;
export const silenceBounds: SilenceBounds = {
  askAfterMs: 1_000,
  answerMaxMs: 1_500,
  /** Two and a half heartbeats: one may be late, two may not. */
  consumerMaxMs: 2.5 * heartbeatMs,
};
/**
 * The server removes a consumer that nobody listens to after this time; we delete it ourselves where we can.
 */
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
    noteStream(plan, info, environment.log);
    if (ended) return;
    subscription = wire.subscribe(plan.inbox, onMessage);
    const body = { stream_name: stream, config: consumerConfig(plan), action: 'create' };
    const made = await api(`CONSUMER.CREATE.${stream}.${name}`, body);
    if (ended) return remove();
    isMade = true;
    listen((made.cluster as { leader?: string } | undefined)?.leader ?? '');
    onMade(made.num_pending as number, (made.delivered as { stream_seq: number }).stream_seq);
  };
  const listen = (server: string): void => {
    silence = environment.silence.listen({
      server,
      ask: () => api(`CONSUMER.INFO.${stream}.${name}`),
      onSilent: (ms) => events.onDoubt(`nothing heard for ${Math.round(ms)} ms`),
    });
  };
  const onMade = (waiting: number, before: number): void => {
    // From the last of each subject there is no place before the first message, unless there is none.
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

/** Whether it is still the stream that was read before; if it is another one, reading begins again. */
function noteStream({ stream, place, options }: ConsumerPlan, info: Record<string, unknown>, log: Log): void {
  const finding = place.checkStream(info.created, (info.state as { last_seq: number }).last_seq);
  if (!finding) return;
  log.error({ stream, next: place.next() }, finding.text);
  if (!options.onAnother) return;
  place.again();
  options.onAnother();
}

type Progress = ReturnType<typeof progressOf>;

/** Counts deliveries, and tells when those that waited at the beginning have come. */
function progressOf(events: ConsumerEvents) {
  let count = 0;
  /** undefined until the server has said how many waited; messages may come before. */
  let waiting: number | undefined;
  const look = (pending: number): void => {
    if (waiting !== undefined && (count >= waiting || pending === 0)) events.onCaughtUp();
  };
  return {
    delivered: () => count,
    look,
    /** Whether it is the next one; a doubt if not. */
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

/** A flow control request, a heartbeat, or the end of the consumer. */
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
    // The server beats when it has nothing to send: unless it waits for us, that was all.
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
    // It is gone with its server, and recreated elsewhere: nothing of it is worth a disk or a second copy.
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
