/** The example of NATS permissions: each user can do its work with them, and nothing else. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createControl } from '../../src/actors/control/control-client.ts';
import { deadLetterEndpoints } from '../../src/actors/control/dead-letter-desk.ts';
import { pageEndpoints } from '../../src/actors/control/stored-pages.ts';
import { startDirectory } from '../../src/actors/members/directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import type { PlainEvent } from '../../src/base/plain-event.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Bus, BusMessage } from '../../src/bus/bus.ts';
import { contentType, encodeJson } from '../../src/bus/codec.ts';
import { senderIn } from '../../src/bus/sender.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { orrery } from '../cli/command.ts';
import { until } from '../until.ts';
import { root } from './manifests.ts';
import {
  answerOn,
  cluster,
  hearEverything,
  type PermittedServer,
  type Role,
  startPermitted,
} from './permitted-server.ts';

const subjects = subjectsOf(cluster);
let server: PermittedServer;
let replica: Bus;

const person = () => ({
  cwd: server.dir,
  env: { NATS_URL: server.url('person'), ORRERY_NATS_INBOX: '_INBOX_person' },
});

/** As Orrery's own programs connect. */
const connect = (role: Role) => server.connect(role);

const stored = async (stream: 'STATE' | 'WORLD' | 'MAIL' | 'EVENT') => {
  const asked = await replica.request(`$JS.API.STREAM.INFO.ORRERY_default_${stream}`, new Uint8Array(), {
    timeoutMs: 2_000,
  });
  return (JSON.parse(new TextDecoder().decode(asked.data)) as { state: { last_seq: number } }).state.last_seq;
};

beforeAll(async () => {
  server = await startPermitted();
  replica = await server.connect('replica', { streamReplicas: 1 });
});

afterAll(async () => {
  await replica?.close();
  await server?.stop();
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
  const admission = { admit: (_kind: string, event: PlainEvent) => event };
  const parts = {
    ...{ bus: replica, subjects, clock: systemClock, random: systemRandom, log: silentLog, admission },
  };
  const endpoints = [
    { name: 'shards', subject: subjects.rpcShards, handler },
    ...pageEndpoints(parts),
    ...deadLetterEndpoints(parts),
  ];
  const service = answerOn(replica, endpoints);
  expect((await orrery(['shards', '-o', 'json'], person())).code).toBe(0);
  const id = 'pod/shop/web-0';
  const step = { id, rev: 1, fence: 1, replica: 'r1', at: 0, event: { type: 'pod.observed' }, cause: null };
  await replica.append(subjects.event(id), encodeJson({ ...step, from: null, to: 'deciding', effects: [] }));
  const events = await orrery(['events', id], person());
  expect([events.code, events.err]).toEqual([0, '']);
  expect(events.out).toContain('began in deciding');
  const asking = await connect('person');
  const ping = await asking.request('$SRV.PING.orrery', new Uint8Array(), { timeoutMs: 2_000 });
  expect(new TextDecoder().decode(ping.data)).toContain('io.nats.micro.v1.ping_response');
  const { sequence } = await replica.append(subjects.dead, encodeJson({ type: 'pod.recheck' }));
  const control = createControl({ bus: asking, subjects });
  expect((await control.dead({})).letters).toMatchObject([{ sequence, event: 'pod.recheck' }]);
  expect(await control.resend(sequence)).toMatchObject({ accepted: false, code: 'MESSAGE_UNKNOWN_KIND' });
  expect(await control.drop(sequence)).toEqual({ dropped: true });
  const producer = await connect('producer');
  const thief = createControl({ bus: producer, subjects, timeoutMs: 300 });
  await expect(thief.drop(sequence)).rejects.toThrow('does not let this user publish');
  await producer.close();
  await asking.close();
  await service.stop();
});

test('a person who may not forget, or whose answers would go elsewhere, is told so', async () => {
  const forgetting = await orrery(['forget', 'widget', '--yes'], person());
  expect(forgetting.err).toContain('NATS does not let this user publish on orrery.default.rpc.forget');
  const elsewhere = await orrery(['shards'], { cwd: server.dir, env: { NATS_URL: person().env.NATS_URL } });
  expect(elsewhere.err).toMatch(/NATS refuses this user the subscription to _INBOX\..*--nats-inbox/);
});

