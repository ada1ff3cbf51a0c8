import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { OrreryError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { memoryHub } from '../../src/bus/memory/hub.ts';
import { type Endpoint, errorInAnswer, serve } from '../../src/bus/rpc.ts';
import { subjects } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import { bytes, codeOf, flush, text } from './bus-parts.ts';
import { recordingLog } from './nats/nats-backend.ts';

const s = subjects('rpc');

async function served(endpoints: readonly Endpoint[], log = recordingLog()) {
  const hub = memoryHub({ clock: systemClock, cluster: 'rpc' });
  const bus = hub.connect();
  const client = hub.connect();
  const service = serve(bus, {
    name: 'orrery',
    version: '0.1.0',
    id: 'r-1',
    endpoints,
    clock: systemClock,
    log,
  });
  await flush(bus, s);
  const ask = (subject: string, word = '', timeoutMs = 2000) =>
    client.request(subject, bytes(word), { timeoutMs });
  return { hub, bus, client, service, ask, log };
}

const stats = async (client: Bus) =>
  JSON.parse(text((await client.request('$SRV.STATS.orrery.r-1', bytes(''), { timeoutMs: 30_000 })).data))
    .endpoints[0];

describe('an endpoint', () => {
  test('answers with the bytes and the headers of its handler, knowing the whole subject', async () => {
    const { ask } = await served([
      {
        name: 'get',
        subject: s.rpcGetAll,
        handler: async (message) => ({
          data: bytes(message.subject + text(message.data)),
          headers: { x: 'y' },
        }),
      },
    ]);
    const answer = await ask(s.rpcGet('pod/shop/web-0'), '!');
    expect([text(answer.data), answer.headers]).toEqual([`${s.rpcGet('pod/shop/web-0')}!`, { x: 'y' }]);
    expect(errorInAnswer(answer)).toBeUndefined();
  });

  test('says that bytes without headers of their own are JSON', async () => {
    const handler = async () => bytes('{"a":1}');
    const { ask } = await served([{ name: 'get', subject: s.rpcGetAll, handler }]);
    const answer = await ask(s.rpcGet('pod/shop/web-0'));
    expect([text(answer.data), answer.headers]).toEqual(['{"a":1}', { 'Content-Type': 'application/json' }]);
  });

  test('tells the one who asked what went wrong, with the code, and is counted', async () => {
    const { ask, client, log } = await served([
      {
        name: 'get',
        subject: s.rpcGetAll,
        handler: async () => {
          throw new OrreryError('ACTOR_MISSING', 'there is\r\nno such actor');
        },
      },
    ]);
    const answer = await ask(s.rpcGet('pod/shop/web-0'));
    expect(answer.headers).toMatchObject({
      'Nats-Service-Error': 'there is no such actor',
      'Nats-Service-Error-Code': '400',
      'Orrery-Error': 'ACTOR_MISSING',
    });
    expect(errorInAnswer(answer)).toMatchObject({ code: 'ACTOR_MISSING', message: 'there is no such actor' });
    expect(await stats(client)).toMatchObject({
      num_requests: 1,
      num_errors: 1,
      last_error: 'there is\r\nno such actor',
    });
    expect(log.lines).toEqual([]);
  });

  test('whose handler is broken answers with an error, says so in the log, and goes on', async () => {
    const { ask, log } = await served([
      {
        name: 'list',
        subject: s.rpcList,
        handler: (message) => {
          if (text(message.data) === 'now') throw new TypeError('broken at once');
          return Promise.reject('broken later');
        },
      },
    ]);
    expect(errorInAnswer(await ask(s.rpcList, 'now'))?.code).toBe('INVARIANT');
    expect(errorInAnswer(await ask(s.rpcList, 'later'))?.message).toBe('broken later');
    expect(log.lines).toEqual(['a request handler failed', 'a request handler failed']);
  });

  test('whose answer is too large for the bus answers with that', async () => {
    const { ask } = await served([
      { name: 'list', subject: s.rpcList, handler: async () => new Uint8Array(2 * 1024 * 1024) },
    ]);
    expect(errorInAnswer(await ask(s.rpcList))?.code).toBe('BUS_REFUSED');
  });

  test('whose error quotes a question as large as the bus takes answers, and so does the service', async () => {
    const handler = async ({ data }: { data: Uint8Array }) => {
      throw new OrreryError('MESSAGE_UNREADABLE', `there is no kind ${text(data)}`);
    };
    const { ask, client } = await served([{ name: 'list', subject: s.rpcList, handler }]);
    const answer = await ask(s.rpcList, 'k'.repeat(1024 * 1024 - 10));
    expect(errorInAnswer(answer)?.code).toBe('MESSAGE_UNREADABLE');
    expect((await stats(client)).last_error).toMatch(/^there is no kind k+…$/);
  });

  test('that leaves the answer to another replica says nothing', async () => {
    const { ask } = await served([{ name: 'list', subject: s.rpcList, handler: async () => undefined }]);
    expect(await codeOf(ask(s.rpcList, '', 30))).toBe('BUS_UNREACHABLE');
  });

  test('that has too much to do says BUSY at once', async () => {
    const waiting: Array<() => void> = [];
    const { ask, service } = await served([
      {
        name: 'list',
        subject: s.rpcList,
        handler: () => new Promise((resolve) => waiting.push(() => resolve(bytes('late')))),
      },
    ]);
    const asked = Array.from({ length: limits.requestsInFlight }, () => ask(s.rpcList, '', 10_000));
    await until(() => waiting.length === limits.requestsInFlight, { what: 'the endpoint to be full' });
    expect(errorInAnswer(await ask(s.rpcList))).toMatchObject({ code: 'BUSY', kind: 'transient' });
    const stopped = service.stop();
    for (const finish of waiting) finish();
    await stopped;
    expect((await Promise.all(asked)).every((answer) => text(answer.data) === 'late')).toBe(true);
    expect(await codeOf(ask(s.rpcList))).toBe('BUS_UNREACHABLE');
  });

  test('that one sender floods has room for the others', async () => {
    const waiting: Array<() => void> = [];
    const { client: asking, service } = await served([
      {
        name: 'list',
        subject: s.rpcList,
        handler: () => new Promise((resolve) => waiting.push(() => resolve(bytes('late')))),
      },
    ]);
    const as = (user: string) =>
      asking.request(s.rpcList, bytes(''), {
        timeoutMs: 10_000,
        headers: { 'Nats-Request-Info': JSON.stringify({ acc: 'PROGRAMS', user }) },
      });
    const flood = Array.from({ length: limits.requestsOfSender }, () => as('greedy'));
    await until(() => waiting.length === limits.requestsOfSender, { what: 'the flood' });
    expect(errorInAnswer(await as('greedy'))).toMatchObject({ code: 'BUSY' });
    const other = as('modest');
    await until(() => waiting.length > limits.requestsOfSender, { what: 'the other to be let in' });
    for (const finish of waiting) finish();
    expect(text((await other).data)).toBe('late');
    await Promise.all(flood);
    const again = as('greedy');
    await until(() => waiting.length > limits.requestsOfSender + 1, { what: 'its turn to come again' });
    waiting.at(-1)?.();
    await again;
    await service.stop();
  });

  test('with a queue takes its share only, without one every request', async () => {
    const hub = memoryHub({ clock: systemClock, cluster: 'rpc' });
    const taken = { shared: 0, each: 0 };
    for (const id of ['r-1', 'r-2']) {
      serve(hub.connect(), {
        name: 'orrery',
        version: '0.1.0',
        id,
        clock: systemClock,
        endpoints: [
          {
            name: 'list',
            subject: s.rpcList,
            queue: 'q',
            handler: async () => bytes(String(taken.shared++)),
          },
          { name: 'shards', subject: s.rpcShards, handler: async () => bytes(String(taken.each++)) },
        ],
      });
    }
    const client = hub.connect();
    await flush(client, s);
    const all = { timeoutMs: 60_000, enough: (found: readonly unknown[]) => found.length === 2 };
    expect(await client.requestMany(s.rpcShards, bytes(''), all)).toHaveLength(2);
    await client.request(s.rpcList, bytes(''), { timeoutMs: 30_000 });
    expect(taken).toEqual({ shared: 1, each: 2 });
    const found = await client.requestMany('$SRV.PING.orrery', bytes(''), all);
    expect(found.map(({ data }) => JSON.parse(text(data)).id).sort()).toEqual(['r-1', 'r-2']);
  });
});

test.each(['PING', 'INFO.orrery', 'STATS.orrery.r-1'])(
  '$SRV.%s answers an inbox, and no subject of ours or of the server',
  async (verb) => {
    const { bus, client, hub } = await served([]);
    const heard: string[] = [];
    const replies = [s.fence(3), s.worldFence('pods'), '$JS.API.STREAM.DELETE.X', 'inbox.of.mine'];
    for (const reply of replies) bus.subscribe(reply, ({ subject }) => void heard.push(subject));
    await flush(bus, s);
    for (const reply of replies) client.publish(`$SRV.${verb}`, bytes(''), { reply });
    await until(() => heard.length > 0, { what: 'the inbox to be answered' });
    await flush(client, s);
    expect(heard).toEqual(['inbox.of.mine']);
    expect(hub.stored('state')).toEqual([]);
  },
);
