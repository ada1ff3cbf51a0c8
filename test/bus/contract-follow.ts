/** The contract of following a stream (B5). */
import { expect, test } from 'vitest';
import type { Bus, FollowFrom, StoredMessage } from '../../src/bus/bus.ts';
import type { Subjects } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import { bytes, type Clients, collect, flush, text } from './bus-parts.ts';

function storyOf(s: Subjects) {
  return {
    async write(bus: Bus, name: string, words: readonly string[]) {
      const appended = [];
      for (const word of words) {
        const [key = '', value = ''] = word.split('=');
        appended.push(await bus.append(s.event(`pod/${name}/${key}`), bytes(value)));
      }
      return appended.map(({ sequence }) => sequence);
    },
    all: (name: string) => [`${s.prefix}.event.pod.${name}.*`],
  };
}

const words = (messages: readonly StoredMessage[]) =>
  messages.map((message) => `${message.subject.split('.').at(-1)}=${text(message.data)}`);

export function followingGivenUp(clients: Clients, s: Subjects): void {
  const { write, all } = storyOf(s);

  test('whoever gives up is told nothing more, and who gave up before it began is refused', async () => {
    const { a, b } = clients();
    await write(a, 'given-up', ['a=1']);
    const told: string[] = [];
    const giving = new AbortController();
    const options = {
      subjects: all('given-up'),
      from: { kind: 'sequence', sequence: 1 },
      onMessage: ({ data }: StoredMessage) => void told.push(text(data)),
      signal: giving.signal,
    } as const;
    const following = await b.follow('event', options);
    await following.caughtUp;
    giving.abort();
    await following.stop();
    await write(a, 'given-up', ['a=2']);
    await flush(b, s);
    expect(told).toEqual(['1']);
    await expect(b.follow('event', options)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  });
}

export function followingFromBefore(clients: Clients, s: Subjects): void {
  const { write, all } = storyOf(s);

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

  test('a follower that is to start over is told of another stream, then its messages from the first one', async () => {
    const { a, b } = clients();
    await write(a, 'f8', ['a=1', 'a=2']);
    const told: string[] = [];
    const following = await b.follow('event', {
      subjects: all('f8'),
      from: { kind: 'lastPerSubject' },
      onMessage: ({ data }) => void told.push(text(data)),
      onAnother: () => void told.push('(another)'),
    });
    await following.caughtUp;
    expect((await b.streamState('event')).messages).toBeGreaterThanOrEqual(2);
    b.startOver('event');
    await until(() => told.length >= 4, { what: 'the messages once more' });
    await write(a, 'f8', ['a=3']);
    await until(() => told.length >= 5, { what: 'a new one' });
    expect(told).toEqual(['2', '(another)', '1', '2', '3']);
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
}

export function followingFromNow(clients: Clients, s: Subjects): void {
  const { write, all } = storyOf(s);

  test('from a time: what was stored since then', async () => {
    const { a, b } = clients();
    await write(a, 'f4', ['a=1']);
    const first = await a.last('event', s.event('pod/f4/a'));
    // Stored times are whole milliseconds: wait for a later one.
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
}

export function followingOn(clients: Clients, s: Subjects): void {
  const { write, all } = storyOf(s);

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