test('a person asks loaded features; another user does once it is granted as the documentation says', async () => {
  const page = await readFile(join(root, 'docs/reference/own-features.md'), 'utf8');
  const permissions = /^pricing: \{[\s\S]*?^\}$/m.exec(page)?.[0] ?? '';
  const user = /`(\{ user: pricing, .*\})`/.exec(page)?.[1] ?? '';
  const own = await startPermitted((shipped) =>
    shipped
      .replace('accounts: {', () => `${permissions}\naccounts: {`)
      .replace('{ user: producer,', (producer) => `${user}\n${producer}`),
  );
  const answering = await own.connect('replica', { streamReplicas: 1 });
  const price = subjects.rpcFeature('parcels', 'price');
  const handler = async () => encodeJson({ price: 5 });
  const endpoints = [{ name: 'parcels-price', subject: price, queue: 'orrery', handler }];
  const service = answerOn(answering, endpoints);
  try {
    for (const role of ['person', 'pricing', 'producer'] as const) {
      const asking = await own.connect(role);
      const answer = asking.request(price, encodeJson({}), { timeoutMs: 1_000 });
      if (role === 'producer') await expect(answer).rejects.toThrow('does not let this user publish');
      else expect(new TextDecoder().decode((await answer).data)).toBe('{"price":5}');
      const other = asking.request(subjects.rpcFeature('parcels', 'other'), encodeJson({}), {
        timeoutMs: 300,
      });
      await expect(other).rejects.toThrow(role === 'person' ? 'no' : 'does not let this user publish');
      await asking.close();
    }
  } finally {
    await service.stop();
    await answering.close();
    await own.stop();
  }
});

