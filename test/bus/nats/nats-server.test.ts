/**
 * What only a real server shows: how it deals actors to shards, what it does when it dies, and what its tools
 * see.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { type NatsServer, startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { actorId } from '../../../src/base/ids.ts';
import type { Bus, StoredMessage } from '../../../src/bus/bus.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { serve } from '../../../src/bus/rpc.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { durableKinds } from '../../../src/replica/charts.ts';
import { until } from '../../until.ts';
import { bytes, codeOf, collect, flush, text } from '../bus-parts.ts';
import { connectTo, recordingLog, temporaryFolder } from './nats-backend.ts';

const s = subjects('test');
const cleanups: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function newServer(
  options: { port?: number; dir?: string } = {},
): Promise<NatsServer & { dir: string }> {
  const folder = options.dir === undefined ? await temporaryFolder() : undefined;
  const dir = options.dir ?? folder?.dir ?? '';
  if (folder) cleanups.push(folder.remove);
  const server = await startNatsServer({ ...options, dir });
  cleanups.push(server.kill);
  return { ...server, dir };
}

async function newBus(server: { url: string }, options: Parameters<typeof connectTo>[1] = {}): Promise<Bus> {
  const bus = await connectTo(server.url, options);
  cleanups.push(() => bus.close());
  return bus;
}

describe('shards', () => {
  test('the server deals every id to the shard that shardOf computes', async () => {
    const bus = await newBus(await newServer());
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });
    const arbitrary = fc
      .tuple(
        fc.constantFrom(...durableKinds),
        name.filter((part) => !part.includes('/')),
        name,
      )
      .map(([kind, namespace, rest]) => actorId(kind, namespace, rest));
    const ids = new Set([
      ...fc.sample(arbitrary, 1000),
      ...fc.sample(fc.nat(), 1000).map((n) => actorId('pod', 'shop', `web-${n}`)),
    ]);
    await Promise.all([...ids].map((id) => bus.append(s.send(id), bytes('x'))));
    const { messages, following } = await collect(bus, 'mail', [s.mailAll], {
      kind: 'sequence',
      sequence: 1,
    });
    await following.caughtUp;
    const dealt = messages.map((message) => s.parseMail(message.subject));
    expect(new Set(dealt.map((mail) => mail?.id))).toEqual(ids);
    for (const mail of dealt) expect(mail?.shard).toBe(mail && shardOf(mail.id));
    expect(new Set(dealt.map((mail) => mail?.shard)).size).toBe(64);
  });
});

describe('streams', () => {
  test('are made once, however many replicas start at the same time and again', async () => {
    const server = await newServer();
    const buses = await Promise.all(Array.from({ length: 5 }, () => newBus(server)));
    const stored = await Promise.all(buses.map((bus) => bus.append(s.fence(1), bytes('x'))));
    const sequences = stored.map(({ sequence }) => sequence).sort();
    expect(sequences.map((sequence) => sequence - (sequences[0] ?? 0))).toEqual([0, 1, 2, 3, 4]);
    const log = recordingLog();
    await newBus(server, { log });
    expect(log.lines).toEqual([]);
    expect((await buses[0]?.last('state', s.fence(1)))?.sequence).toBe(sequences.at(-1));
  });

  test('are brought up to date, and keep what they hold', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    await bus.append(s.fence(1), bytes('kept'));
    const config = await streamConfig(bus, 'STATE');
    await api(bus, 'STREAM.UPDATE.ORRERY_test_STATE', {
      ...config,
      max_msg_size: 1000,
      no_ack: true,
      description: 'older',
    });
    await newBus(server);
    expect(await streamConfig(bus, 'STATE')).toMatchObject({
      max_msg_size: config.max_msg_size,
      description: config.description,
    });
    expect(text((await bus.last('state', s.fence(1)))?.data ?? bytes(''))).toBe('kept');
    await bus.append(s.fence(1), bytes('acknowledged again'));
  });

  test('of another number of shards are refused with both numbers', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    const config = await streamConfig(bus, 'MAIL');
    await api(bus, 'STREAM.UPDATE.ORRERY_test_MAIL', { ...config, metadata: { 'orrery.shards': '32' } });
    const refused = connectTo(server.url);
    expect(await codeOf(refused)).toBe('BUS_REFUSED');
    await expect(refused).rejects.toThrow(
      /ORRERY_test_MAIL was made for 32 shards, this Orrery works with 64/,
    );
  });

  test('are neither made nor changed by a client that only asks', async () => {
    const server = await newServer();
    const bus = await newBus(server, { cluster: 'other', onlyAsks: true });
    const names = await api(bus, 'STREAM.NAMES');
    expect(names.streams ?? null).toBeNull();
    expect(await codeOf(bus.last('state', subjects('other').fence(1)))).toBe('BUS_REFUSED');
  });
});

describe('a server that dies', () => {
  test('costs a follower neither a gap nor a repeat, and writers nothing that was acknowledged', async () => {
    const server = await newServer();
    const writer = await newBus(server);
    const reader = await newBus(server);
    const statuses: string[] = [];
    writer.onStatus((status) => statuses.push(status));
    const subject = s.event('pod/restart/a');
    const followed = await collect(reader, 'event', [subject], { kind: 'lastPerSubject' });
    const fresh = await collect(reader, 'event', [s.event('pod/restart/b')], { kind: 'new' });

    const acknowledged: number[] = [];
    const outcomes = new Set<string | undefined>();
    let stop = false;
    const writing = (async () => {
      for (let n = 0; !stop; n++) {
        const outcome = await codeOf(
          writer.append(subject, bytes(String(n))).then(({ sequence }) => acknowledged.push(sequence)),
        );
        outcomes.add(outcome);
        if (outcome !== undefined)
          await until(() => writer.status === 'connected', { what: 'the writer to be back' });
      }
    })();
    for (let round = 1, latest = server as NatsServer; round <= 2; round++) {
      await until(() => followed.messages.length >= 200 * round, { what: `messages of round ${round}` });
      await latest.kill();
      await until(() => reader.status === 'disconnected' && writer.status === 'disconnected', {
        what: 'the loss to be noticed',
      });
      expect(await codeOf(writer.append(subject, bytes('x')))).toBe('BUS_UNREACHABLE');
      expect(await codeOf(reader.request(s.peer('x'), bytes('x'), { timeoutMs: 60_000 }))).toBe(
        'BUS_UNREACHABLE',
      );
      latest = await newServer({ port: server.port, dir: server.dir });
    }
    await until(() => followed.messages.length >= 600, { what: 'messages after the last start' });
    stop = true;
    await writing;
    await writer.append(s.event('pod/restart/b'), bytes('after'));
    await until(() => fresh.messages.length === 1, { what: 'the follower of what is new' });

    await until(() => followed.messages.at(-1)?.sequence === acknowledged.at(-1), {
      what: 'the last message',
    });
    const delivered = followed.messages.map(({ sequence }) => sequence);
    expect(delivered).toEqual([...new Set(delivered)].sort((a, b) => a - b));
    expect(acknowledged.filter((sequence) => !delivered.includes(sequence))).toEqual([]);
    const again = await collect(reader, 'event', [subject], { kind: 'sequence', sequence: 1 });
    await again.following.caughtUp;
    expect(delivered).toEqual(again.messages.map(({ sequence }) => sequence));
    expect(outcomes).toEqual(new Set([undefined, 'BUS_UNKNOWN_OUTCOME']));
    expect(statuses).toEqual(['disconnected', 'connected', 'disconnected', 'connected']);
    expect(writer.counters.disconnects).toBe(2);
  });

  test('and comes back with an empty disk gets its streams again, and followers begin with what is new there', async () => {
    const server = await newServer();
    const log = recordingLog();
    const bus = await newBus(server, { log });
    const subject = s.fence(1);
    for (let n = 0; n < 5; n++) await bus.append(subject, bytes('old'));
    const { messages } = await collect(bus, 'state', [subject], { kind: 'lastPerSubject' });
    await until(() => messages.length === 1, { what: 'the first delivery' });
    await server.kill();
    const empty = await temporaryFolder();
    cleanups.push(empty.remove);
    await newServer({ port: server.port, dir: empty.dir });
    await until(async () => (await codeOf(bus.append(subject, bytes('new')))) === undefined, {
      what: 'the streams',
    });
    await until(() => messages.some(({ data }) => text(data) === 'new'), {
      what: 'the new stream to be followed',
    });
    expect(log.lines).toContain('the stream was recreated; following it from its first message');
  });

  test('and comes back with an older disk is told of, with what it means', { timeout: 30_000 }, async () => {
    const server = await newServer();
    const log = recordingLog();
    const bus = await newBus(server, { log });
    const kept = await bus.append(s.fence(1), bytes('kept'));
    await server.stop();
    const older = await temporaryFolder();
    cleanups.push(older.remove);
    await cp(server.dir, older.dir, { recursive: true });
    const latest = await newServer({ port: server.port, dir: server.dir });
    await until(() => bus.status === 'connected', { what: 'the connection' });
    await bus.append(s.state(1, 'pod/shop/a'), bytes('lost'));
    await newBus(latest, { log });
    await latest.stop();
    await newServer({ port: server.port, dir: older.dir });
    const told = () => log.lines.findIndex((line) => line.startsWith('a stream lost its newest messages'));
    await until(() => told() >= 0, { what: 'the line in the log' });
    const [last, before] = [kept.sequence, kept.sequence + 1];
    expect(log.facts[told()]).toEqual({ stream: 'ORRERY_test_STATE', last, before });
  });

  test('leaves a bus that is starting waiting, with one line in the log, until it is there', async () => {
    const server = await newServer();
    await server.stop();
    const log = recordingLog();
    const connecting = connectTo(server.url, { log });
    await until(() => log.lines.length > 0, { what: 'the line in the log' });
    await newServer({ port: server.port, dir: server.dir });
    const bus = await connecting;
    cleanups.push(() => bus.close());
    expect(bus.status).toBe('connected');
    expect(log.lines).toEqual(['NATS cannot be reached; trying until it can', 'NATS answers now']);
  });

  test('does not keep a start from being given up', async () => {
    const server = await newServer();
    await server.stop();
    const abort = new AbortController();
    const connecting = connectTo(server.url, { signal: abort.signal });
    abort.abort();
    expect(await codeOf(connecting)).toBe('BUS_UNREACHABLE');
  });
});

/**
 * A signal reaches the threads of a process one by one: until the last has stopped, the server may still
 * answer.
 */
