/**
 * Following a stream on a NATS server (B5): one ordered consumer after another.
 *
 * At any doubt – a lost message, silence, a lost connection – the consumer ends, and the next one starts
 * after the last delivered sequence. So no message is missed or delivered twice. Following never gives up.
 *
 * A stream that was deleted and recreated is followed from its first message, as soon as a look at the
 * streams finds it (`keep-streams.ts`); one that lost its end with its disk, from its present end. Both are
 * logged as errors (`follow-place.ts`).
 */
import { createRepeats, type Repeats } from '../../base/back-off.ts';
import type { Timer } from '../../base/clock.ts';
import { jittered, type Random } from '../../base/random.ts';
import type { BusStatus, Following, FollowOptions } from '../bus.ts';
import { unreachable } from '../bus-errors.ts';
import type { Troubles } from '../troubles.ts';
import { followPlace } from './follow-place.ts';
import {
  type Consumer,
  type ConsumerEnvironment,
  type ConsumerEvents,
  startConsumer,
} from './wire-consumer.ts';

export interface FollowEnvironment extends ConsumerEnvironment {
  readonly random: Random;
  readonly onRestart: () => void;
  readonly anew: AnewListeners;
  readonly troubles: Troubles;
  /** By a stream's name: that it is not read. All readers of a stream have the same trouble. */
  readonly told: Map<string, Repeats>;
}

/**
 * Called with the name, on the server, of a stream that was created again, or that has lost messages
 * (`hasLost`).
 */
export type AnewListeners = Set<(stream: string, hasLost: boolean) => void>;

/** Pause between attempts to create a consumer; a stream without a leader refuses at once. */
const retryFirstMs = 50;
const retryMaxMs = 1_000;

/** @param stream the stream's name on the server */
export function follow(
  environment: FollowEnvironment,
  stream: string,
  options: FollowOptions,
): Promise<Following> {
  const { wire, anew } = environment;
  const { promise, resolve, reject } = Promise.withResolvers<Following>();
  const caughtUp = Promise.withResolvers<void>();
  // Not every caller awaits it.
  caughtUp.promise.catch(() => undefined);
  const chain = consumerChain(environment, stream, options, {
    onReady: () => resolve(following),
    onCaughtUp: () => caughtUp.resolve(),
  });
  const onStatus = (status: BusStatus): void => {
    if (status === 'connected') chain.begin();
    else if (status === 'disconnected') chain.interrupt();
    else end();
  };
  const onAnew = (which: string, hasLost: boolean): void => {
    if (which !== stream) return;
    if (hasLost) chain.distrust();
    chain.doubt(hasLost ? 'the stream lost messages' : 'the stream was made anew');
  };
  const subscription = wire.onStatus(onStatus);
  anew.add(onAnew);
  const end = (): void => {
    subscription.stop();
    anew.delete(onAnew);
    chain.stop();
    reject(unreachable('closed'));
    caughtUp.reject(unreachable('following was stopped'));
  };
  const following: Following = {
    caughtUp: caughtUp.promise,
    stop() {
      end();
      return Promise.resolve();
    },
  };
  const { signal } = options;
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  else onStatus(wire.status);
  return promise;
}

const notFollowed =
  'a consumer could not be created; trying again, and until then nothing new in the stream is read; told again less and less often. If this goes on: has the stream a leader, and may this NATS user publish to $JS.API.STREAM.INFO.> and $JS.API.CONSUMER.CREATE.> (deploy/nats/permissions.conf)?';

/** Tells the log and /readyz whether one reader reads. @param what names the reader */
function tellerOf({ clock, told, log, troubles }: FollowEnvironment, stream: string, what: string) {
  const repeats = told.get(stream) ?? createRepeats(clock);
  told.set(stream, repeats);
  return {
    failed(error: Error): void {
      if (repeats.isDue()) log.warn({ stream, error: error.message }, notFollowed);
      troubles.note(what, unread(stream, error));
    },
    reads(): void {
      troubles.over(what);
      if (repeats.over()) log.info({ stream }, 'the stream is read again');
    },
  };
}

/** Without the consumer's name: all readers of the stream have the same trouble. */
const unread = (stream: string, { message }: Error) =>
  `nothing new in ${stream} is read: ${message.replace(/\.f-[\w-]+/, '')}`;

/** At most one consumer at a time, and the position that they share. */
function consumerChain(
  environment: FollowEnvironment,
  stream: string,
  options: FollowOptions,
  events: Pick<ConsumerEvents, 'onReady' | 'onCaughtUp'>,
) {
  const { wire, clock, random, log, troubles } = environment;
  const what = `reading ${stream} ${random.id()}`;
  const place = followPlace(options.from);
  const teller = tellerOf(environment, stream, what);
  let consumer: Consumer | undefined;
  let retry: Timer | undefined;
  let retryMs = retryFirstMs;
  let stopped = false;

  const drop = (): void => {
    retry?.cancel();
    consumer?.end();
    consumer = undefined;
  };
  const leave = (isEnd: boolean): void => {
    stopped ||= isEnd;
    if (consumer && !isEnd) environment.onRestart();
    troubles.over(what);
    drop();
  };
  const restart = (reason: string): void => {
    log.info({ stream, reason, next: place.next() }, 'following resumes where it was');
    environment.onRestart();
    drop();
    begin();
  };
  const onFailure = (error: Error): void => {
    teller.failed(error);
    drop();
    retry = clock.after(jittered(retryMs, 0.3, random), begin);
    retryMs = Math.min(2 * retryMs, retryMaxMs);
  };
  const onReady = (): void => {
    retryMs = retryFirstMs;
    teller.reads();
    events.onReady();
  };
  const begin = (): void => {
    if (stopped || consumer || wire.status !== 'connected') return;
    const name = `f-${random.id()}`;
    const plan = { stream, name, inbox: `${wire.inbox}.f.${name}`, options, place };
    const heard = { onReady, onCaughtUp: events.onCaughtUp, onDoubt: restart, onFailure };
    consumer = startConsumer(environment, plan, heard);
  };
  return {
    begin,
    distrust: place.distrust,
    /** What the consumer follows may be gone. */
    doubt: (reason: string): void => (consumer ? restart(reason) : undefined),
    /** The connection is lost; `begin` resumes. */
    interrupt: () => leave(false),
    stop: () => leave(true),
  };
}
