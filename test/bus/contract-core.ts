/**
 * The contract of messages that are not stored (publishing, subscribing, requests) and of the end of a
 * connection.
 */
import { expect, test } from 'vitest';
import type { Bus, BusMessage } from '../../src/bus/bus.ts';
import { isNobody } from '../../src/bus/bus-errors.ts';
import type { Subjects } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import { bytes, type Clients, codeOf, flush, text } from './bus-parts.ts';

export function coreMessages(clients: Clients, s: Subjects): void {
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

  test('a subscriber hears what is appended to a stream', async () => {
    const { a, b } = clients();
    const seen: string[] = [];
    b.subscribe(s.send('proxier/_/node-1'), ({ data }) => void seen.push(text(data)));
    await flush(b, s);
    await a.append(s.send('proxier/_/node-1'), bytes('x'));
    await until(() => seen.length > 0, { what: 'the message' });
    expect(seen).toEqual(['x']);
  });
}

export function subscriptions(clients: Clients, s: Subjects): void {
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

function answer(bus: Bus, subject: string, word: string): void {
  bus.subscribe(subject, (message) => bus.publish(message.reply, bytes(word), { headers: { from: word } }));
}

export function requests(clients: Clients, s: Subjects): void {
  test('a request gets the answer', async () => {
    const { a, b } = clients();
    answer(b, s.peer('ask'), 'yes');
    await flush(b, s);
    const got = await a.request(s.peer('ask'), bytes('?'), { timeoutMs: 30_000 });
    expect([text(got.data), got.headers.from]).toEqual(['yes', 'yes']);
  });

  test('a request that nobody listens to fails at once, one that nobody answers at its timeout, both as unreachable', async () => {
    const { a, b } = clients();
    const failureOf = (subject: string, timeoutMs: number) =>
      a.request(subject, bytes('?'), { timeoutMs }).then(String, (error) => [error.code, isNobody(error)]);
    expect(await failureOf(s.peer('nobody'), 60_000)).toEqual(['BUS_UNREACHABLE', true]);
    b.subscribe(s.peer('mute'), () => undefined);
    await flush(b, s);
    expect(await failureOf(s.peer('mute'), 50)).toEqual(['BUS_UNREACHABLE', false]);
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
}

export function manyAnswers(clients: Clients, s: Subjects): void {
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
    expect(await words(ask(1_000, 3))).toEqual(['a', 'b']);
    expect(await words(ask(60_000, 1))).toHaveLength(1);
  });

  test('a judge of answers that throws ends the request, and nothing else', async () => {
    const { a, b } = clients();
    answer(b, s.peer('judged'), 'x');
    await flush(b, s);
    const broken = () => {
      throw new Error('broken judge');
    };
    const asked = a.requestMany(s.peer('judged'), bytes('?'), { timeoutMs: 30_000, enough: broken });
    await expect(asked).rejects.toThrow('broken judge');
    const again = await a.request(s.peer('judged'), bytes('?'), { timeoutMs: 30_000 });
    expect(text(again.data)).toBe('x');
  });

  test('many answers from nobody are none, at once', async () => {
    const { a } = clients();
    const none = a.requestMany(s.peer('none'), bytes('?'), { timeoutMs: 60_000, enough: () => false });
    expect(await none).toEqual([]);
  });
}

export function closing(connect: () => Promise<Bus>, s: Subjects): void {
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
    bus.subscribe(s.peer('x'), () => undefined).stop();
    await following.stop();
  });
}