async function pause(server: NatsServer): Promise<void> {
  server.pause();
  const isStopped = () =>
    readdirSync(`/proc/${server.pid}/task`).every((task) =>
      /^State:\s+T/m.test(readFileSync(`/proc/${server.pid}/task/${task}/status`, 'utf8')),
    );
  await until(isStopped, { what: 'the server to stand still' });
}

describe('a server that hangs', () => {
  test('leaves a write of unknown outcome after its timeout, and it is seen once the server goes on', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    const subject = s.event('pod/hang/a');
    await pause(server);
    const hanging = bus.append(subject, bytes('x'), { timeoutMs: 100 });
    expect(await codeOf(hanging)).toBe('BUS_UNKNOWN_OUTCOME');
    expect(await codeOf(bus.last('event', subject))).toBe('BUS_UNREACHABLE');
    server.resume();
    await until(async () => text((await bus.last('event', subject))?.data ?? bytes('')) === 'x', {
      what: 'the write',
    });
  });
});

describe('a connection that breaks', () => {
  test('leaves the writes in flight of unknown outcome at once, not after their timeouts', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    await pause(server);
    const writes = ['a', 'b'].map((name) =>
      codeOf(bus.append(s.event(`pod/cut/${name}`), bytes('x'), { timeoutMs: 3_600_000 })),
    );
    const asked = codeOf(bus.request(s.peer('x'), bytes('x'), { timeoutMs: 3_600_000 }));
    await server.kill();
    expect(await Promise.all(writes)).toEqual(['BUS_UNKNOWN_OUTCOME', 'BUS_UNKNOWN_OUTCOME']);
    expect(await asked).toBe('BUS_UNREACHABLE');
  });
});

