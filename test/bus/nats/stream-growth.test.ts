/**
 * Streams that replicas of two releases look after: their settings only grow, and what was taken
 * away comes back.
 */
import { afterEach, expect, test } from 'vitest';
import { startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { ensureStreams } from '../../../src/bus/nats/ensure-streams.ts';
import { jetStreamCode } from '../../../src/bus/nats/jetstream-api.ts';
import { grown } from '../../../src/bus/nats/stream-growth.ts';
import { streamDefinitions } from '../../../src/bus/streams.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { until } from '../../until.ts';
import { bytes, text } from '../bus-parts.ts';
import { connectTo, temporaryFolder } from './nats-backend.ts';

const s = subjects('test');
const cleanups: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function replica(): Promise<{ bus: Bus; another(cluster?: string): Promise<Bus> }> {
  const folder = await temporaryFolder();
  cleanups.push(folder.remove);
  const server = await startNatsServer({ dir: folder.dir });
  cleanups.push(server.kill);
  const another = async (cluster = 'test') => {
    const bus = await connectTo(server.url, { cluster });
    cleanups.push(() => bus.close());
    return bus;
  };
  return { bus: await another(), another };
}

async function api(bus: Bus, verb: string, body?: unknown): Promise<Record<string, unknown>> {
  const data = body === undefined ? bytes('') : bytes(JSON.stringify(body));
  return JSON.parse(text((await bus.request(`$JS.API.${verb}`, data, { timeoutMs: 2_000 })).data));
}

const configOf = async (bus: Bus) =>
  (await api(bus, 'STREAM.INFO.ORRERY_test_MAIL')).config as Record<string, unknown>;

test('a release that knows more than this one keeps what it made of a stream', async () => {
  const { bus, another } = await replica();
  const config = await configOf(bus);
  const newer = {
    ...config,
    subjects: [...(config.subjects as string[]), 'orrery.test.whisper.*'],
    max_age: 2 * Number(config.max_age),
    description: 'as a newer release says it',
    metadata: { ...(config.metadata as object), 'orrery.streams': '99' },
  };
  await api(bus, 'STREAM.UPDATE.ORRERY_test_MAIL', newer);
  await another();
  const { subjects: kept, max_age, description } = await configOf(bus);
  expect({ kept, max_age, description }).toEqual({
    kept: newer.subjects,
    max_age: newer.max_age,
    description: newer.description,
  });
});

test('what an older release takes away is there again within seconds, and nothing that is longer is shortened', {
  timeout: 30_000,
}, async () => {
  const { bus } = await replica();
  const config = await configOf(bus);
  // As a replica of 0.1.0 (be27528) leaves it at each reconnect, where somebody keeps mail for longer.
  await api(bus, 'STREAM.UPDATE.ORRERY_test_MAIL', {
    ...config,
    subjects: [s.sendAll],
    max_age: 2 * Number(config.max_age),
  });
  const restored = await until(
    async () => {
      const found = await configOf(bus);
      return (found.subjects as string[]).includes(s.tellAll) ? found : undefined;
    },
    { what: 'the subject to come back' },
  );
  expect(restored.subjects).toEqual([s.sendAll, s.tellAll]);
  expect(restored.max_age).toBe(2 * Number(config.max_age));
  expect((await bus.append(s.tell(3, 'pod/shop/web-0'), bytes('{}'))).sequence).toBe(1);
});

test('a stream that is deleted while a replica is connected is made again within seconds', {
  timeout: 30_000,
}, async () => {
  const { bus } = await replica();
  await api(bus, 'STREAM.DELETE.ORRERY_test_MAIL');
  await until(async () => (await api(bus, 'STREAM.INFO.ORRERY_test_MAIL')).config !== undefined, {
    what: 'the stream to be made again',
    timeoutMs: 15_000,
  });
});

test.each([
  ['max_age', 100, 200, 200],
  ['max_age', 200, 100, 200],
  ['max_age', 0, 100, 0],
  ['max_age', 100, 0, 0],
  ['max_msgs', -1, 100, -1],
  ['max_msgs', 100, -1, -1],
  ['duplicate_window', 50, 20, 50],
  ['num_replicas', 3, 1, 3],
])('%s of %d, wanted as %d, is %d', (name, found, wanted, result) => {
  const metadata = { 'orrery.streams': '2' };
  expect(grown({ [name]: found, metadata }, { [name]: wanted, metadata })[name]).toBe(result);
});

test.each([
  ['EVENT', 1_000_000],
  ['STATE', -1],
])('a bound in bytes that an operator gives %s is %d after the next look', async (stream, kept) => {
  const { bus, another } = await replica();
  const verb = (word: string) => `STREAM.${word}.ORRERY_test_${stream}`;
  const { config } = (await api(bus, verb('INFO'))) as { config: object };
  await api(bus, verb('UPDATE'), { ...config, max_bytes: 1_000_000 });
  await another();
  const after = (await api(bus, verb('INFO'))) as { config: { max_bytes: number } };
  expect(after.config.max_bytes).toBe(kept);
});

const edited = async (bus: Bus, stream: string, change: object) => {
  const { config } = (await api(bus, `STREAM.INFO.ORRERY_test_${stream}`)) as { config: object };
  const answer = await api(bus, `STREAM.UPDATE.ORRERY_test_${stream}`, { ...config, ...change });
  expect(answer.error).toBeUndefined();
};

test('settings with which a stream refuses what replicas do are taken back within seconds', {
  timeout: 30_000,
}, async () => {
  const { bus } = await replica();
  await bus.append(s.fence(1), bytes('one'));
  await edited(bus, 'STATE', { discard: 'new', discard_new_per_subject: true });
  await api(bus, 'STREAM.CREATE.OTHER', { name: 'OTHER', subjects: ['other'] });
  await edited(bus, 'WORLD', { consumer_limits: { inactive_threshold: 1e9 }, sources: [{ name: 'OTHER' }] });
  const stores = () =>
    bus.append(s.fence(1), bytes('two')).then(
      () => true,
      () => false,
    );
  await until(stores, { what: 'the stream to replace the last message again' });
  const follows = async () => {
    const { config } = (await api(bus, 'STREAM.INFO.ORRERY_test_WORLD')) as {
      config: { consumer_limits?: { inactive_threshold?: number }; sources?: unknown };
    };
    return config.consumer_limits?.inactive_threshold === undefined && config.sources === undefined;
  };
  await until(follows, { what: 'consumers to have bounds of their own, and no other source' });
  expect(bus.troubles()).toEqual([]);
});

test.each([
  [{ sealed: true }, /DEAD is sealed: .* Back it up, then delete it$/],
  [
    { metadata: {} },
    /DEAD has no metadata orrery\.shards.* nats stream edit ORRERY_test_DEAD --metadata orrery\.shards=64/,
  ],
])('a stream with %j is named with what to do', async (change, told) => {
  const { bus } = await replica();
  await edited(bus, 'DEAD', change);
  const [trouble] = await until(() => (bus.troubles().length > 0 ? bus.troubles() : undefined), {
    what: 'the trouble',
  });
  expect(trouble?.text).toMatch(told);
});

test('what NATS refuses once, at a look at the streams, does not end the looks', {
  timeout: 30_000,
}, async () => {
  const { bus } = await replica();
  const edit = async (shards: string) => {
    const config = await configOf(bus);
    const metadata = { ...(config.metadata as object), 'orrery.shards': shards };
    await api(bus, 'STREAM.UPDATE.ORRERY_test_MAIL', { ...config, metadata });
  };
  await edit('32');
  const [trouble] = await until(() => (bus.troubles().length > 0 ? bus.troubles() : undefined), {
    what: 'the trouble',
  });
  expect(trouble?.text).toMatch(/^the streams cannot be made or checked: .* was made for 32 shards/);
  await edit('64');
  await until(() => bus.troubles().length === 0, { what: 'the end of the trouble' });
  await api(bus, 'STREAM.DELETE.ORRERY_test_DEAD');
  const isThere = async () => (await api(bus, 'STREAM.INFO.ORRERY_test_DEAD')).error === undefined;
  await until(isThere, { what: 'the stream to be made again' });
});

test.each([
  [['o.send.>'], ['o.send.*.*.*', 'o.tell.*.*'], ['o.send.>', 'o.tell.*.*']],
  [['o.send.a.b.c'], ['o.send.*.*.*'], ['o.send.*.*.*']],
  [['o.send.*.*'], ['o.send.*.*.*'], ['o.send.*.*', 'o.send.*.*.*']],
  [['o.>', 'o.send.x.y.z'], ['o.send.*.*.*'], ['o.>']],
])('subjects that somebody gave the stream stay, and none overlap: %j and %j', (found, wanted, subjects) => {
  expect(grown({ subjects: found }, { subjects: wanted }).subjects).toEqual(subjects);
});

test('a stream that somebody forbade to be purged is told, with what to do, and works', async () => {
  const { bus, another } = await replica();
  await api(bus, 'STREAM.UPDATE.ORRERY_test_MAIL', { ...(await configOf(bus)), deny_purge: true });
  const told = expect.stringMatching(/^stream ORRERY_test_MAIL has deny_purge, so .*delete the stream/);
  expect((await another()).troubles()).toMatchObject([{ text: told, isMinor: true }]);
});

test('a mirror is not taken for a stream of Orrery', async () => {
  const { bus, another } = await replica();
  const mirror = { name: 'ORRERY_copy_DEAD', mirror: { name: 'ORRERY_test_DEAD' }, storage: 'file' };
  await api(bus, 'STREAM.CREATE.ORRERY_copy_DEAD', mirror);
  await expect(another('copy')).rejects.toThrow('stream ORRERY_copy_DEAD is a mirror of another stream');
});

test('a replica that starts while another one makes the streams tries again and does not end', async () => {
  // As three servers answer for some milliseconds: the name is taken, and the stream has no leader yet.
  const api = (verb: string) => {
    const code = /CREATE/.test(verb) ? jetStreamCode.streamNameInUse : jetStreamCode.streamNotFound;
    return Promise.reject(new OrreryError('BUS_REFUSED', verb, { facts: { jetStreamCode: code } }));
  };
  await expect(ensureStreams(api, streamDefinitions('test'), 3, 1)).rejects.toMatchObject({
    code: 'BUS_UNREACHABLE',
    kind: 'transient',
    message: expect.stringMatching(/another replica is making stream ORRERY_test_/),
  });
});
