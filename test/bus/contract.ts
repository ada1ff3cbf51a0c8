/**
 * What every implementation of the port `Bus` promises (B1–B6), as tests. `memory.test.ts` and `nats.test.ts` run it.
 *
 * The tests of one run share a server; each keeps to actors and subjects of its own name.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bus, BusMessage, FollowFrom, StoredMessage, StreamName } from '../../src/bus/bus.ts';
import { shardOf } from '../../src/bus/shard.ts';
import { type Subjects, subjects } from '../../src/bus/subjects.ts';
import { systemClock } from '../../src/clock.ts';
import { hasCode } from '../../src/errors.ts';
import type { ActorId } from '../../src/ids.ts';
import { until } from '../until.ts';

export interface Backend {
  /** A client of its own. */
  connect(): Promise<Bus>;
  close(): Promise<void>;
}

const utf8 = new TextEncoder();
export const bytes = (text: string) => utf8.encode(text);
export const text = (data: Uint8Array) => new TextDecoder().decode(data);
/** The code with which a promise rejects; undefined if it does not. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    return hasCode(
      error,
      'BUS_CONFLICT',
      'BUS_REFUSED',
      'BUS_UNKNOWN_OUTCOME',
      'BUS_UNREACHABLE',
      'BUS_VERSION',
      'USAGE',
    )
      ? error.code
      : String(error);
  }
}

export function contract(makeBackend: (cluster: string) => Promise<Backend>): void {
  const cluster = 'contract';
  const s = subjects(cluster);
  let backend: Backend;
  let a: Bus;
  let b: Bus;
  beforeAll(async () => {
    backend = await makeBackend(cluster);
    a = await backend.connect();
    b = await backend.connect();
  });
  afterAll(async () => {
    await Promise.all([a?.close(), b?.close()]);
    await backend?.close();
  });
  const clients = () => ({ a, b });

  describe('core messages', () => coreMessages(clients, s));
  describe('requests', () => requests(clients, s));
  describe('appending', () => appending(clients, s));
  describe('guards', () => guards(clients, s));
  describe('reading and removing', () => readingAndRemoving(clients, s));
  describe('following', () => following(clients, s));
  describe('closing', () => closing(() => backend.connect(), s));
}

type Clients = () => { a: Bus; b: Bus };

function coreMessages(clients: Clients, s: Subjects): void {
  test('messages of one publisher on one subject arrive in the order in which they were sent (B1)', async () => {
    const { a, b } = clients();
    const seen: number[] = [];
    const subscription = b.subscribe(s.memberAll, (message) => {
      if (message.subject === s.member('order')) seen.push(Number(text(message.data)));
    });
    await flush(b, s);
    for (let n = 0; n < 1000; n++) a.publish(s.member('order'), bytes(String(n)));
    await until(() => seen.length === 1000, { what: '1000 messages' });
    expect(seen).toEqual([...seen.keys()]);
    subscription.stop();
  });

  test('headers and the reply subject come along', async () => {
    const { a, b } = clients();
    const seen: BusMessage[] = [];
    b.subscribe(s.peer('headers'), (message) => seen.push(message));
    await flush(b, s);
    a.publish(s.peer('headers'), bytes('x'), {
      headers: { 'Content-Type': 'a/b', x: 'y' },
      reply: 'some.where',
    });
    await until(() => seen.length > 0, { what: 'the message' });
    expect(seen[0]).toMatchObject({ headers: { 'Content-Type': 'a/b', x: 'y' }, reply: 'some.where' });
  });

  test('a header that would break out of its line is refused', async () => {
    const { a } = clients();
    const headers = { x: 'y\r\nNats-Msg-Id: z' };
    expect(() => a.publish(s.peer('x'), bytes('x'), { headers })).toThrow(/illegal header/);
    expect(await codeOf(a.append(s.dead, bytes('x'), { headers }))).toBe('BUS_REFUSED');
    expect(await codeOf(a.request(s.peer('x'), bytes('x'), { headers, timeoutMs: 100 }))).toBe('BUS_REFUSED');
  });

  test('a queue group shares the messages, everybody else gets all of them', async () => {
    const { a, b } = clients();
    let shared = 0;
    let all = 0;
    for (const bus of [a, b]) bus.subscribe(s.peer('work'), () => shared++, { queue: 'q' });
    a.subscribe(s.peer('work'), () => all++);
    await flush(a, s);
    await flush(b, s);
    for (let n = 0; n < 50; n++) b.publish(s.peer('work'), bytes('x'));
    await until(() => all === 50 && shared >= 50, { what: '50 messages for each' });
    await flush(b, s);
    expect(shared).toBe(50);
  });

  test('a handler that throws is counted and does not keep the next message from anybody', async () => {
    const { a, b } = clients();
    const seen: string[] = [];
    const before = b.counters.handlerErrors;
    b.subscribe(s.peer('throwing'), (message) => {
      seen.push(text(message.data));
      throw new Error('broken handler');
    });
    await flush(b, s);
    for (const word of ['one', 'two']) a.publish(s.peer('throwing'), bytes(word));
    await until(() => seen.length === 2, { what: 'both messages' });
    expect(b.counters.handlerErrors).toBe(before + 2);
  });

  test('a stopped subscription gets nothing more', async () => {
    const { a, b } = clients();
    let seen = 0;
    const subscription = b.subscribe(s.peer('stopped'), () => seen++);
    await flush(b, s);
    a.publish(s.peer('stopped'), bytes('x'));
    await until(() => seen === 1, { what: 'the first message' });
    subscription.stop();
    await flush(b, s);
    a.publish(s.peer('stopped'), bytes('x'));
    await flush(a, s);
    await flush(b, s);
    expect(seen).toBe(1);
  });
}

function requests(clients: Clients, s: Subjects): void {
  const answer = (bus: Bus, subject: string, word: string) =>
    bus.subscribe(subject, (message) => bus.publish(message.reply, bytes(word), { headers: { from: word } }));

  test('a request gets the answer', async () => {
    const { a, b } = clients();
    answer(b, s.peer('ask'), 'yes');
    await flush(b, s);
    const got = await a.request(s.peer('ask'), bytes('?'), { timeoutMs: 2000 });
    expect([text(got.data), got.headers.from]).toEqual(['yes', 'yes']);
  });

  test('a request that nobody listens to fails at once, one that nobody answers at its timeout, both as unreachable', async () => {
    const { a, b } = clients();
    expect(await codeOf(a.request(s.peer('nobody'), bytes('?'), { timeoutMs: 60_000 }))).toBe(
      'BUS_UNREACHABLE',
    );
    b.subscribe(s.peer('mute'), () => undefined);
    await flush(b, s);
    expect(await codeOf(a.request(s.peer('mute'), bytes('?'), { timeoutMs: 50 }))).toBe('BUS_UNREACHABLE');
  });

  test('an aborted request ends at once', async () => {
    const { a, b } = clients();
    b.subscribe(s.peer('mute2'), () => undefined);
    await flush(b, s);
    const abort = new AbortController();
    const asked = a.request(s.peer('mute2'), bytes('?'), { timeoutMs: 60_000, signal: abort.signal });
    abort.abort();
    expect(await codeOf(asked)).toBe('BUS_UNREACHABLE');
    const late = a.request(s.peer('mute2'), bytes('?'), { timeoutMs: 60_000, signal: abort.signal });
    expect(await codeOf(late)).toBe('BUS_UNREACHABLE');
  });

  test('many answers are collected until there are enough of them, or the time is over', async () => {
    const { a, b } = clients();
    for (const bus of [a, b]) answer(bus, s.peer('all'), bus === a ? 'a' : 'b');
    await flush(a, s);
    await flush(b, s);
    const ask = (timeoutMs: number, wanted: number) =>
      a.requestMany(s.peer('all'), bytes('?'), { timeoutMs, enough: (answers) => answers.length === wanted });
    const words = async (answers: Promise<readonly BusMessage[]>) =>
      (await answers).map((message) => text(message.data)).sort();
    expect(await words(ask(60_000, 2))).toEqual(['a', 'b']);
    expect(await words(ask(100, 3))).toEqual(['a', 'b']);
    expect(await words(ask(60_000, 1))).toHaveLength(1);
  });

  test('many answers from nobody are none, at once', async () => {
    const { a } = clients();
    const none = a.requestMany(s.peer('none'), bytes('?'), { timeoutMs: 60_000, enough: () => false });
    expect(await none).toEqual([]);
  });
}

function appending(clients: Clients, s: Subjects): void {
  test('what is acknowledged is stored, for everybody to see, with its headers (B2)', async () => {
    const { a, b } = clients();
    const subject = s.state(1, 'pod/append/one');
    const { sequence, duplicate } = await a.append(subject, bytes('v1'), { headers: { x: 'y' } });
    expect(duplicate).toBe(false);
    const found = await b.last('state', subject);
    expect(found).toMatchObject({ subject, sequence, headers: { x: 'y' } });
    expect(text(found?.data ?? bytes(''))).toBe('v1');
    expect(Math.abs((found?.storedAt ?? 0) - systemClock.now())).toBeLessThan(60_000);
  });

  test('appends of one client are stored in the order in which they were made, many at a time', async () => {
    const { a, b } = clients();
    const ids = Array.from({ length: 300 }, (_, n) => s.event(`pod/order/p-${n}`));
    const appended = await Promise.all(ids.map((subject) => a.append(subject, bytes('x'))));
    const sequences = appended.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((x, y) => x - y));
    expect(new Set(sequences).size).toBe(300);
    expect((await b.lastOfMany('event', ids)).size).toBe(300);
  });

  test('two appends with one message id are stored once (B6)', async () => {
    const { a, b } = clients();
    const subject = s.event('pod/dedup/one');
    const first = await a.append(subject, bytes('x'), { msgId: 'dedup-1' });
    const second = await b.append(subject, bytes('x'), { msgId: 'dedup-1' });
    expect(second).toEqual({ sequence: first.sequence, duplicate: true });
    const other = await b.append(subject, bytes('x'), { msgId: 'dedup-2' });
    expect(other.duplicate).toBe(false);
    expect(other.sequence).toBeGreaterThan(first.sequence);
    expect((await a.last('event', subject))?.headers['Nats-Msg-Id']).toBe('dedup-2');
  });

  test('what is sent to an actor is stored as mail of the shard that everybody computes', async () => {
    const { a, b } = clients();
    const id: ActorId = 'domain/_/*.app.example.com';
    await a.append(s.send(id), bytes('{"type":"x"}'));
    const found = await b.last('mail', s.mail(shardOf(id), id));
    expect(s.parseMail(found?.subject ?? '')).toEqual({ shard: shardOf(id), id });
  });

  test('a message that is too large, for the stream or for the connection, is refused', async () => {
    const { a } = clients();
    const subject = s.state(1, 'pod/append/large');
    expect(await codeOf(a.append(subject, new Uint8Array(600 * 1024)))).toBe('BUS_REFUSED');
    expect(await codeOf(a.append(subject, new Uint8Array(3 * 1024 * 1024)))).toBe('BUS_REFUSED');
    expect(await a.last('state', subject)).toBeUndefined();
    expect((await a.append(subject, new Uint8Array(500 * 1024))).duplicate).toBe(false);
    expect((await a.last('state', subject))?.data.length).toBe(500 * 1024);
  });

  test('an append that no stream takes is of unknown outcome, at once', async () => {
    const { a } = clients();
    expect(await codeOf(a.append(s.peer('stored'), bytes('x'), { timeoutMs: 60_000 }))).toBe(
      'BUS_UNKNOWN_OUTCOME',
    );
  });

  test('a message with a time to live removes itself, where the stream allows it', async () => {
    const { a } = clients();
    const subject = s.world('pods', 'ttl', 'one');
    await a.append(subject, bytes('gone soon'), { ttlSeconds: 1 });
    expect(await a.last('world', subject)).toBeDefined();
    const refused = a.append(s.event('pod/ttl/one'), bytes('x'), { ttlSeconds: 1 });
    expect(await codeOf(refused)).toBe('BUS_REFUSED');
    await until(async () => (await a.last('world', subject)) === undefined, { what: 'the message to go' });
  });
}

function guards(clients: Clients, s: Subjects): void {
  test('a write is stored only if the last sequence of the guarded subject is the one given (B3)', async () => {
    const { a, b } = clients();
    const fence = s.fence(10);
    const record = s.state(10, 'pod/guard/one');
    const claimed = await a.append(fence, bytes('a'), { guard: { subject: fence, sequence: 0 } });
    const mine = { subject: fence, sequence: claimed.sequence };
    const saved = await a.append(record, bytes('a1'), { guard: mine });
    await a.append(s.state(10, 'pod/guard/other'), bytes('a2'), { guard: mine });

    const taken = await b.append(fence, bytes('b'), { guard: mine });
    expect(await codeOf(a.append(record, bytes('a3'), { guard: mine }))).toBe('BUS_CONFLICT');
    expect(await codeOf(a.append(fence, bytes('a'), { guard: mine }))).toBe('BUS_CONFLICT');
    expect((await b.last('state', record))?.sequence).toBe(saved.sequence);

    const theirs = { subject: fence, sequence: taken.sequence };
    await b.append(record, bytes('b1'), { guard: theirs });
    expect(text((await a.last('state', record))?.data ?? bytes(''))).toBe('b1');
  });

  test('sequence 0 means that there is nothing, and is refused once there is something', async () => {
    const { a } = clients();
    const fence = s.fence(11);
    await a.append(fence, bytes('x'), { guard: { subject: fence, sequence: 0 } });
    const again = a.append(fence, bytes('x'), { guard: { subject: fence, sequence: 0 } });
    expect(await codeOf(again)).toBe('BUS_CONFLICT');
    const unheld = { subject: s.fence(12), sequence: 3 };
    expect(await codeOf(a.append(s.state(12, 'pod/guard/x'), bytes('x'), { guard: unheld }))).toBe(
      'BUS_CONFLICT',
    );
  });

  test('of many claims of one fence at the same time exactly one is stored', async () => {
    const { a, b } = clients();
    const fence = s.fence(13);
    for (let round = 0, sequence = 0; round < 20; round++) {
      const guard = { subject: fence, sequence };
      const claims = [a, b, a, b].map((bus) => bus.append(fence, bytes('x'), { guard }));
      const won = (await Promise.allSettled(claims)).filter((claim) => claim.status === 'fulfilled');
      expect(won).toHaveLength(1);
      sequence = won[0]?.value.sequence ?? -1;
    }
  });

  test('of writes in flight when the fence moves, those before it are stored and none after it', async () => {
    const { a, b } = clients();
    const fence = s.fence(14);
    const { sequence } = await a.append(fence, bytes('a'));
    const guard = { subject: fence, sequence };
    const writes = Array.from({ length: 400 }, (_, n) =>
      a.append(s.state(14, `pod/flight/p-${n}`), bytes('x'), { guard }).then(
        (appended) => appended.sequence,
        (error) => (hasCode(error, 'BUS_CONFLICT') ? Number.POSITIVE_INFINITY : Promise.reject(error)),
      ),
    );
    const moved = await b.append(fence, bytes('b'), { guard });
    const stored = (await Promise.all(writes)).filter((written) => written !== Number.POSITIVE_INFINITY);
    expect(stored.every((written) => written < moved.sequence)).toBe(true);
    expect(await codeOf(a.append(s.state(14, 'pod/flight/late'), bytes('x'), { guard }))).toBe(
      'BUS_CONFLICT',
    );
  });

  test('a duplicate under a guard that holds is a duplicate; under one that does not it is refused', async () => {
    const { a } = clients();
    const fence = s.fence(15);
    const subject = s.state(15, 'pod/guard/dup');
    const { sequence } = await a.append(fence, bytes('x'));
    const first = await a.append(subject, bytes('x'), { msgId: 'gd', guard: { subject: fence, sequence } });
    const again = await a.append(subject, bytes('x'), { msgId: 'gd', guard: { subject: fence, sequence } });
    expect(again).toEqual({ sequence: first.sequence, duplicate: true });
    const stale = a.append(subject, bytes('x'), {
      msgId: 'gd',
      guard: { subject: fence, sequence: sequence - 1 },
    });
    expect(await codeOf(stale)).toBe('BUS_CONFLICT');
  });
}

function readingAndRemoving(clients: Clients, s: Subjects): void {
  test('of state and world only the last of each subject is kept, of mail and events all', async () => {
    const { a } = clients();
    for (const [stream, subject, kept] of [
      ['state', s.state(20, 'pod/kept/one'), 1],
      ['world', s.world('pods', 'kept', 'one'), 1],
      ['event', s.event('pod/kept/one'), 3],
    ] as const) {
      for (const word of ['1', '2', '3']) await a.append(subject, bytes(word));
      const { messages, following } = await collect(a, stream, [subject], { kind: 'sequence', sequence: 1 });
      await following.caughtUp;
      expect(messages.map((message) => text(message.data)).slice(-kept)).toHaveLength(kept);
      expect(messages).toHaveLength(kept);
      await following.stop();
    }
  });

  test('the last of many subjects are found together, those that are missing left out', async () => {
    const { a } = clients();
    const have = Array.from({ length: 100 }, (_, n) => s.fence(1000 + n));
    await Promise.all(have.map((subject) => a.append(subject, bytes(subject))));
    const found = await a.lastOfMany('state', [...have, s.fence(2000)]);
    expect([...found.keys()].sort()).toEqual([...have].sort());
    for (const [subject, message] of found) expect(text(message.data)).toBe(subject);
    expect((await a.lastOfMany('state', [])).size).toBe(0);
    expect(await a.last('state', s.fence(2000))).toBeUndefined();
  });

  test('a purge removes what is under the subject and below the sequence, and nothing else', async () => {
    const { a } = clients();
    const appended = [];
    for (const name of ['a', 'b', 'a', 'b'])
      appended.push(await a.append(s.event(`pod/purge/${name}`), bytes('x')));
    const kept = await a.append(s.event('pod/purge2/a'), bytes('x'));
    const wild = `${s.prefix}.event.pod.purge.*`;
    const left = async () => {
      const { messages, following } = await collect(a, 'event', [wild, s.event('pod/purge2/a')], {
        kind: 'sequence',
        sequence: 1,
      });
      await following.caughtUp;
      await following.stop();
      return messages.map(({ sequence }) => sequence);
    };
    const sequences = appended.map(({ sequence }) => sequence);
    await a.purge('event', { subject: wild, belowSequence: sequences[2] ?? 0 });
    expect(await left()).toEqual([...sequences.slice(2), kept.sequence]);
    await a.purge('event', { subject: s.event('pod/purge/a') });
    expect(await left()).toEqual([sequences[3], kept.sequence]);
  });
}

function following(clients: Clients, s: Subjects): void {
  const write = async (bus: Bus, name: string, words: readonly string[]) => {
    const appended = [];
    for (const word of words) {
      const [key = '', value = ''] = word.split('=');
      appended.push(await bus.append(s.event(`pod/${name}/${key}`), bytes(value)));
    }
    return appended.map(({ sequence }) => sequence);
  };
  const words = (messages: readonly StoredMessage[]) =>
    messages.map((message) => `${message.subject.split('.').at(-1)}=${text(message.data)}`);
  const all = (name: string) => [`${s.prefix}.event.pod.${name}.*`];

  test('from the last of each subject: those, then everything new, in order (B5)', async () => {
    const { a, b } = clients();
    await write(a, 'f1', ['a=1', 'b=1', 'a=2', 'c=1', 'b=2']);
    const { messages, following } = await collect(b, 'event', all('f1'), { kind: 'lastPerSubject' });
    await following.caughtUp;
    expect(words(messages)).toEqual(['a=2', 'c=1', 'b=2']);
    await write(a, 'f1', ['a=3', 'a=4']);
    await until(() => messages.length === 5, { what: 'two more' });
    expect(words(messages).slice(3)).toEqual(['a=3', 'a=4']);
    await following.stop();
  });

  test('from a sequence: that one and everything after it', async () => {
    const { a, b } = clients();
    const sequences = await write(a, 'f2', ['a=1', 'b=1', 'a=2']);
    const { messages, following } = await collect(b, 'event', all('f2'), {
      kind: 'sequence',
      sequence: sequences[1] ?? 0,
    });
    await following.caughtUp;
    expect(words(messages)).toEqual(['b=1', 'a=2']);
    expect(messages.map(({ sequence }) => sequence)).toEqual(sequences.slice(1));
    await following.stop();
  });

  test('from a sequence that is still to come: nothing before it', async () => {
    const { a, b } = clients();
    const [now = 0] = await write(a, 'f3', ['a=1']);
    const from: FollowFrom = { kind: 'sequence', sequence: now + 3 };
    const { messages, following } = await collect(b, 'event', all('f3'), from);
    await following.caughtUp;
    await write(a, 'f3', ['a=2', 'a=3', 'a=4']);
    await until(() => messages.length === 1, { what: 'the third' });
    expect(words(messages)).toEqual(['a=4']);
    await following.stop();
  });

  test('from a time: what was stored since then', async () => {
    const { a, b } = clients();
    await write(a, 'f4', ['a=1']);
    const first = await a.last('event', s.event('pod/f4/a'));
    // Stored times are of a millisecond: wait until a later one.
    const marker = s.event('pod/f4/marker');
    await until(
      async () => {
        await a.append(marker, bytes('x'));
        return ((await a.last('event', marker))?.storedAt ?? 0) > (first?.storedAt ?? 0) + 1;
      },
      { what: 'the clock to go on' },
    );
    const at = (await a.last('event', marker))?.storedAt ?? 0;
    await write(a, 'f4', ['a=2', 'a=3']);
    const { messages, following } = await collect(b, 'event', [s.event('pod/f4/a')], { kind: 'time', at });
    await following.caughtUp;
    expect(words(messages)).toEqual(['a=2', 'a=3']);
    await following.stop();
  });

  test('only what is new: nothing of before, everything from the moment on that following has begun', async () => {
    const { a, b } = clients();
    await write(a, 'f5', ['a=1', 'b=1']);
    const { messages, following } = await collect(b, 'event', all('f5'), { kind: 'new' });
    await following.caughtUp;
    await write(a, 'f5', ['a=2']);
    await until(() => messages.length === 1, { what: 'the new message' });
    expect(words(messages)).toEqual(['a=2']);
    await following.stop();
  });

  test('several subjects at once, and nothing but those', async () => {
    const { a, b } = clients();
    await write(a, 'f6', ['a=1', 'b=1', 'c=1', 'a=2']);
    const { messages, following } = await collect(b, 'event', [s.event('pod/f6/a'), s.event('pod/f6/c')], {
      kind: 'sequence',
      sequence: 1,
    });
    await following.caughtUp;
    expect(words(messages)).toEqual(['a=1', 'c=1', 'a=2']);
    await following.stop();
  });

  test('an empty stream is caught up with at once', async () => {
    const { b } = clients();
    const { messages, following } = await collect(b, 'event', all('f7'), { kind: 'lastPerSubject' });
    await following.caughtUp;
    expect(messages).toEqual([]);
    await following.stop();
  });

  test('a handler that throws is counted, and the next message comes', async () => {
    const { a, b } = clients();
    const before = b.counters.handlerErrors;
    let seen = 0;
    const following = await b.follow('event', {
      subjects: all('f8'),
      from: { kind: 'new' },
      onMessage() {
        seen++;
        throw new Error('broken handler');
      },
    });
    await write(a, 'f8', ['a=1', 'a=2']);
    await until(() => seen === 2, { what: 'both messages' });
    expect(b.counters.handlerErrors).toBe(before + 2);
    await following.stop();
  });

  test('thousands of messages while they are written, without a gap or a repeat', async () => {
    const { a, b } = clients();
    const count = 5000;
    const subject = s.event('pod/f9/a');
    const written: Promise<unknown>[] = [];
    for (let n = 0; n < count / 2; n++) written.push(a.append(subject, bytes(String(n))));
    const { messages, following } = await collect(b, 'event', [subject], { kind: 'sequence', sequence: 1 });
    for (let n = count / 2; n < count; n++) written.push(a.append(subject, bytes(String(n))));
    await Promise.all(written);
    await until(() => messages.length >= count, { what: `${count} messages` });
    expect(messages.map((message) => Number(text(message.data)))).toEqual([...messages.keys()]);
    expect(messages).toHaveLength(count);
    await following.stop();
  });

  test('stopped, it delivers nothing more', async () => {
    const { a, b } = clients();
    const { messages, following } = await collect(b, 'event', all('f10'), { kind: 'new' });
    await following.stop();
    await write(a, 'f10', ['a=1']);
    await flush(b, s);
    expect(messages).toEqual([]);
  });
}

function closing(connect: () => Promise<Bus>, s: Subjects): void {
  test('lets the writes that are under way have their answers, then everything is unreachable', async () => {
    const bus = await connect();
    const statuses: string[] = [];
    bus.onStatus((status) => statuses.push(status));
    const following = await bus.follow('event', {
      subjects: [s.eventAll],
      from: { kind: 'new' },
      onMessage: () => undefined,
    });
    const writes = Array.from({ length: 20 }, (_, n) =>
      bus.append(s.event(`pod/closing/p-${n}`), bytes('x')),
    );
    const closed = bus.close();
    expect((await Promise.all(writes)).every(({ sequence }) => sequence > 0)).toBe(true);
    await closed;
    await bus.close();
    await until(() => statuses.length > 0, { what: 'the status' });
    expect([bus.status, ...statuses]).toEqual(['closed', 'closed']);
    expect(await codeOf(bus.append(s.event('pod/closing/x'), bytes('x')))).toBe('BUS_UNREACHABLE');
    expect(await codeOf(bus.request(s.peer('x'), bytes('x'), { timeoutMs: 100 }))).toBe('BUS_UNREACHABLE');
    expect(await codeOf(bus.last('event', s.event('pod/closing/x')))).toBe('BUS_UNREACHABLE');
    const late = bus.follow('event', {
      subjects: [s.eventAll],
      from: { kind: 'new' },
      onMessage: () => undefined,
    });
    expect(await codeOf(late)).toBe('BUS_UNREACHABLE');
    bus.publish(s.peer('x'), bytes('dropped'));
    await following.stop();
  });
}

/** Everything that `bus` sent before has reached the server, and what the server had for it has reached it. */
export async function flush(bus: Bus, s: Subjects): Promise<void> {
  await bus.last('event', s.event('pod/flush/none'));
}

export async function collect(bus: Bus, stream: StreamName, filters: readonly string[], from: FollowFrom) {
  const messages: StoredMessage[] = [];
  const following = await bus.follow(stream, {
    subjects: filters,
    from,
    onMessage: (message) => messages.push(message),
  });
  return { messages, following };
}
