/** Three servers, streams of three copies: what the bus promises while servers die. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startNatsCluster } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { actorId } from '../../../src/base/ids.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { silenceBounds } from '../../../src/bus/nats/wire-consumer.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { until } from '../../until.ts';
import { bytes, codeOf, collect, text } from '../bus-parts.ts';
import { connectTo, temporaryFolder } from './nats-backend.ts';

const s = subjects('test');

describe('a bus on a cluster of three', () => {
  let cluster: Awaited<ReturnType<typeof startNatsCluster>>;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  const buses: Bus[] = [];
  beforeAll(async () => {
    folder = await temporaryFolder();
    cluster = await startNatsCluster({ size: 3, dir: folder.dir });
  });
  afterAll(async () => {
    await Promise.all(buses.map((bus) => bus.close()));
    await Promise.all((cluster?.servers ?? []).map((server) => server.kill()));
    await folder.remove();
  });
  const newBus = async ({ servers = cluster.servers.map(({ url }) => url) } = {}) => {
    const bus = await connectTo('', { servers, streamReplicas: 3 });
    buses.push(bus);
    return bus;
  };
  /** Appends until the stream has a leader that takes it. */
  const append = (bus: Bus, ...args: Parameters<Bus['append']>) =>
    until(() => bus.append(...args), { what: 'an append to be taken', timeoutMs: 30_000 });

  test('a batch is stored on all copies or not at all, each message under its own guard', {
    timeout: 120_000,
  }, async () => {
    const bus = await newBus();
    const fence = (await append(bus, s.fence(64), bytes('leader'))).sequence;
    const epoch = (await append(bus, s.nodesEpoch, bytes('x'))).sequence;
    const write = (fenceSeen: number, epochSeen: number) =>
      bus.appendAll([
        {
          subject: s.releaseStatus('a'),
          data: bytes('x'),
          guard: { subject: s.fence(64), sequence: fenceSeen },
        },
        { subject: s.nodesEpoch, data: bytes('x'), guard: { subject: s.nodesEpoch, sequence: epochSeen } },
      ]);
    expect(await codeOf(write(fence, epoch - 1))).toBe('BUS_CONFLICT');
    expect(await codeOf(write(fence - 1, epoch))).toBe('BUS_CONFLICT');
    expect(await bus.last('state', s.releaseStatus('a'))).toBeUndefined();
    let seen = epoch;
    for (let round = 0; round < 50; round++) seen = (await write(fence, seen)).sequence;
    expect(await codeOf(write(fence, epoch))).toBe('BUS_CONFLICT');
    expect((await bus.last('state', s.releaseStatus('a')))?.sequence).toBe(seen - 1);
  });

  test('hundreds of saves under one fence at a time are stored, and refused once the fence has moved', {
    timeout: 120_000,
  }, async () => {
    const bus = await newBus();
    const fence = (await append(bus, s.fence(63), bytes('owner'))).sequence;
    const guard = { subject: s.fence(63), sequence: fence };
    const ids = Array.from({ length: 600 }, (_, n) => s.state(63, actorId('pod', 'shop', `crowd-${n}`)));
    const saved = await Promise.all(ids.map((id, n) => bus.append(id, bytes(`${n}`), { guard })));
    const found = await bus.lastOfMany('state', ids);
    expect(ids.map((id) => found.get(id)?.sequence)).toEqual(saved.map(({ sequence }) => sequence));
    const claim = bus.append(s.fence(63), bytes('next'), { guard });
    const late = ids.slice(0, 50).map((id) => codeOf(bus.append(id, bytes('late'), { guard })));
    await claim;
    expect(new Set(await Promise.all(late))).toEqual(new Set(['BUS_CONFLICT']));
  });

  test('keeps its promises of guards and following while the leader of the stream dies', {
    timeout: 120_000,
  }, async () => {
    const owner = await newBus();
    const other = await newBus();
    const fence = s.fence(1);
    const record = s.state(1, 'pod/shop/web-0');
    const claimed = await append(owner, fence, bytes('owner'));
    const { messages } = await collect(other, 'state', [s.stateOfShard(1)], { kind: 'lastPerSubject' });
    const guard = { subject: fence, sequence: claimed.sequence };
    expect(await streamReplicas(owner)).toBe(3);

    const acknowledged: number[] = [];
    let stop = false;
    const writing = (async () => {
      for (let n = 0; !stop; n++) {
        const code = await codeOf(
          owner
            .append(s.state(1, `pod/shop/web-${n}`), bytes('x'), { guard, timeoutMs: 1000 })
            .then(({ sequence }) => acknowledged.push(sequence)),
        );
        if (code !== undefined) {
          expect(['BUS_UNKNOWN_OUTCOME', 'BUS_UNREACHABLE']).toContain(code);
          await until(() => owner.status === 'connected', { what: 'the owner to be back' });
        }
      }
    })();
    await until(() => acknowledged.length >= 50, { what: 'writes before the death' });
    const leader = await leaderOf(owner);
    await cluster.servers[leader]?.kill();
    const before = acknowledged.length;
    await until(() => acknowledged.length >= before + 50, {
      what: 'writes after the death',
      timeoutMs: 30_000,
    });
    stop = true;
    await writing;

    await until(() => messages.at(-1)?.sequence === acknowledged.at(-1), {
      what: 'the follower',
      timeoutMs: 20_000,
    });
    const delivered = messages.map(({ sequence }) => sequence);
    expect(delivered).toEqual([...new Set(delivered)].sort((a, b) => a - b));
    expect(acknowledged.filter((sequence) => !delivered.includes(sequence))).toEqual([]);

    const taken = await append(other, fence, bytes('other'), { guard });
    expect(await codeOf(owner.append(record, bytes('late'), { guard }))).toBe('BUS_CONFLICT');
    await append(other, record, bytes('theirs'), { guard: { subject: fence, sequence: taken.sequence } });
    expect(text((await owner.last('state', record))?.data ?? bytes(''))).toBe('theirs');

    cluster.servers[leader] = await cluster.startAgain(leader);
    await append(owner, s.event('pod/shop/web-0'), bytes('x'));
  });

  test('misses consumers that died with another server than the one it is connected to, sooner than they would be missed alone', {
    timeout: 120_000,
  }, async () => {
    const bus = await newBus({ servers: [cluster.servers[0]?.url ?? ''] });
    onTestFinished(() => bus.close());
    const shards = Array.from({ length: 12 }, (_, shard) => shard);
    const read = await Promise.all(
      shards.map((shard) => collect(bus, 'mail', [s.tellOfShard(shard)], { kind: 'new' })),
    );
    const homes = await consumerHomes(bus);
    const [home, lost] = homes.get('n1') ? ['n1', homes.get('n1')] : ['n2', homes.get('n2')];
    expect(lost).toBeGreaterThan(0);
    const dead = Number(home.slice(1));
    const before = bus.counters.followRestarts;
    await cluster.servers[dead]?.kill();
    await until(() => bus.counters.followRestarts >= before + (lost ?? 0), {
      what: 'the doubt about its consumers',
      timeoutMs: silenceBounds.consumerMaxMs / 2,
    });
    cluster.servers[dead] = await cluster.startAgain(dead);
    for (const shard of shards)
      await append(bus, s.tell(shard, actorId('pod', 'shop', 'web-0')), bytes(`to ${shard}`));
    for (const { messages } of read)
      await until(() => messages.length === 1, { what: 'a message of each shard' });
  });

  test('stores a message id once, however the guard is looked at first', async () => {
    const bus = await newBus();
    const fence = s.fence(2);
    const record = s.state(2, 'pod/shop/dup');
    const { sequence } = await append(bus, fence, bytes('x'));
    const guard = { subject: fence, sequence };
    const first = await append(bus, record, bytes('x'), { msgId: 'r3', guard });
    expect(await bus.append(record, bytes('x'), { msgId: 'r3', guard })).toEqual({
      ...first,
      duplicate: true,
    });
    const stale = bus.append(record, bytes('x'), {
      msgId: 'r3',
      guard: { subject: fence, sequence: sequence - 1 },
    });
    expect(['BUS_CONFLICT', 'duplicate']).toContain((await codeOf(stale)) ?? 'duplicate');
  });
});

