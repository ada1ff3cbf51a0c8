/**
 * The node agent on the memory bus: answers while NATS is away, catches up, and is not fooled by what the
 * stream forgot.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createControl } from '../../../src/actors/control/control-client.ts';
import { serveControl } from '../../../src/actors/control/control-server.ts';
import { limits } from '../../../src/base/limits.ts';
import { silentLog } from '../../../src/base/log-port.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { type Agent, startAgent } from '../../../src/features/proxiers/agent.ts';
import { nodeEndpoint } from '../../../src/features/proxiers/node-request.ts';
import { startSmallHttp } from '../../../src/features/proxiers/small-http.ts';
import { TestCluster } from '../../actors/harness.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

class Scene extends TestCluster {
  readonly bus = this.hub.connect('agent');
  agent: Agent | undefined;

  async start(replicas = 1): Promise<void> {
    for (let n = 0; n < replicas; n++) {
      const replica = await this.replica(`r${n}`);
      const node = nodeEndpoint({ engine: replica.engine, subjects: this.subjects });
      serveControl({
        ...replica,
        requests: [...replica.requests.filter(({ name }) => name !== node.name), node],
        subjects: this.subjects,
        clock: this.clock,
        replica: replica.name,
        release: '1',
      });
    }
    await this.clock.advance(2_000);
  }

  async begin(connected: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.agent = await startAgent({
      node: 'node-1',
      http: { host: '127.0.0.1', port: 0 },
      timeoutMs: 60_000,
      subjects: this.subjects,
      connect: async () => {
        await connected;
        return this.bus;
      },
      control: (bus) => createControl({ bus, subjects: this.subjects }),
      clock: this.clock,
      random: seededRandom(1),
      log: silentLog,
    });
    closing.push(() => (this.agent as Agent).stop());
    await this.clock.advance(100);
  }

  tell(event: object): Uint8Array {
    return new TextEncoder().encode(JSON.stringify(event));
  }

  /** By request: whose times are believed. */
  async ask(bytes: Uint8Array): Promise<void> {
    const asked = this.hub
      .connect('asker')
      .request(this.subjects.rpcSend('proxier/_/node-1'), bytes, { timeoutMs: 1_000 });
    asked.catch(() => {});
    await this.clock.advance(100);
    await asked;
  }

  async send(bytes: Uint8Array): Promise<void> {
    await this.hub.connect('proxy').append(this.subjects.send('proxier/_/node-1'), bytes);
    await this.clock.advance(100);
  }

  async say(type: 'proxier.queued' | 'proxier.updated', family = 'IPv4'): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify({ type, family }));
    await this.hub.connect('proxy').append(this.subjects.send('proxier/_/node-1'), bytes);
    await this.clock.advance(100);
  }

  async get(path: string, method = 'GET'): Promise<{ status: number; text: string }> {
    return request((this.agent as Agent).address.port, method, path);
  }
}

async function request(
  port: number,
  method: string,
  path: string,
): Promise<{ status: number; text: string }> {
  return sent(port, `${method} ${path} HTTP/1.1\r\nHost: node\r\n\r\n`);
}

async function sent(port: number, bytes: string): Promise<{ status: number; text: string }> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

test('it answers before NATS was ever reached', async () => {
  const scene = new Scene();
  await scene.begin(new Promise(() => {}));
  expect((await scene.get('/healthz')).status).toBe(200);
  expect((await scene.get('/livez', 'HEAD')).text).toMatch(/\r\n\r\n$/);
  expect((await scene.get('/livez', 'POST')).status).toBe(405);
  expect((await scene.get('/other')).status).toBe(404);
  expect((await scene.get('/metrics')).text).toContain(
    'orrery_health_answers_total{subject="proxier",endpoint="healthz",code="200"} 1',
  );
});

test('it follows the messages of its node and of no other', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  await scene.say('proxier.updated');
  await scene.say('proxier.queued');
  await scene.clock.advance(60_000);
  expect((await scene.get('/livez')).status).toBe(503);
  await scene.say('proxier.updated');
  const { status, text } = await scene.get('/livez');
  expect([status, JSON.parse(text.split('\r\n\r\n')[1] ?? '').status.IPv4.healthy]).toEqual([200, true]);
});

