/** Following over a connection that is played by hand: what a real server shows only in bad luck. */
import { describe, expect, test } from 'vitest';
import type { Repeats } from '../../../src/base/back-off.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { BusStatus, FollowFrom, StoredMessage } from '../../../src/bus/bus.ts';
import { unreachable } from '../../../src/bus/bus-errors.ts';
import { followPlace } from '../../../src/bus/nats/follow-place.ts';
import type { JetStreamApi } from '../../../src/bus/nats/jetstream-api.ts';
import { createSilenceWatch } from '../../../src/bus/nats/silence.ts';
import type { Wire, WireMessage } from '../../../src/bus/nats/wire.ts';
import { silenceBounds } from '../../../src/bus/nats/wire-consumer.ts';
import { follow } from '../../../src/bus/nats/wire-follow.ts';
import { createTroubles, type Troubles } from '../../../src/bus/troubles.ts';
import { until } from '../../until.ts';
import { bytes } from '../bus-parts.ts';

interface Made {
  readonly inbox: string;
  readonly config: Record<string, unknown>;
}

const infoOf = (stream: { created: string; lastSequence: number; copies: number }) => ({
  ...{ created: stream.created, state: { last_seq: stream.lastSequence } },
  config: { num_replicas: stream.copies },
});

/** A server with one stream, of which the test decides what it delivers. */
function playedServer(options: { pending?: number; before?: number; isMute?: boolean } = {}) {
  const made: Made[] = [];
  const sent: string[] = [];
  const listeners = new Map<string, (message: WireMessage) => void>();
  const statuses = new Set<(status: BusStatus) => void>();
  let status: BusStatus = 'connected';
  const stream = { created: 'first', lastSequence: 100, failures: 0, copies: 3 };
  const wire: Wire = {
    inbox: '_INBOX.test',
    ...{ serverVersion: '2.15.1', isClustered: false, maxPayload: 1_048_576 },
    get status() {
      return status;
    },
    onStatus(callback) {
      statuses.add(callback);
      return { stop: () => void statuses.delete(callback) };
    },
    onForbidden: () => ({ stop: () => undefined }),
    publish: (subject) => void sent.push(subject),
    subscribe(subject, onMessage) {
      listeners.set(subject, onMessage);
      return { stop: () => void listeners.delete(subject) };
    },
    close: async () => undefined,
  };
  const api: JetStreamApi = async (verb, body) => {
    if (stream.failures > 0) {
      stream.failures--;
      throw unreachable('no leader');
    }
    if (verb.startsWith('STREAM.INFO')) return infoOf(stream);
    if (!verb.startsWith('CONSUMER.CREATE')) return options.isMute ? new Promise(() => undefined) : {};
    const { config } = body as { config: Record<string, unknown> };
    made.push({ inbox: String(config.deliver_subject), config });
    return { num_pending: options.pending ?? 0, delivered: { stream_seq: options.before ?? 0 } };
  };
  const push = (message: Partial<WireMessage>, inbox = made.at(-1)?.inbox ?? '') =>
    listeners.get(inbox)?.({
      subject: 's',
      data: bytes('x'),
      reply: '',
      status: 0,
      description: '',
      headers: () => ({}),
      ...message,
    });
  return {
    wire,
    api,
    made,
    sent,
    stream,
    listeners,
    push,
    deliver: (sequence: number, count: number, pending = 0, inbox?: string) =>
      push(
        {
          subject: `s.${sequence}`,
          reply: `$JS.ACK.S.c.1.${sequence}.${count}.1700000000123000000.${pending}`,
        },
        inbox,
      ),
    heartbeat: (count: number, more: Record<string, string> = {}) =>
      push({ status: 100, headers: () => ({ 'Nats-Last-Consumer': String(count), ...more }) }),
    setStatus(next: BusStatus) {
      status = next;
      for (const callback of [...statuses]) callback(next);
    },
  };
}

async function followed(
  server: ReturnType<typeof playedServer>,
  from: FollowFrom = { kind: 'new' },
  log: Log = silentLog,
  told = new Map<string, Repeats>(),
  { troubles = createTroubles(systemClock), signal }: { troubles?: Troubles; signal?: AbortSignal } = {},
) {
  const messages: StoredMessage[] = [];
  const counts = { restarts: 0, others: 0 };
  const anew = new Set<(stream: string) => void>();
  const following = await follow(
    {
      wire: server.wire,
      api: server.api,
      clock: systemClock,
      random: seededRandom(1),
      log,
      silence: createSilenceWatch(systemClock, silenceBounds),
      deliver: (handler, message) => handler(message),
      onRestart: () => counts.restarts++,
      anew,
      troubles,
      told,
    },
    'S',
    {
      subjects: ['s.>'],
      from,
      onMessage: (message) => messages.push(message),
      onAnother: () => counts.others++,
      ...(signal ? { signal } : {}),
    },
  );
  const madeAnew = (stream: string) => {
    for (const callback of [...anew]) callback(stream);
  };
  return { following, madeAnew, messages, counts, sequences: () => messages.map(({ sequence }) => sequence) };
}

