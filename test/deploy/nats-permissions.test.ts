/** The example of NATS permissions: each user can do its work with them, and nothing else. */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { contentType, encodeJson } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { serve } from '../../src/bus/rpc.ts';
import { shardOf } from '../../src/bus/shard.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { orrery } from '../cli/command.ts';
import { until } from '../until.ts';
import { root } from './manifests.ts';

const cluster = 'default';
const subjects = subjectsOf(cluster);
let dir: string;
let server: ChildProcess;
let port: string;
let replica: Bus;

const url = (user: string, password: string) => `nats://${user}:${password}@127.0.0.1:${port}`;
const person = () => ({ cwd: dir, env: { NATS_URL: url('person', 'change-me-2') } });

function connect(user: string, password: string, more: { streamReplicas?: number } = {}): Promise<Bus> {
  const basics = { clock: systemClock, random: systemRandom, name: user, cluster };
  return connectNats({ ...basics, ...more, servers: [url(user, password)] });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'orrery-permissions-'));
  const file = join(dir, 'server.conf');
  const permissions = join(root, 'deploy/nats/permissions.conf');
  const store = JSON.stringify(join(dir, 'store'));
  // An include is read relative to the file that has it.
  await copyFile(permissions, join(dir, 'permissions.conf'));
  await writeFile(
    file,
    `listen: "127.0.0.1:-1"\njetstream { store_dir: ${store} }\ninclude permissions.conf\n`,
  );
  server = spawn((await findNatsServer()).path, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  port = await until(() => /client connections on 127\.0\.0\.1:(\d+)/.exec(said)?.[1], {
    what: 'nats-server',
  });
  replica = await connect('replica', 'change-me-1', { streamReplicas: 1 });
});

afterAll(async () => {
  await replica?.close();
  server?.kill();
  if (dir) await rm(dir, { recursive: true, force: true });
});

test('a replica makes its streams, stores under a guard, reads back, follows, and answers requests', async () => {
  const headers = { [contentType.header]: contentType.json };
  const { sequence } = await replica.append(subjects.fence(1), encodeJson({ owner: 'r1' }), { headers });
  await replica.append(subjects.state(1, 'pod/shop/web-0'), encodeJson({ rev: 1 }), {
    headers,
    guard: { subject: subjects.fence(1), sequence },
  });
  expect((await replica.last('state', subjects.fence(1)))?.sequence).toBe(sequence);
  let followed = 0;
  const following = await replica.follow('state', {
    subjects: [subjects.stateAll],
    from: { kind: 'lastPerSubject' },
    onMessage: () => {
      followed++;
    },
  });
  await following.caughtUp;
  await following.stop();
  expect(followed).toBe(1);
});

test('a person at the command line can ask and watch', async () => {
  const handler = async () => encodeJson({ replicas: [], shards: [] });
  const endpoints = [{ name: 'shards', subject: subjects.rpcShards, handler }];
  const service = serve(replica, {
    name: 'orrery',
    version: '0.1.0',
    id: 'r1',
    clock: systemClock,
    endpoints,
  });
  expect((await orrery(['shards', '-o', 'json'], person())).code).toBe(0);
  await service.stop();
  const id = 'pod/shop/web-0';
  const step = { id, rev: 1, fence: 1, replica: 'r1', at: 0, event: { type: 'pod.observed' }, cause: null };
  await replica.append(subjects.event(id), encodeJson({ ...step, from: null, to: 'deciding', effects: [] }));
  const events = await orrery(['events', id], person());
  expect([events.code, events.err]).toEqual([0, '']);
  expect(events.out).toContain('began in deciding');
});

test('a producer can send to actors and cannot write a state', async () => {
  const producer = await connect('producer', 'change-me-3');
  const send = producer.append(subjects.send('pod/shop/web-0'), encodeJson({ type: 'pod.recheck' }));
  expect((await send).sequence).toBeGreaterThan(0);
  const forged = producer.append(subjects.fence(1), encodeJson({ owner: 'me' }), { timeoutMs: 500 });
  await expect(forged).rejects.toThrow();
  await producer.close();
  expect((await replica.last('state', subjects.fence(1)))?.data).toEqual(encodeJson({ owner: 'r1' }));
});

test('a node agent reads what is said to its proxier and of its Node, and sends nothing', async () => {
  const agent = await connect('agent', 'change-me-5');
  try {
    const id = 'proxier/_/node-1' as const;
    const said = encodeJson({ type: 'proxier.updated', family: 'IPv4' });
    await replica.append(subjects.send(id), said);
    await replica.append(subjects.world('nodes', '', 'node-1'), encodeJson({ kind: 'nodes' }));
    const heard: string[] = [];
    const onMessage = ({ subject }: { subject: string }) => void heard.push(subject);
    const missed = await agent.follow('mail', {
      subjects: [subjects.mail(shardOf(id), id)],
      from: { kind: 'time', at: systemClock.now() - 60_000 },
      onMessage,
    });
    await missed.caughtUp;
    expect(heard).toHaveLength(1);
    expect((await agent.lastOfMany('world', [subjects.world('nodes', '', 'node-1')])).size).toBe(1);
    const subscriptions = [subjects.send(id), subjects.world('nodes', '', 'node-1')].map((subject) =>
      agent.subscribe(subject, onMessage),
    );
    await until(
      async () => {
        await replica.append(subjects.send(id), said);
        await replica.append(subjects.world('nodes', '', 'node-1'), encodeJson({ kind: 'nodes' }));
        return new Set(heard).size === 3;
      },
      { what: 'the agent to hear both as they are sent' },
    );
    for (const subscription of subscriptions) subscription.stop();
    await missed.stop();
    await expect(agent.append(subjects.send(id), said, { timeoutMs: 300 })).rejects.toThrow();
  } finally {
    await agent.close();
  }
});

test('a candidate can campaign and hear of changes, and cannot read or write anything else', async () => {
  const endpoints = [
    { name: 'election', subject: subjects.rpcElectionAll, handler: async () => encodeJson({}) },
  ];
  const basics = { name: 'orrery', version: '0.1.0', id: 'r1', clock: systemClock, endpoints };
  const service = serve(replica, basics);
  const candidate = await connect('candidate', 'change-me-4');
  const heard: string[] = [];
  candidate.subscribe(subjects.event('election/shop/worker'), ({ subject }) => void heard.push(subject));
  const campaign = subjects.rpcElection('shop', 'worker', 'campaign');
  const ask = () => candidate.request(campaign, encodeJson({ candidate: 'a' }), { timeoutMs: 1_000 });
  expect(new TextDecoder().decode((await ask()).data)).toBe('{}');
  await replica.append(subjects.event('election/shop/worker'), encodeJson({ id: 'election/shop/worker' }));
  await until(() => heard.length > 0, { what: 'the candidate hears of a change' });
  const forged = candidate.append(subjects.fence(1), encodeJson({ owner: 'me' }), { timeoutMs: 500 });
  await expect(forged).rejects.toThrow();
  await candidate.close();
  await service.stop();
});