test('it answers from its own chart while NATS is away; what waits then is not late for that reason alone (docs/features/proxiers.md §2.5)', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  await scene.say('proxier.updated');
  await scene.say('proxier.queued');
  scene.bus.faults.setLink('down');
  await scene.clock.advance(600_000);
  expect((await scene.get('/healthz')).status).toBe(200);
  await scene.say('proxier.updated');
  scene.bus.faults.setLink('up');
  await scene.clock.advance(3_000);
  expect((await scene.get('/healthz')).status).toBe(200);
  await scene.clock.advance(600_000);
  expect((await scene.get('/healthz')).status).toBe(200);
});

test('what still waits when NATS is back has its whole time anew, and is late then', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  await scene.say('proxier.updated');
  await scene.say('proxier.queued');
  scene.bus.faults.setLink('down');
  await scene.clock.advance(600_000);
  scene.bus.faults.setLink('up');
  await scene.clock.advance(59_000);
  expect((await scene.get('/livez')).status).toBe(200);
  await scene.clock.advance(9_000);
  expect((await scene.get('/livez')).status).toBe(503);
});

test('what was late before NATS went away stays late', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  await scene.say('proxier.updated');
  await scene.say('proxier.queued');
  await scene.clock.advance(60_000);
  scene.bus.faults.setLink('down');
  await scene.clock.advance(1_000);
  expect((await scene.get('/livez')).status).toBe(503);
  scene.bus.faults.setLink('up');
  await scene.clock.advance(5_000);
  expect((await scene.get('/livez')).status).toBe(503);
});

test('it hears reports by the stream and by request', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  const now = scene.clock.now();
  const report = (queuedAt: number | null, seq: number) =>
    scene.tell({ type: 'proxier.reported', family: 'IPv4', queuedAt, updatedAt: now - 100_000, seq });
  await scene.ask(report(now - 70_000, 1));
  expect((await scene.get('/livez')).status).toBe(503);
  await scene.send(report(null, 2));
  expect((await scene.get('/livez')).status).toBe(200);
});

test('what the stream has forgotten is made up from the record', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  await scene.say('proxier.updated');
  await scene.say('proxier.queued');
  scene.bus.faults.setLink('down');
  await scene.say('proxier.updated');
  await scene.clock.advance(70_000);
  await scene.hub.connect('owner').purge('mail', { subject: scene.subjects.mailAll });
  scene.bus.faults.setLink('up');
  await scene.clock.advance(8_000);
  expect((await scene.get('/healthz')).status).toBe(200);
});

test('one that starts late knows that a change has been waiting for long', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.say('proxier.updated');
  await scene.say('proxier.queued');
  await scene.clock.advance(300_000);
  await scene.begin();
  expect((await scene.get('/livez')).status).toBe(503);
});

test('its Node decides over healthz', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  const digest = { kind: 'nodes', uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: true });
  await scene.clock.advance(100);
  expect([(await scene.get('/healthz')).status, (await scene.get('/livez')).status]).toEqual([503, 200]);
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: false });
  await scene.clock.advance(100);
  expect((await scene.get('/healthz')).status).toBe(200);
  await scene.put('_synced', '', 'nodes', { kind: 'synced', gates: [], resource: 'nodes' });
  await scene.put('nodes', '', 'node-1', null);
  await scene.clock.advance(100);
  expect((await scene.get('/healthz')).status).toBe(503);
});

test('a message that was lost on the way, though the connection never broke, is made up for within two minutes', async () => {
  const scene = new Scene();
  await scene.start();
  await scene.begin();
  await scene.say('proxier.updated');
  const digest = { kind: 'nodes', uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: false });
  await scene.clock.advance(10_000);
  scene.bus.faults.onReceive = () => 'lose';
  await scene.say('proxier.queued');
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: true });
  await scene.clock.advance(1_000);
  scene.bus.faults.onReceive = undefined;
  expect([(await scene.get('/healthz')).status, (await scene.get('/livez')).status]).toEqual([200, 200]);
  await scene.clock.advance(120_000);
  expect([(await scene.get('/healthz')).status, (await scene.get('/livez')).status]).toEqual([503, 503]);
  scene.bus.faults.onReceive = () => 'lose';
  await scene.say('proxier.updated');
  scene.bus.faults.onReceive = undefined;
  await scene.clock.advance(120_000);
  expect((await scene.get('/livez')).status).toBe(200);
});