const isResolved = async (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), Promise.resolve().then(() => false)]);

describe('a follower', () => {
  test('asks for a new consumer at once when it hears that its stream was made anew', async () => {
    const server = playedServer();
    const { following, madeAnew, counts } = await followed(server);
    madeAnew('another');
    expect(counts.restarts).toBe(0);
    madeAnew('S');
    expect(counts.restarts).toBe(1);
    await following.stop();
    madeAnew('S');
    expect(counts.restarts).toBe(1);
  });

  test.each([
    ['a delivery that is missing', (server: ReturnType<typeof playedServer>) => server.deliver(13, 4)],
    ['a delivery that comes again', (server: ReturnType<typeof playedServer>) => server.deliver(12, 2)],
    ['a heartbeat that counts more', (server: ReturnType<typeof playedServer>) => server.heartbeat(3)],
    ['a heartbeat that counts less', (server: ReturnType<typeof playedServer>) => server.heartbeat(1)],
    [
      'the end of its consumer',
      (server: ReturnType<typeof playedServer>) =>
        server.push({ status: 409, description: 'Consumer Deleted' }),
    ],
    ['a message without a place', (server: ReturnType<typeof playedServer>) => server.push({ reply: '' })],
  ])('that sees %s begins again after the last message it took', async (_, accident) => {
    const server = playedServer({ before: 10 });
    const { sequences, counts, following } = await followed(server);
    server.deliver(11, 1);
    server.deliver(12, 2);
    accident(server);
    await until(() => server.made.length === 2, { what: 'another consumer' });
    expect(server.made[1]?.config).toMatchObject({ deliver_policy: 'by_start_sequence', opt_start_seq: 13 });
    server.deliver(14, 1, 0, server.made[0]?.inbox);
    await until(() => server.listeners.has(server.made[1]?.inbox ?? ''), { what: 'its subscription' });
    server.deliver(12, 1);
    server.deliver(13, 2);
    expect(sequences()).toEqual([11, 12, 13]);
    expect(counts.restarts).toBe(1);
    expect(server.listeners.size).toBe(1);
    await following.stop();
    expect(server.listeners.size).toBe(0);
  });

  test('of what is new begins, after an early loss, where it would have begun', async () => {
    const server = playedServer({ before: 10 });
    await followed(server);
    expect(server.made[0]?.config).toMatchObject({ deliver_policy: 'new' });
    server.setStatus('disconnected');
    server.setStatus('connected');
    await until(() => server.made.length === 2, { what: 'another consumer' });
    expect(server.made[1]?.config).toMatchObject({ deliver_policy: 'by_start_sequence', opt_start_seq: 11 });
  });

  test('of the last of each subject asks for those again if none has come yet, and goes on from the last that has', async () => {
    const server = playedServer({ pending: 3 });
    const { following } = await followed(server, { kind: 'lastPerSubject' });
    server.setStatus('disconnected');
    server.setStatus('connected');
    await until(() => server.made.length === 2, { what: 'another consumer' });
    expect(server.made[1]?.config.deliver_policy).toBe('last_per_subject');
    server.deliver(40, 1, 2);
    expect(await isResolved(following.caughtUp)).toBe(false);
    server.setStatus('disconnected');
    server.setStatus('connected');
    await until(() => server.made.length === 3, { what: 'a third consumer' });
    expect(server.made[2]?.config).toMatchObject({ deliver_policy: 'by_start_sequence', opt_start_seq: 41 });
  });

  test('has caught up when what waited has come, or when the server has nothing to send', async () => {
    const counted = playedServer({ pending: 2 });
    const first = await followed(counted);
    counted.deliver(1, 1, 5);
    expect(await isResolved(first.following.caughtUp)).toBe(false);
    counted.deliver(2, 2, 5);
    await first.following.caughtUp;

    const removed = playedServer({ pending: 2 });
    const second = await followed(removed);
    removed.heartbeat(0, { 'Nats-Consumer-Stalled': 'go.on' });
    expect(await isResolved(second.following.caughtUp)).toBe(false);
    expect(removed.sent).toEqual(['go.on']);
    removed.heartbeat(0);
    await second.following.caughtUp;
  });

  test('answers flow control at once', async () => {
    const server = playedServer();
    await followed(server);
    server.push({ status: 100, description: 'FlowControl Request', reply: '$JS.FC.S.c.x' });
    expect(server.sent).toEqual(['$JS.FC.S.c.x']);
  });

  test('is told when the stream was made anew while it was away, and reads it from its first message', async () => {
    const server = playedServer({ before: 10 });
    const { counts } = await followed(server);
    server.deliver(11, 1);
    server.setStatus('disconnected');
    Object.assign(server.stream, { created: 'second', lastSequence: 20 });
    server.setStatus('connected');
    await until(() => server.made.length === 2, { what: 'another consumer' });
    expect(counts.others).toBe(1);
    expect(server.made[1]?.config).toMatchObject({ deliver_policy: 'by_start_sequence', opt_start_seq: 1 });
    server.setStatus('disconnected');
    server.setStatus('connected');
    await until(() => server.made.length === 3, { what: 'a third consumer' });
    expect(counts.others).toBe(1);
  });

  test('is told when its only copy came back shorter, also if that soon has as many messages again', async () => {
    const server = playedServer({ before: 100 });
    server.stream.copies = 1;
    const { counts, messages } = await followed(server);
    server.deliver(101, 1);
    server.setStatus('disconnected');
    server.stream.lastSequence = 99;
    server.setStatus('connected');
    // The first look is under way; others write meanwhile.
    await Promise.resolve();
    server.stream.lastSequence = 200;
    await until(() => server.made.length === 2, { what: 'another consumer' });
    expect(counts.others).toBe(1);
    expect(server.made[1]?.config).toMatchObject({ opt_start_seq: 1 });
    expect(messages).toHaveLength(1);
  });

  test('keeps trying while the stream has no leader, and tells it once for all readers of the stream', async () => {
    const server = playedServer();
    server.stream.failures = 3;
    const said: string[] = [];
    const over: string[] = [];
    const log = {
      ...silentLog,
      warn: (_: object, text: string) => void said.push(text),
      info: (_: object, text: string) => void over.push(text),
    };
    const told = new Map<string, Repeats>();
    await followed(server, { kind: 'new' }, log, told);
    expect(server.made).toHaveLength(1);
    server.stream.failures = 2;
    await followed(server, { kind: 'new' }, log, told);
    expect(server.made).toHaveLength(2);
    expect(said).toHaveLength(1);
    expect(over).toEqual(['the stream is read again']);
    expect(said[0]).toMatch(/^a consumer could not be created; trying again.*\$JS\.API\.CONSUMER\.CREATE/);
  });

  test('that nobody waits for any more is given up, and its trouble is over', async () => {
    const server = playedServer();
    server.stream.failures = Number.POSITIVE_INFINITY;
    const giving = new AbortController();
    const troubles = createTroubles(systemClock);
    const following = followed(server, { kind: 'new' }, silentLog, new Map(), {
      troubles,
      signal: giving.signal,
    });
    await until(() => troubles.all().length === 1, { what: 'the trouble' });
    giving.abort();
    await expect(following).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
    expect(troubles.all()).toEqual([]);
  });

  test('that hears nothing of a server that does not answer makes another consumer', async () => {
    const server = playedServer({ isMute: true });
    const { counts } = await followed(server);
    await until(() => server.made.length === 2, { what: 'another consumer' });
    expect(counts.restarts).toBe(1);
  });
});