describe('a follower', () => {
  test('whose consumer is deleted under it makes another, without a gap or a repeat', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    const subject = s.event('pod/deleted/a');
    const { messages } = await collect(bus, 'event', [subject], { kind: 'new' });
    await bus.append(subject, bytes('0'));
    await until(() => messages.length === 1, { what: 'the first' });
    const names = await api(bus, 'CONSUMER.NAMES.ORRERY_test_EVENT');
    for (const name of names.consumers as string[])
      await api(bus, `CONSUMER.DELETE.ORRERY_test_EVENT.${name}`);
    for (const word of ['1', '2', '3']) await bus.append(subject, bytes(word));
    await until(() => messages.length === 4, { what: 'the rest' });
    expect(messages.map(({ data }) => text(data))).toEqual(['0', '1', '2', '3']);
    expect(bus.counters.followRestarts).toBe(1);
  });

  test('that ends leaves no consumer behind', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    const { following } = await collect(bus, 'event', [s.eventAll], { kind: 'new' });
    await following.stop();
    const count = async () =>
      ((await api(bus, 'CONSUMER.NAMES.ORRERY_test_EVENT')).consumers as string[] | null)?.length ?? 0;
    await until(async () => (await count()) === 0, { what: 'the consumer to go' });
  });

  test('that is slower than the stream gets everything', async () => {
    const server = await newServer();
    const bus = await newBus(server);
    const payload = new Uint8Array(16 * 1024);
    for (let n = 0; n < 3000; n += 100) {
      await Promise.all(Array.from({ length: 100 }, () => bus.append(s.event('pod/slow/a'), payload)));
    }
    const seen: StoredMessage[] = [];
    const busyUntil = (ms: number) => {
      const end = systemClock.monotonic() + ms;
      while (systemClock.monotonic() < end);
    };
    const following = await bus.follow('event', {
      subjects: [s.eventAll],
      from: { kind: 'sequence', sequence: 1 },
      onMessage(message) {
        seen.push(message);
        if (seen.length % 100 === 0) busyUntil(20);
      },
    });
    await following.caughtUp;
    expect(seen.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 3000 }, (_, n) => n + 1));
  });
});

