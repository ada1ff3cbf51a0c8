/** What a simulation can do to the memory bus, and that nothing else happens by itself. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { StoredMessage } from '../../../src/bus/bus.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { until } from '../../until.ts';
import { bytes, codeOf, collect, text } from '../bus-parts.ts';

const s = subjects('sim');
const fence = s.fence(1);
const record = s.state(1, 'pod/shop/web-0');
const newHub = () => memoryHub({ clock: systemClock, cluster: 'sim' });
const ticks = async (count = 50) => {
  for (let n = 0; n < count; n++) await Promise.resolve();
};

describe('an append', () => {
  test('whose answer is lost is stored, and of unknown outcome after its timeout', async () => {
    const hub = newHub();
    const bus = hub.connect();
    bus.faults.onAppend = () => 'answerLost';
    expect(await codeOf(bus.append(fence, bytes('x'), { timeoutMs: 10 }))).toBe('BUS_UNKNOWN_OUTCOME');
    expect(hub.stored('state')).toHaveLength(1);
  });

  test('whose request is lost is not stored, and of unknown outcome as well', async () => {
    const hub = newHub();
    const bus = hub.connect();
    bus.faults.onAppend = () => 'requestLost';
    expect(await codeOf(bus.append(fence, bytes('x'), { timeoutMs: 10 }))).toBe('BUS_UNKNOWN_OUTCOME');
    expect(hub.stored('state')).toHaveLength(0);
  });

  test('that is refused is not stored', async () => {
    const hub = newHub();
    const bus = hub.connect();
    bus.faults.onAppend = (subject) => (subject === fence ? 'refuse' : 'store');
    expect(await codeOf(bus.append(fence, bytes('x')))).toBe('BUS_REFUSED');
    expect(await codeOf(bus.append(record, bytes('x')))).toBeUndefined();
    expect(hub.stored('state').map(({ subject }) => subject)).toEqual([record]);
  });

  test('that comes late is stored after its sender gave up, unless its guard has moved by then', async () => {
    const hub = newHub();
    const bus = hub.connect();
    const { sequence } = await bus.append(fence, bytes('x'));
    bus.faults.onAppend = () => ({ lateMs: 30 });
    const guard = { subject: fence, sequence };
    expect(await codeOf(bus.append(record, bytes('late'), { guard, timeoutMs: 10 }))).toBe(
      'BUS_UNKNOWN_OUTCOME',
    );
    expect(hub.stored('state').some(({ subject }) => subject === record)).toBe(false);
    await until(() => hub.stored('state').some(({ subject }) => subject === record), {
      what: 'the late write',
    });

    const again = bus.append(record, bytes('too late'), { guard, timeoutMs: 60_000 });
    await hub.connect().append(fence, bytes('moved'), { guard });
    expect(await codeOf(again)).toBe('BUS_CONFLICT');
  });
});

describe('a client that is cut off', () => {
  test('and knows it has its writes in flight of unknown outcome at once, later ones unreachable', async () => {
    const hub = newHub();
    const bus = hub.connect();
    const statuses: string[] = [];
    bus.onStatus((status) => statuses.push(status));
    const inFlight = bus.append(fence, bytes('x'), { timeoutMs: 60_000 });
    bus.faults.setLink('down');
    expect(await codeOf(inFlight)).toBe('BUS_UNKNOWN_OUTCOME');
    expect(await codeOf(bus.append(fence, bytes('x')))).toBe('BUS_UNREACHABLE');
    expect(await codeOf(bus.last('state', fence))).toBe('BUS_UNREACHABLE');
    expect(bus.status).toBe('disconnected');
    await ticks();
    expect(hub.stored('state')).toHaveLength(0);
    bus.faults.setLink('up');
    expect(await codeOf(bus.append(fence, bytes('x')))).toBeUndefined();
    expect(statuses).toEqual(['disconnected', 'connected']);
    expect(bus.counters.disconnects).toBe(1);
  });

  test('and does not know it waits for its timeouts, and hears nothing, not even itself', async () => {
    const hub = newHub();
    const bus = hub.connect();
    const heard: string[] = [];
    bus.subscribe(s.memberAll, (message) => heard.push(text(message.data)));
    await ticks();
    bus.faults.setLink('silent');
    bus.publish(s.member('a'), bytes('lost'));
    hub.connect().publish(s.member('b'), bytes('lost too'));
    expect(bus.status).toBe('connected');
    expect(await codeOf(bus.append(fence, bytes('x'), { timeoutMs: 10 }))).toBe('BUS_UNKNOWN_OUTCOME');
    expect(await codeOf(bus.request(s.peer('x'), bytes('x'), { timeoutMs: 10 }))).toBe('BUS_UNREACHABLE');
    bus.faults.setLink('up');
    bus.publish(s.member('a'), bytes('heard'));
    await ticks();
    expect(heard).toEqual(['heard']);
    expect(hub.stored('state')).toHaveLength(0);
  });

  test.each(['down', 'silent'] as const)('(%s) follows on without a gap or a repeat', async (cut) => {
    const hub = newHub();
    const reader = hub.connect();
    const writer = hub.connect();
    const subject = s.event('pod/shop/web-0');
    const { messages, following } = await collect(reader, 'event', [subject], { kind: 'new' });
    let written = 0;
    const write = async (count: number) => {
      for (let n = 0; n < count; n++) await writer.append(subject, bytes(String(written++)));
    };
    await write(3);
    for (let round = 0; round < 3; round++) {
      void write(2);
      reader.faults.setLink(cut);
      await write(3);
      reader.faults.setLink('up');
      await write(1);
    }
    await until(() => messages.length >= written, { what: 'all messages' });
    await ticks();
    expect(messages.map(({ data }) => Number(text(data)))).toEqual([...Array(written).keys()]);
    await following.stop();
  });

  test('is no member of its queue groups', async () => {
    const hub = newHub();
    const [a, b, c] = [hub.connect(), hub.connect(), hub.connect()];
    let seen = 0;
    for (const bus of [a, b]) bus.subscribe(s.peer('work'), () => seen++, { queue: 'q' });
    await ticks();
    a.faults.setLink('down');
    for (let n = 0; n < 10; n++) c.publish(s.peer('work'), bytes('x'));
    await ticks();
    expect(seen).toBe(10);
  });
});

describe('a core message', () => {
  test('may be lost, doubled or delayed for one receiver alone', async () => {
    const hub = newHub();
    const [a, b, c] = [hub.connect(), hub.connect(), hub.connect()];
    const seen = { a: [] as string[], b: [] as string[] };
    a.subscribe(s.memberAll, (message) => seen.a.push(text(message.data)));
    b.subscribe(s.memberAll, (message) => seen.b.push(text(message.data)));
    await ticks();
    const send = (word: string) => c.publish(s.member('c'), bytes(word));
    a.faults.onReceive = () => 'lose';
    send('1');
    await ticks();
    a.faults.onReceive = () => 'duplicate';
    send('2');
    await ticks();
    a.faults.onReceive = () => ({ delayMs: 20 });
    send('3');
    a.faults.onReceive = undefined;
    await ticks();
    send('4');
    await until(() => seen.a.length === 4, { what: 'the delayed message' });
    expect(seen.b).toEqual(['1', '2', '3', '4']);
    expect(seen.a.slice(0, 2)).toEqual(['2', '2']);
  });
});

describe('the order of things', () => {
  /** Runs what is scheduled in an order drawn from a seed, until nothing is left. */
  const shuffling = (seed: number) => {
    const random = seededRandom(seed);
    const waiting: Array<() => void> = [];
    return {
      schedule: (fn: () => void) => void waiting.push(fn),
      async run() {
        for (;;) {
          const [next] = waiting.splice(Math.floor(random.next() * waiting.length), 1);
          next?.();
          await ticks(5);
          if (waiting.length === 0) return;
        }
      },
    };
  };
  const play = async (seed: number) => {
    const scheduler = shuffling(seed);
    const hub = memoryHub({ clock: systemClock, cluster: 'sim', schedule: scheduler.schedule });
    const trace: string[] = [];
    hub.observe((stream, message) => trace.push(`${stream} ${text(message.data)}`));
    const clients = ['a', 'b', 'c'].map((name) => ({
      name,
      bus: hub.connect(name),
      seen: [] as StoredMessage[],
    }));
    for (const { bus, seen } of clients) {
      void bus.follow('event', {
        subjects: [s.eventAll],
        from: { kind: 'sequence', sequence: 1 },
        onMessage: (m) => seen.push(m),
      });
    }
    for (let n = 0; n < 10; n++) {
      for (const { name, bus } of clients) void bus.append(s.event(`pod/shop/${name}`), bytes(`${name}${n}`));
    }
    await scheduler.run();
    return { trace, clients };
  };

  test('follows from the seed, and each client keeps its own', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const first = await play(seed);
        expect((await play(seed)).trace).toEqual(first.trace);
        for (const { name, seen } of first.clients) {
          const own = first.trace
            .map((line) => line.split(' ')[1] ?? '')
            .filter((word) => word.startsWith(name));
          expect(own).toEqual([...Array(10).keys()].map((n) => `${name}${n}`));
          expect(seen.map(({ sequence }) => sequence)).toEqual([...Array(30).keys()].map((n) => n + 1));
        }
      }),
      { numRuns: 20 },
    );
  });

  test('differs between seeds', async () => {
    const traces = await Promise.all([1, 2, 3].map(async (seed) => (await play(seed)).trace.join()));
    expect(new Set(traces).size).toBe(3);
  });
});
