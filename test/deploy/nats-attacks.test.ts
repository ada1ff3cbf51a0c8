/** What stolen credentials do by headers, by listening in a replica's place, and in the streams of others. */
import { headers as rawHeaders } from 'nats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../../src/bus/bus.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import {
  answerOn,
  cluster,
  hearEverything,
  type PermittedServer,
  type Role,
  startPermitted,
} from './permitted-server.ts';

const subjects = subjectsOf(cluster);
const streams = ['STATE', 'WORLD', 'MAIL', 'EVENT', 'DEAD'] as const;
const id = 'pod/shop/web-0';
let server: PermittedServer;
let replica: Bus;

async function api(verb: string, body: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const asked = await replica.request(`$JS.API.${verb}`, encodeJson(body), { timeoutMs: 2_000 });
  return JSON.parse(new TextDecoder().decode(asked.data)) as Record<string, unknown>;
}

/** What the streams hold, how they are made, and who reads them. */
const everything = async () => ({
  names: (await api('STREAM.NAMES')).streams,
  streams: await Promise.all(
    streams.map(async (stream) => {
      const { config, state } = await api(`STREAM.INFO.ORRERY_default_${stream}`, { subjects_filter: '>' });
      return { config, state };
    }),
  ),
});

beforeAll(async () => {
  server = await startPermitted();
  replica = await server.connect('replica', { streamReplicas: 1 });
  await replica.append(subjects.state(1, id), encodeJson({ rev: 1 }));
  await replica.append(subjects.world('pods', 'shop', 'web-0'), encodeJson({ uid: '1' }));
  await replica.append(subjects.event(id), encodeJson({ id }));
  await replica.append(subjects.dead, encodeJson({ type: 'pod.recheck' }));
  await replica.append(subjects.tell(1, id), encodeJson({ type: 'pod.recheck' }));
});

afterAll(async () => {
  await replica?.close();
  await server?.stop();
});

const outsiders: readonly Exclude<Role, 'replica'>[] = [
  'person',
  'producer',
  'candidate',
  'worker-a',
  'agent',
];

test.each(outsiders)('a stolen %s removes, changes, reads and makes no stream', async (role) => {
  const before = await everything();
  const thief = await server.steal(role);
  const answers: string[] = [];
  const inbox = `_INBOX_${role.replace('-', '_')}.stolen`;
  thief.subscribe(inbox, { callback: (_, { data }) => void answers.push(new TextDecoder().decode(data)) });
  const own = { name: 'THEFT', subjects: ['orrery.default.>'], storage: 'memory' };
  const verbs: readonly (readonly [string, unknown])[] = streams.flatMap((stream) => {
    const name = `ORRERY_default_${stream}`;
    const consumer = { stream_name: name, config: { deliver_subject: inbox, deliver_policy: 'all' } };
    return [
      [`STREAM.PURGE.${name}`, {}],
      [`STREAM.DELETE.${name}`, {}],
      [`STREAM.UPDATE.${name}`, { ...own, name }],
      [`STREAM.MSG.DELETE.${name}`, { seq: 1 }],
      [`STREAM.MSG.GET.${name}`, { seq: 1 }],
      [`STREAM.SNAPSHOT.${name}`, { deliver_subject: inbox }],
      [`DIRECT.GET.${name}`, { seq: 1 }],
      [`DIRECT.GET.${name}.${subjects.state(1, id)}`, ''],
      [`CONSUMER.CREATE.${name}`, consumer],
      [`CONSUMER.CREATE.${name}.theft`, consumer],
    ] as const;
  });
  const more = [
    ['STREAM.CREATE.THEFT', own],
    ['STREAM.CREATE.MIRROR', { name: 'MIRROR', mirror: { name: 'ORRERY_default_STATE' } }],
    ['STREAM.RESTORE.ORRERY_default_STATE', {}],
    ['ACCOUNT.PURGE.ORRERY', {}],
    ['SERVER.REMOVE', {}],
    ['META.LEADER.STEPDOWN', {}],
  ] as const;
  for (const [verb, body] of [...verbs, ...more])
    thief.publish(`$JS.API.${verb}`, JSON.stringify(body), { reply: inbox });
  for (const subject of ['$SYS.REQ.SERVER.PING', '$SYS.REQ.ACCOUNT.ORRERY.CONNZ', '$SYS.REQ.USER.INFO'])
    thief.publish(subject, '', { reply: inbox });
  await thief.flush();
  expect(await everything()).toEqual(before);
  expect(answers.filter((answer) => answer.includes('ORRERY_default'))).toEqual([]);
});

