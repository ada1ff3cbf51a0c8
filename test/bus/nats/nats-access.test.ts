/** What happens to a running process when its NATS user may do less for a while, or has other credentials. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nkeys } from 'nats';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { createTroubles } from '../../../src/bus/troubles.ts';
import { until } from '../../until.ts';
import { bytes, codeOf } from '../bus-parts.ts';
import { startConfigured } from './configured-server.ts';
import { connectTo, recordingLog } from './nats-backend.ts';

const s = subjects('test');
const cleanups: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serverWith(config: string) {
  const server = await startConfigured(config);
  cleanups.push(server.remove);
  return server;
}

const whole = {
  publish: ['orrery.test.>', '$JS.API.>', '_INBOX.>'],
  subscribe: ['orrery.test.>', '_INBOX.>'],
};

const permitted = ({ publish, subscribe }: typeof whole) => `
jetstream { store_dir: STORE }
accounts { A: { jetstream: enabled, users: [{ user: r, password: p,
  permissions: { publish: ${JSON.stringify(publish)}, subscribe: ${JSON.stringify(subscribe)} } }] } }`;

test('a subscription that NATS refused for a while is heard again once it is permitted', {
  timeout: 30_000,
}, async () => {
  const server = await serverWith(permitted(whole));
  const log = recordingLog();
  const url = `nats://r:p@127.0.0.1:${server.port}`;
  const bus = await connectTo(url, { log });
  cleanups.push(() => bus.close());
  const heard: string[] = [];
  bus.subscribe(s.memberAll, ({ subject }) => void heard.push(subject), { queue: 'q' });
  await server.reload(permitted({ ...whole, subscribe: ['_INBOX.>'] }));
  await until(() => bus.troubles().length > 0, { what: 'the refusal' });
  expect(bus.troubles().map(({ text }) => text)).toEqual([
    expect.stringMatching(
      /^NATS refuses this user the subscription to orrery\.test\.member\.>: nothing there is heard/,
    ),
  ]);
  await expect(bus.request(s.member('b'), bytes('x'), { timeoutMs: 5_000 })).rejects.toThrow(
    /nobody answers orrery\.test\.member\.b\. NATS refuses this user the subscription to orrery\.test\.member\.>/,
  );
  await server.reload(permitted(whole));
  await until(() => bus.troubles().length === 0, { what: 'the permission' });
  bus.publish(s.member('a'), bytes('x'));
  await until(() => heard.length > 0, { what: 'the message' });
  const told = () => log.lines.filter((line) => line.includes('subscription'));
  await until(() => told().length > 1, { what: 'the end to be told' });
  expect(told()).toEqual([
    expect.stringMatching(/^NATS refuses this user the subscription/),
    'subjects whose subscription was refused are heard now',
  ]);
});

test('a request where this user may not publish fails at once, and says so', async () => {
  const server = await serverWith(permitted({ ...whole, publish: ['orrery.test.>', '$JS.API.>'] }));
  const bus = await connectTo(`nats://r:p@127.0.0.1:${server.port}`);
  cleanups.push(() => bus.close());
  const asking = bus.request('elsewhere', bytes('x'), { timeoutMs: 3_600_000 });
  await expect(asking).rejects.toThrow('NATS does not let this user publish on elsewhere');
});

test('credentials that are half written at a reconnect are not used; the next good ones are', {
  timeout: 30_000,
}, async () => {
  const [first, second] = [nkeys.createUser(), nkeys.createUser()];
  const users = [first, second].map((user) => ({ nkey: user.getPublicKey() }));
  const server = await serverWith(
    `jetstream { store_dir: STORE }\nauthorization { users: ${JSON.stringify(users)} }`,
  );
  const credsFile = join(server.dir, 'user.nk');
  await writeFile(credsFile, first.getSeed());
  const log = recordingLog();
  const bus = await connectTo(`nats://127.0.0.1:${server.port}`, { credsFile, log });
  cleanups.push(() => bus.close());
  for (const content of [second.getSeed().slice(0, 20), second.getSeed()]) {
    await writeFile(credsFile, content);
    await server.kill();
    await until(() => bus.status === 'disconnected', { what: 'the loss' });
    await server.start();
    await until(() => bus.status === 'connected', { what: 'the connection' });
  }
  expect(log.lines.filter((line) => line.includes('credentials'))).toEqual([
    'the file of NATS credentials cannot be used; logging in with what it held before',
  ]);
});

test('an outage whose cause is a changed password is told once, with what to do, until it is changed back', {
  timeout: 30_000,
}, async () => {
  const server = await serverWith(permitted(whole));
  const log = recordingLog();
  const bus = await connectTo(`nats://r:p@127.0.0.1:${server.port}`, { log });
  cleanups.push(() => bus.close());
  await server.reload(permitted(whole).replace('password: p', 'password: q'));
  const told = expect.stringMatching(
    /^NATS cannot be reached: Authorization Violation \(NATS refuses the user/,
  );
  await until(() => bus.troubles().length > 0, { what: 'the reason' });
  expect(bus.troubles()).toMatchObject([{ what: 'connection', text: told }]);
  await server.reload(permitted(whole));
  await until(() => bus.status === 'connected' && bus.troubles().length === 0, { what: 'the connection' });
  const lines = log.lines.filter((line) => line.startsWith('NATS cannot be reached'));
  expect(lines).toEqual(['NATS cannot be reached; trying until it can']);
});

test.each([
  [
    'a server without JetStream',
    '',
    /nobody answers \(is JetStream enabled on this NATS server\? .*default_js_domain/,
  ],
  [
    'an account without JetStream',
    'jetstream { store_dir: STORE }\naccounts { B: { jetstream: enabled }, A: { users: [{ user: r, password: p }] } }',
    /not enabled for account \(10039\); enable JetStream for the account/,
  ],
])('a start on %s says so, and not that NATS is away', async (_, config, said) => {
  const server = await serverWith(config);
  const troubles = createTroubles(systemClock);
  const stop = new AbortController();
  const connecting = connectTo(`nats://r:p@127.0.0.1:${server.port}`, { troubles, signal: stop.signal });
  const [trouble] = await until(() => (troubles.all().length > 0 ? troubles.all() : undefined), {
    what: 'the trouble',
  });
  stop.abort();
  expect(await codeOf(connecting)).toBe('BUS_UNREACHABLE');
  expect(trouble?.text).toMatch(/^the streams cannot be made or checked: /);
  expect(trouble?.text).toMatch(said);
});

test('a limit of subscriptions is told with what to do, and heals once it is raised', {
  timeout: 60_000,
}, async () => {
  const limited = (most: number) => `
jetstream { store_dir: STORE }
accounts { A: { jetstream: enabled, limits { max_subscriptions: ${most} }, users: [{ user: r, password: p }] } }`;
  const server = await serverWith(limited(5));
  const log = recordingLog();
  const bus = await connectTo(`nats://r:p@127.0.0.1:${server.port}`, { log });
  cleanups.push(() => bus.close());
  const heard = new Set<string>();
  const names = Array.from({ length: 8 }, (_, n) => `r${n}`);
  for (const name of names) bus.subscribe(s.member(name), () => void heard.add(name));
  await until(() => bus.troubles().length > 0, { what: 'the trouble' });
  expect(bus.troubles().map(({ text }) => text)).toEqual([
    expect.stringMatching(/^NATS lets this user have no more subscriptions.*raise max_subscriptions/),
  ]);
  await server.reload(limited(100));
  await until(() => bus.troubles().length === 0, { what: 'the end of it', timeoutMs: 30_000 });
  const isHeard = () => {
    for (const name of names) bus.publish(s.member(name), bytes('x'));
    return heard.size === names.length;
  };
  await until(isHeard, { what: 'all to be heard' });
  expect(log.lines.filter((line) => line.includes('subscriptions'))).toHaveLength(1);
});