const listed = { kind: 'synced', gates: [], resource: 'nodes' };

test('a Node is gone when a list that counts lacks it, and not for a statement that counts for nothing', async () => {
  const scene = new Scene();
  await scene.start();
  const digest = { kind: 'nodes', uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: false });
  await scene.put('_synced', '', 'nodes', listed);
  await scene.begin();
  await scene.clock.advance(6_000);
  // Cut off, it hears nothing of the end of its Node, nor of that of the mirror.
  scene.bus.faults.setLink('down');
  await scene.put('nodes', '', 'node-1', null);
  scene.mirror.die();
  await scene.clock.advance(5_000);
  scene.bus.faults.setLink('up');
  await scene.clock.advance(10_000);
  expect((await scene.get('/healthz')).status).toBe(200);
  // Somebody whom no fence makes the mirror.
  const stated = scene.subjects.world('_synced', '', 'nodes');
  await scene.hub.connect('somebody').append(stated, scene.tell(listed));
  await scene.clock.advance(12_000);
  expect((await scene.get('/healthz')).status).toBe(200);
  await scene.put('_synced', '', 'nodes', listed);
  await scene.clock.advance(limits.agentRetryMs + 1_000);
  expect((await scene.get('/healthz')).status).toBe(503);
});

test('an answer about the Node that is older than what was heard meanwhile says nothing', async () => {
  const scene = new Scene();
  await scene.start();
  const digest = { kind: 'nodes', uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: false });
  await scene.begin();
  await scene.clock.advance(10_000);
  const isAnswer = (subject: string) => subject.startsWith('_INBOX.');
  scene.bus.faults.onReceive = (subject) => (isAnswer(subject) ? { delayMs: 500 } : 'deliver');
  scene.bus.faults.setLink('down');
  await scene.clock.advance(100);
  scene.bus.faults.setLink('up');
  await scene.clock.advance(100);
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: true });
  await scene.clock.advance(100);
  expect((await scene.get('/healthz')).status).toBe(503);
  await scene.clock.advance(1_000);
  expect((await scene.get('/healthz')).status).toBe(503);
});

test('while no replica answers, a statement in the stream says nothing of the Node, and its digest does', async () => {
  const scene = new Scene();
  await scene.put('_synced', '', 'nodes', listed);
  await scene.begin();
  await scene.clock.advance(10_000);
  expect((await scene.get('/healthz')).status).toBe(200);
  const digest = { kind: 'nodes', uid: 'u', resourceVersion: '1', createdAt: 0, deleting: true, labels: {} };
  await scene.put('nodes', '', 'node-1', { ...digest, toBeDeleted: false });
  scene.bus.faults.setLink('down');
  await scene.clock.advance(1_000);
  scene.bus.faults.setLink('up');
  await scene.clock.advance(10_000);
  expect((await scene.get('/healthz')).status).toBe(503);
});

test.each([
  ['nonsense', 'hello\r\n\r\n'],
  ['another version', 'GET /livez HTTP/2.0\r\n\r\n'],
  ['a header that is none', 'GET /livez HTTP/1.1\r\nno header\r\n\r\n'],
  ['a head without an end', `GET /livez HTTP/1.1\r\n${'X: y\r\n'.repeat(2_000)}`],
])('%s is a bad request, and the next caller is answered', async (_, bytes) => {
  const scene = new Scene();
  await scene.begin(new Promise(() => {}));
  const { port } = (scene.agent as Agent).address;
  expect((await sent(port, bytes)).status).toBe(400);
  expect((await scene.get('/livez')).status).toBe(200);
});

test('a caller that never finishes its request is cut off', async () => {
  const clock = new VirtualClock();
  const answer = () => ({ status: 200, headers: {}, body: '' });
  const server = await startSmallHttp({ listen: { host: '127.0.0.1', port: 0 }, clock, answer });
  closing.push(() => server.close());
  const socket = connect(server.address.port, '127.0.0.1');
  const answered = sent(server.address.port, 'GET / HTTP/1.1\r\n\r\n');
  await once(socket, 'connect');
  socket.write('GET /livez HTTP/1.1\r\n');
  // Connections are accepted in order: once the later one is answered, the server has seen the first.
  expect((await answered).status).toBe(200);
  const closed = once(socket, 'close');
  await clock.advance(11_000);
  await closed;
});
