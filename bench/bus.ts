/**
 * How fast the bus stores: guarded saves of records, as a replica makes them, on a real nats-server and in
 * memory.
 *
 * `node bench/bus.ts [--seconds 2] [--only memory|server|servers]` prints a table; `servers` are three, with
 * three copies of each stream. Pipelined means `limits.savesInFlight` saves in progress.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsCluster, startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { choice, number, readFlags } from '../scripts/flags.ts';
import { systemClock } from '../src/base/clock.ts';
import { type ActorId, actorId } from '../src/base/ids.ts';
import { limits } from '../src/base/limits.ts';
import { systemRandom } from '../src/base/random.ts';
import type { Bus, Guard } from '../src/bus/bus.ts';
import { encode } from '../src/bus/codec.ts';
import { memoryHub } from '../src/bus/memory/hub.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { shardOf } from '../src/bus/partition.ts';
import { subjects } from '../src/bus/subjects.ts';

const cluster = 'bench';
const s = subjects(cluster);
const ids: readonly ActorId[] = Array.from({ length: 10_000 }, (_, n) => actorId('pod', 'shop', `web-${n}`));
const targets = ids.map((id) => s.state(shardOf(id), id));
/** The size of an ordinary record. */
const record = encode({
  id: 'pod/shop/web-0',
  rev: 12,
  fence: 345,
  state: 'proving',
  context: 'x'.repeat(180),
});

interface Row {
  readonly what: string;
  readonly perSecond: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

const values = readFlags('node bench/bus.ts', 'How fast the bus stores.', {
  seconds: number('how long each row is measured', 2),
  only: choice('one part', ['memory', 'server', 'servers']),
});
const seconds = values.seconds;
const places = { memory: onMemory, server: onServer, servers: onServers };
const rows: Row[] = [];
for (const [name, run] of Object.entries(places))
  if (values.only === undefined || values.only === name) rows.push(...(await run()));
console.table(
  rows.map(({ what, perSecond, p50Ms, p99Ms }) => ({
    what,
    'per second': Math.round(perSecond),
    'p50 ms': p50Ms?.toFixed(3) ?? '',
    'p99 ms': p99Ms?.toFixed(3) ?? '',
  })),
);

async function onMemory(): Promise<Row[]> {
  const bus = memoryHub({ clock: systemClock, cluster }).connect();
  return measure('memory', bus);
}

async function onServer(): Promise<Row[]> {
  const dir = await mkdtemp(join(tmpdir(), 'orrery-bench-'));
  const server = await startNatsServer({ dir });
  const bus = await connectNats({
    servers: [server.url],
    name: 'bench',
    cluster,
    streamReplicas: 1,
    clock: systemClock,
    random: systemRandom,
  });
  try {
    return await measure(`nats-server ${server.version}`, bus);
  } finally {
    await bus.close();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function onServers(): Promise<Row[]> {
  const dir = await mkdtemp(join(tmpdir(), 'orrery-bench-'));
  const { servers } = await startNatsCluster({ dir, size: 3 });
  const bus = await connectNats({
    servers: servers.map(({ url }) => url),
    name: 'bench',
    cluster,
    streamReplicas: 3,
    clock: systemClock,
    random: systemRandom,
  });
  try {
    return await measure('three nats-servers, R3', bus);
  } finally {
    await bus.close();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(dir, { recursive: true, force: true });
  }
}

async function measure(name: string, bus: Bus): Promise<Row[]> {
  const { sequence } = await bus.append(s.fence(0), record);
  const guard = { subject: s.fence(0), sequence };
  await pipelined(bus, guard, 0.5);
  return [
    { what: `${name}: guarded save, pipelined`, perSecond: await pipelined(bus, guard, seconds) },
    { what: `${name}: guarded save, one by one`, ...(await oneByOne(bus, guard)) },
    { what: `${name}: message to an actor, pipelined`, perSecond: await mailed(bus) },
    { what: `${name}: following ${ids.length} records`, perSecond: await followed(bus) },
    { what: `${name}: reading from the leader`, perSecond: await read(bus) },
  ];
}

async function pipelined(bus: Bus, guard: Guard, forSeconds: number): Promise<number> {
  return inFlight(forSeconds, (n) => bus.append(targets[n % targets.length] ?? '', record, { guard }));
}

async function mailed(bus: Bus): Promise<number> {
  const sends = ids.map((id) => s.send(id));
  return inFlight(seconds, (n) => bus.append(sends[n % sends.length] ?? '', record, { msgId: `m-${n}` }));
}

async function inFlight(forSeconds: number, append: (n: number) => Promise<unknown>): Promise<number> {
  const from = systemClock.monotonic();
  const until = from + forSeconds * 1000;
  let n = 0;
  const lane = async (): Promise<void> => {
    while (systemClock.monotonic() < until) await append(n++);
  };
  await Promise.all(Array.from({ length: limits.savesInFlight }, lane));
  return rate(n, from);
}

async function oneByOne(bus: Bus, guard: Guard): Promise<Omit<Row, 'what'>> {
  const times: number[] = [];
  const from = systemClock.monotonic();
  for (let n = 0, at = from; at < from + seconds * 1000; n++) {
    await bus.append(targets[n % targets.length] ?? '', record, { guard });
    const now = systemClock.monotonic();
    times.push(now - at);
    at = now;
  }
  const perSecond = rate(times.length, from);
  times.sort((a, b) => a - b);
  const quantile = (q: number) => times[Math.floor(q * times.length)] ?? 0;
  return { perSecond, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

async function followed(bus: Bus): Promise<number> {
  const from = systemClock.monotonic();
  let count = 0;
  const following = await bus.follow('state', {
    subjects: [s.stateAll],
    from: { kind: 'lastPerSubject' },
    onMessage: () => count++,
  });
  await following.caughtUp;
  await following.stop();
  return rate(count, from);
}

async function read(bus: Bus): Promise<number> {
  const from = systemClock.monotonic();
  return rate((await bus.lastOfMany('state', targets)).size, from);
}

function rate(count: number, from: number): number {
  return (count / (systemClock.monotonic() - from)) * 1000;
}