test('replicas whose user may not ask who is gone, as before an upgrade, hear one another and say what is missing', async () => {
  const deny = '{ deny: "orrery.default.alive.>",';
  const narrowed = await startPermitted((shipped) =>
    shipped.replace(/(orrery_replica: \{\s*publish: )\{([^}]*\}\s*subscribe: )\{/, `$1${deny}$2${deny}`),
  );
  const buses = [await narrowed.connect('replica'), await narrowed.connect('replica')];
  const beat = { release: '1', leaving: false, serving: true, tells: true, actors: 0, stepsPerSecond: 0 };
  const started = buses.map((bus, n) =>
    startDirectory({
      ...{ bus, subjects, clock: systemClock, replica: `r${n}`, incarnation: `i${n}` },
      describe: () => ({ ...beat, shards: [], editions: [] }),
      onChange: () => {},
    }),
  );
  try {
    await until(() => started.every((one) => one.live()?.size === 2), { what: 'both' });
    await until(() => buses.every((bus) => bus.troubles().length === 2), { what: 'what is missing' });
    expect(buses[0]?.troubles()).toMatchObject([
      {
        isMinor: true,
        text: expect.stringMatching(/subscription to orrery.default.alive.>: .* 0.4 s later/),
      },
      { isMinor: true, text: expect.stringMatching(/publish on orrery.default.alive.>: .* 0.4 s later/) },
    ]);
    expect(started[0]?.all().filter(({ answers }) => answers)).toEqual([]);
  } finally {
    for (const one of started) one.stop();
    await Promise.all(buses.map((bus) => bus.close()));
    await narrowed.stop();
  }
});

test('a producer can send to actors and cannot write a state', async () => {
  const producer = await connect('producer');
  const send = producer.append(subjects.send('pod/shop/web-0'), encodeJson({ type: 'pod.recheck' }));
  expect((await send).sequence).toBeGreaterThan(0);
  const forged = producer.append(subjects.fence(1), encodeJson({ owner: 'me' }), { timeoutMs: 500 });
  await expect(forged).rejects.toThrow();
  await producer.close();
  expect((await replica.last('state', subjects.fence(1)))?.data).toEqual(encodeJson({ owner: 'r1' }));
});

test('a node agent hears what is said to its proxier and of its Node, asks for its record, and sends nothing', async () => {
  const agent = await connect('agent');
  const producer = await connect('producer');
  const handler = async () => encodeJson({ node: null, isListed: true });
  const endpoints = [
    { name: 'node', subject: subjects.rpcNodeAll, handler },
    { name: 'get', subject: subjects.rpcGetAll, handler },
  ];
  const service = answerOn(replica, endpoints);
  try {
    const id = 'proxier/_/node-1' as const;
    const said = encodeJson({ type: 'proxier.updated', family: 'IPv4' });
    const heard: string[] = [];
    const subscriptions = [subjects.send(id), subjects.world('nodes', '', 'node-1')].map((subject) =>
      agent.subscribe(subject, ({ subject: on }) => void heard.push(on)),
    );
    await until(
      async () => {
        await producer.append(subjects.send(id), said);
        await replica.append(subjects.world('nodes', '', 'node-1'), encodeJson({ kind: 'nodes' }));
        return new Set(heard).size === 2;
      },
      { what: 'the agent to hear both as they are sent' },
    );
    for (const subscription of subscriptions) subscription.stop();
    for (const subject of [subjects.rpcNode('node-1'), subjects.rpcGet(id)]) {
      const answer = await agent.request(subject, new Uint8Array(), { timeoutMs: 2_000 });
      expect(JSON.parse(new TextDecoder().decode(answer.data))).toEqual({ node: null, isListed: true });
    }
    await expect(agent.append(subjects.send(id), said, { timeoutMs: 300 })).rejects.toThrow();
    const others = agent.request(subjects.rpcGet('pod/shop/web-0'), new Uint8Array(), { timeoutMs: 300 });
    await expect(others).rejects.toThrow();
  } finally {
    await service.stop();
    await agent.close();
    await producer.close();
  }
});

test('a candidate can campaign and hear of changes, and cannot read or write anything else', async () => {
  const endpoints = [
    { name: 'election', subject: subjects.rpcElectionAll, handler: async () => encodeJson({}) },
  ];
  const service = answerOn(replica, endpoints);
  const candidate = await connect('candidate');
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

test('the server says who asks, whatever the asker writes there; a replica says for whom it asks', async () => {
  const heard: (string | null)[] = [];
  const endpoints = [
    {
      name: 'send',
      subject: subjects.rpcSendAll,
      handler: async ({ headers }: BusMessage) => {
        heard.push(senderIn(headers));
        return encodeJson({ accepted: true, transition: null });
      },
    },
  ];
  const service = answerOn(replica, endpoints);
  const person = await connect('person');
  try {
    const id = 'pod/shop/web-0';
    const forged = { 'Nats-Request-Info': '{"acc":"ORRERY","user":"replica"}', 'Orrery-By': 'http:root' };
    const body = encodeJson({ type: 'pod.recheck' });
    const asked = { timeoutMs: 2_000, headers: { ...forged, [contentType.header]: contentType.json } };
    await person.request(subjects.rpcSend(id), body, asked);
    await createControl({ bus: replica, subjects }).send(
      id,
      { type: 'pod.recheck' },
      'http:alice@example.com',
    );
    expect(heard).toEqual(['nats:ORRERY_PEOPLE/person', 'http:alice@example.com']);
  } finally {
    await person.close();
    await service.stop();
  }
});

type Outsider = Exclude<Role, 'replica' | 'worker-a'>;
const everyRole: readonly Outsider[] = ['person', 'producer', 'candidate', 'agent'];

/** What each role may publish: where a thief begins. */
const asks: Readonly<Record<Outsider, readonly string[]>> = {
  person: [subjects.rpcList, subjects.rpcGet('pod/shop/web-0'), '$SRV.PING', '$SRV.STATS.orrery'],
  producer: [subjects.send('pod/shop/web-0')],
  candidate: [subjects.rpcElection('shop', 'worker', 'get')],
  agent: [subjects.rpcGet('proxier/_/node-1'), subjects.rpcNode('node-1')],
};

test.each(everyRole)(
  'a stolen %s writes no state, world, fence, event or mail of actors by reflection',
  async (role) => {
    const endpoints = [
      subjects.rpcList,
      subjects.rpcGetAll,
      subjects.rpcElectionAll,
      subjects.rpcNodeAll,
    ].map((subject, n) => ({
      name: `e${n}`,
      subject,
      handler: async () => encodeJson({ replica: 'thief', incarnation: 'x', at: 1 }),
    }));
    const service = answerOn(replica, endpoints);
    const thief = await server.steal(role);
    const streams = ['STATE', 'WORLD', 'EVENT'] as const;
    const before = await Promise.all(streams.map(stored));
    const { told, stop: stopHearing } = hearEverything(replica);
    await replica.request('$JS.API.INFO', new Uint8Array(), { timeoutMs: 2_000 });
    const targets = [
      subjects.fence(3),
      subjects.worldFence('pods'),
      subjects.world('pods', 'shop', 'web-0'),
      subjects.state(3, 'pod/shop/web-0'),
      subjects.checkpoint(3),
      subjects.event('pod/shop/web-0'),
      subjects.tell(3, 'pod/shop/web-0'),
      subjects.member('ghost'),
      subjects.peer('list'),
      '$JS.API.STREAM.DELETE.ORRERY_default_STATE',
    ];
    for (const ask of asks[role]) for (const reply of targets) thief.publish(ask, '{}', { reply });
    // And without a detour.
    for (const target of [...targets, '$JS.API.STREAM.PURGE.ORRERY_default_STATE'])
      thief.publish(target, '{}');
    await thief.flush();
    // What the thief may ask is answered to the thief itself by then, so the rest was handled before it.
    await replica.request('$JS.API.INFO', new Uint8Array(), { timeoutMs: 2_000 });
    await until(
      () => role !== 'producer' || told.some((subject) => subject.startsWith('orrery.default.send.')),
      {
        what: 'what the thief sent to arrive',
      },
    );
    expect(await Promise.all(streams.map(stored))).toEqual(before);
    const allowed = asks[role];
    expect(told.filter((subject) => !allowed.includes(subject))).toEqual([]);
    stopHearing();
    await service.stop();
  },
);

test.each(everyRole)(
  'a stolen %s hears nobody else’s answers, no records and no heartbeats',
  async (role) => {
    const thief = await server.steal(role);
    const refused: string[] = [];
    const spied: string[] = [];
    const spies = [
      '>',
      '_INBOX.>',
      '_INBOX_replica.>',
      'orrery.default.state.>',
      'orrery.default.member.*',
      '$JS.>',
      '_R_.>',
    ];
    for (const subject of spies) {
      thief.subscribe(subject, {
        callback: (error, message) => void (error ? refused.push(subject) : spied.push(message.subject)),
      });
    }
    await thief.flush();
    await replica.append(subjects.state(2, 'pod/shop/web-0'), encodeJson({ rev: 1 }));
    replica.publish(subjects.member('r1'), encodeJson({}));
    await until(() => refused.length === spies.length, { what: 'every spying subscription to be refused' });
    expect(spied).toEqual([]);
  },
);

test.each(everyRole)('a stolen %s uses no JetStream of anybody', async (role) => {
  const thief = await connect(role);
  const asked = [
    'STREAM.NAMES',
    'STREAM.INFO.ORRERY_default_STATE',
    'CONSUMER.CREATE.ORRERY_default_MAIL.x',
    'STREAM.MSG.GET.ORRERY_default_STATE',
  ];
  for (const verb of asked)
    await expect(thief.request(`$JS.API.${verb}`, new Uint8Array(), { timeoutMs: 300 })).rejects.toThrow();
  await thief.close();
});

test('what is sent as the documentation has it arrives, from whoever may send', async () => {
  const before = await stored('MAIL');
  const producer = await server.steal('producer');
  producer.publish(subjects.send('pod/shop/web-0'), '{"type":"pod.recheck"}');
  await producer.flush();
  await until(async () => (await stored('MAIL')) === before + 1, { what: 'the message to be stored' });
});