describe('the place in a stream', () => {
  const stream = (created: string, lastSequence: number, copies = 3) => ({ created, lastSequence, copies });

  test('takes each sequence once', () => {
    const place = followPlace({ kind: 'new' });
    expect([5, 5, 4, 6].map((sequence) => place.take(sequence))).toEqual([true, false, false, true]);
    expect(place.from()).toEqual({ kind: 'sequence', sequence: 7 });
  });

  test('moves to the first message of a stream that was made anew', () => {
    const place = followPlace({ kind: 'lastPerSubject' });
    expect(place.checkStream(stream('a', 9), 0)).toBeUndefined();
    place.take(9);
    expect(place.checkStream(stream('b', 20), 0)).toMatchObject({
      isAnother: true,
      text: expect.stringMatching(/recreated/),
    });
    expect(place.next()).toBe(1);
  });

  test('moves back to the end of a stream that lost its newest messages', () => {
    const place = followPlace({ kind: 'lastPerSubject' });
    place.checkStream(stream('a', 9), 0);
    place.take(9);
    expect(place.checkStream(stream('a', 9), 0)).toBeUndefined();
    expect(place.checkStream(stream('a', 7), 1_000)).toMatchObject({ isUnsure: true });
    expect(place.next()).toBe(10);
    expect(place.checkStream(stream('a', 7), 4_000)).toEqual({
      isAnother: false,
      text: expect.stringMatching(/lost/),
    });
    expect(place.next()).toBe(8);
  });

  test('moves back at once in the only copy of a stream', () => {
    const place = followPlace({ kind: 'lastPerSubject' });
    place.checkStream(stream('a', 9, 1), 0);
    place.take(9);
    expect(place.checkStream(stream('a', 7, 1), 1_000)).toMatchObject({ isAnother: false });
    expect(place.next()).toBe(8);
  });

  test('stays where it is when a leader knows less for a moment', () => {
    const place = followPlace({ kind: 'lastPerSubject' });
    place.checkStream(stream('a', 9), 0);
    place.take(9);
    expect(place.checkStream(stream('a', 7), 1_000)).toMatchObject({ isUnsure: true });
    expect(place.checkStream(stream('a', 9), 1_050)).toBeUndefined();
    expect(place.checkStream(stream('a', 7), 60_000)).toMatchObject({ isUnsure: true });
    expect(place.next()).toBe(10);
  });

  test('that is still to come is not taken for a loss', () => {
    const place = followPlace({ kind: 'sequence', sequence: 50 });
    expect(place.checkStream(stream('a', 7), 0)).toBeUndefined();
    expect(place.next()).toBe(50);
  });
});