interface StreamInfo {
  readonly cluster: { readonly leader: string };
  readonly config: { readonly num_replicas: number };
}

async function streamInfo(bus: Bus): Promise<StreamInfo> {
  const answer = await bus.request('$JS.API.STREAM.INFO.ORRERY_test_STATE', bytes(''), { timeoutMs: 30_000 });
  return JSON.parse(text(answer.data));
}

/** How many consumers of the mail each server runs. */
async function consumerHomes(bus: Bus): Promise<ReadonlyMap<string, number>> {
  const answer = await bus.request('$JS.API.CONSUMER.LIST.ORRERY_test_MAIL', bytes(''), {
    timeoutMs: 30_000,
  });
  const { consumers } = JSON.parse(text(answer.data)) as { consumers: Pick<StreamInfo, 'cluster'>[] };
  const homes = new Map<string, number>();
  for (const { leader } of consumers.map(({ cluster }) => cluster))
    homes.set(leader, (homes.get(leader) ?? 0) + 1);
  return homes;
}

const streamReplicas = async (bus: Bus) => (await streamInfo(bus)).config.num_replicas;
/** Its place in the list of servers: they are named n0, n1, n2. */
const leaderOf = async (bus: Bus) => Number((await streamInfo(bus)).cluster.leader.slice(1));