const hostile: Readonly<Record<string, string>> = {
  'Nats-Rollup': 'all',
  'Nats-TTL': '1s',
  'Nats-Batch-Id': 'theft',
  'Nats-Batch-Sequence': '1',
  'Nats-Schedule': '@every 1s',
  'Nats-Schedule-Target': subjects.tell(1, id),
  'Nats-Trace-Dest': subjects.fence(1),
  'Nats-Trace-Only': 'true',
  'Nats-Incr': '5',
};

test.each(outsiders)('headers from a stolen %s make the server do nothing for it', async (role) => {
  const { told, stop } = hearEverything(replica);
  await api('INFO');
  const stored = async () =>
    (await everything()).streams.map(({ state }) => (state as { messages: number }).messages);
  const before = await stored();
  const thief = await server.steal(role);
  const asks: Readonly<Record<typeof role, string>> = {
    person: subjects.rpcList,
    producer: subjects.send(id),
    candidate: subjects.rpcElection('shop', 'worker', 'get'),
    'worker-a': subjects.rpcElection('shop', 'worker', 'get'),
    agent: subjects.rpcNode('node-1'),
  };
  for (const [name, value] of Object.entries(hostile)) {
    const headers = rawHeaders();
    headers.set(name, value);
    thief.publish(asks[role], '{}', { headers });
  }
  thief.publish(asks[role], '{}');
  await thief.flush();
  await until(() => told.includes(asks[role]), { what: 'the last message to arrive' });
  const after = await stored();
  stop();
  expect(told.filter((subject) => subject !== asks[role])).toEqual([]);
  expect(after.every((count, n) => count >= (before[n] ?? 0))).toBe(true);
  expect(after.filter((_, n) => streams[n] !== 'MAIL')).toEqual(
    before.filter((_, n) => streams[n] !== 'MAIL'),
  );
});

test.each(outsiders)('a stolen %s takes no request in a replica’s place', async (role) => {
  const endpoints = [
    {
      name: 'list',
      subject: subjects.rpcList,
      queue: 'orrery',
      handler: async () => encodeJson({ by: 'replica' }),
    },
    { name: 'send', subject: subjects.rpcSendAll, handler: async () => encodeJson({ by: 'replica' }) },
    { name: 'node', subject: subjects.rpcNodeAll, handler: async () => encodeJson({ by: 'replica' }) },
    {
      name: 'election',
      subject: subjects.rpcElectionAll,
      handler: async () => encodeJson({ by: 'replica' }),
    },
  ];
  const service = answerOn(replica, endpoints);
  const thief = await server.steal(role);
  const targets = [
    'orrery.default.rpc.>',
    subjects.rpcList,
    subjects.rpcSendAll,
    subjects.rpcSend('proxier/_/node-1'),
    subjects.rpcNodeAll,
    subjects.rpcElectionAll,
    '$SRV.>',
  ];
  for (const subject of targets)
    for (const queue of ['', 'orrery'])
      thief.subscribe(subject, {
        ...(queue === '' ? {} : { queue }),
        callback: (error, message) => void (error ?? message.respond('{"by":"thief"}')),
      });
  await thief.flush();
  const asked: readonly (readonly [Role, string])[] = [
    ['person', subjects.rpcList],
    ['person', subjects.rpcSend('proxier/_/node-1')],
    ['agent', subjects.rpcNode('node-1')],
    ['candidate', subjects.rpcElection('shop', 'worker', 'get')],
  ];
  for (const [asker, subject] of asked) {
    const bus = await server.connect(asker);
    for (let n = 0; n < 5; n++) {
      const { data } = await bus.request(subject, encodeJson({}), { timeoutMs: 2_000 });
      expect([subject, new TextDecoder().decode(data)]).toEqual([subject, '{"by":"replica"}']);
    }
    await bus.close();
  }
  await service.stop();
});

test('a candidate of one election asks for no other, and in nobody else’s name', async () => {
  const heard: string[] = [];
  const hearing = replica.subscribe(
    'orrery.default.rpc.election.>',
    ({ subject }) => void heard.push(subject),
  );
  await api('INFO');
  const thief = await server.steal('worker-a');
  const own = subjects.rpcCandidate('shop', 'worker', 'worker-a', 'renew');
  for (const subject of [
    subjects.rpcElection('shop', 'worker', 'campaign'),
    subjects.rpcElection('shop', 'other', 'get'),
    subjects.rpcCandidate('shop', 'worker', 'worker-b', 'resign'),
    subjects.rpcCandidate('bank', 'worker', 'worker-a', 'campaign'),
    'orrery.other.rpc.election.shop.worker.get',
    own,
  ])
    thief.publish(subject, '{}');
  await thief.flush();
  await until(() => heard.includes(own), { what: 'what it may ask' });
  expect(heard).toEqual([own]);
  hearing.stop();
});
