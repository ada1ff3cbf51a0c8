/** What the bus does once in a turn of the event loop: a real server, a real socket. */
import { Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { actorId } from '../../../src/base/ids.ts';
import { flushOncePerTurn } from '../../../src/bus/nats/once-per-turn.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { until } from '../../until.ts';
import { connectTo, temporaryFolder } from './nats-backend.ts';

afterEach(() => vi.restoreAllMocks());

test('a hundred messages, each published by a promise of its own, are one write, in their order', async () => {
  const folder = await temporaryFolder();
  const server = await startNatsServer({ dir: folder.dir });
  const bus = await connectTo(server.url, { onlyAsks: true });
  try {
    const heard: string[] = [];
    bus.subscribe('some.*', ({ data }) => void heard.push(new TextDecoder().decode(data)));
    const write = vi.spyOn(Socket.prototype, 'write');
    let before: Promise<unknown> = Promise.resolve();
    const texts = Array.from({ length: 100 }, (_, n) => `message ${n}`);
    for (const text of texts)
      before = before.then(() => bus.publish('some.subject', new TextEncoder().encode(text)));
    await before;
    await until(() => heard.length === 100, { what: 'all messages to arrive' });
    const writes = write.mock.calls.filter(([chunk]) => Buffer.from(chunk as Uint8Array).includes('message'));
    expect(heard).toEqual(texts);
    expect(writes).toHaveLength(1);
  } finally {
    await bus.close();
    await server.stop();
    await folder.remove();
  }
});

test('all who ask in one turn how a stream stands ask once, and who asks later asks again', async () => {
  const folder = await temporaryFolder();
  const server = await startNatsServer({ dir: folder.dir });
  const bus = await connectTo(server.url);
  try {
    const write = vi.spyOn(Socket.prototype, 'write');
    const asked = () =>
      write.mock.calls
        .flatMap(
          ([chunk]) =>
            Buffer.from(chunk as Uint8Array)
              .toString()
              .match(/STREAM\.INFO\.\S+/g) ?? [],
        )
        .filter((verb) => verb.endsWith('EVENT')).length;
    const ask = () => bus.streamState('event').then(({ lastSequence }) => lastSequence);
    const each = Array.from({ length: 64 }, (_, n) => (n % 2 === 0 ? ask() : Promise.resolve().then(ask)));
    expect(new Set(await Promise.all(each))).toEqual(new Set([0]));
    expect(asked()).toBe(1);
    const to = subjectsOf('test').event(actorId('pod', 'shop', 'a'));
    const { sequence } = await bus.append(to, new Uint8Array(1));
    expect(await ask()).toBe(sequence);
    expect(asked()).toBe(2);
  } finally {
    await bus.close();
    await server.stop();
    await folder.remove();
  }
});

test('a library with another inside is left alone', () => {
  for (const connection of [{}, { protocol: {} }, { protocol: { flushPending: 'no function' } }])
    expect(() => flushOncePerTurn(connection)).not.toThrow();
});