describe('the micro service', () => {
  test('is found, described and counted by the questions that "nats micro" asks', async () => {
    const bus = await newBus(await newServer());
    const service = serve(bus, {
      name: 'orrery',
      version: '0.1.0',
      id: 'replica.a',
      endpoints: [{ name: 'list', subject: s.rpcList, queue: 'q', handler: async () => bytes('[]') }],
      clock: systemClock,
    });
    await flush(bus, s);
    await bus.request(s.rpcList, bytes(''), { timeoutMs: 30_000 });
    const ask = async (subject: string) => {
      const answers = await bus.requestMany(subject, bytes(''), {
        timeoutMs: 30_000,
        enough: (found) => found.length === 1,
      });
      return JSON.parse(text(answers[0]?.data ?? bytes('null')));
    };
    for (const subject of ['$SRV.PING', '$SRV.PING.orrery', '$SRV.PING.orrery.replica=2Ea']) {
      expect(await ask(subject)).toMatchObject({
        type: 'io.nats.micro.v1.ping_response',
        name: 'orrery',
        id: 'replica=2Ea',
        version: '0.1.0',
      });
    }
    expect(await ask('$SRV.INFO.orrery')).toMatchObject({
      type: 'io.nats.micro.v1.info_response',
      endpoints: [{ name: 'list', subject: s.rpcList, queue_group: 'q' }],
    });
    expect(await ask('$SRV.STATS')).toMatchObject({
      type: 'io.nats.micro.v1.stats_response',
      endpoints: [{ name: 'list', num_requests: 1, num_errors: 0, last_error: '' }],
    });
    await service.stop();
    await flush(bus, s);
    expect(await codeOf(bus.request(s.rpcList, bytes(''), { timeoutMs: 30_000 }))).toBe('BUS_UNREACHABLE');
  });
});

async function api(bus: Bus, verb: string, body?: unknown): Promise<Record<string, unknown>> {
  const data = body === undefined ? bytes('') : bytes(JSON.stringify(body));
  return JSON.parse(text((await bus.request(`$JS.API.${verb}`, data, { timeoutMs: 30_000 })).data));
}

async function streamConfig(bus: Bus, name: string): Promise<Record<string, unknown>> {
  return (await api(bus, `STREAM.INFO.ORRERY_test_${name}`)).config as Record<string, unknown>;
}
