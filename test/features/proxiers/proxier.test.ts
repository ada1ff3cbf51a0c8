/** Proxiers in a cluster: brought into being by messages, told of their Nodes, asked for over HTTP at any replica. */

import { describe, expect, test } from 'vitest';
import { createControl } from '../../../src/actors/control/control-client.ts';
import { serveControl } from '../../../src/actors/control/control-server.ts';
import type { HttpReply } from '../../../src/actors/feature.ts';
import { answerForProxiers } from '../../../src/features/proxiers/http.ts';
import type { NodeDigest } from '../../../src/features/proxiers/node-digest.ts';
import { defaultTimeoutMs } from '../../../src/machines/proxier/proxier-context.ts';
import { TestCluster, type TestReplica } from '../../actors/harness.ts';

const node = 'proxier/_/node-1' as const;

const nodeDigest = (change: Partial<NodeDigest> = {}): NodeDigest => ({
  kind: 'nodes',
  uid: 'node-uid',
  resourceVersion: '1',
  createdAt: 0,
  deleting: false,
  labels: {},
  toBeDeleted: false,
  ...change,
});

class Scene extends TestCluster {
  readonly replicas: TestReplica[] = [];

  async start(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const replica = await this.replica(`r${n}`);
      this.replicas.push(replica);
      serveControl({
        ...replica,
        subjects: this.subjects,
        clock: this.clock,
        replica: replica.name,
        release: '1',
      });
    }
    await this.clock.advance(10_000);
  }

  async send(event: object, id: `proxier/_/${string}` = node): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify(event));
    await this.hub.connect('proxy').append(this.subjects.send(id), bytes);
    await this.clock.advance(50);
  }

  /** `[healthz, livez]` as the replica answers. */
  async codes(at = 0, name = 'node-1'): Promise<number[]> {
    const [health, live] = [await this.ask('healthz', at, name), await this.ask('livez', at, name)];
    return [health.status, live.status];
  }

  /** What the HTTP of a replica answers, headers that every path has left out. */
  async ask(endpoint: 'healthz' | 'livez', at = 0, name = 'node-1'): Promise<HttpReply> {
    const bus = this.replicas[at]?.bus as TestReplica['bus'];
    const { clock, subjects } = this;
    const metrics = { count() {}, observe() {} };
    const answer = answerForProxiers({ bus, subjects, clock, metrics }, defaultTimeoutMs)[
      `/proxiers/:node/${endpoint}`
    ]?.({ node: name });
    await this.clock.advance(20);
    return (await answer) as HttpReply;
  }
}

describe('a proxier', () => {
  test('is brought into being by its first message, on whatever replica', async () => {
    const scene = new Scene();
    await scene.start(3);
    expect(await scene.codes()).toEqual([404, 404]);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    for (const at of [0, 1, 2]) expect(await scene.codes(at)).toEqual([200, 200]);
    expect(scene.dead).toEqual([]);
    expect(await scene.codes(0, 'node-2')).toEqual([404, 404]);
  });

  test('is late after its timeout on every replica, and healthy again when it has caught up', async () => {
    const scene = new Scene();
    await scene.start(2);
    await scene.send({ type: 'proxier.updated', family: 'IPv6' });
    await scene.send({ type: 'proxier.queued', family: 'IPv6' });
    await scene.clock.advance(59_000);
    expect(await scene.codes()).toEqual([200, 200]);
    await scene.clock.advance(1_000);
    expect([await scene.codes(0), await scene.codes(1)]).toEqual([
      [503, 503],
      [503, 503],
    ]);
    expect(scene.states()[node]).toBe('IPv4.starting,IPv6.late,node.unknown');
    await scene.send({ type: 'proxier.updated', family: 'IPv6' });
    expect(await scene.codes(1)).toEqual([200, 200]);
  });

  test('says what kube-proxy says, byte for byte', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    const { body, contentType, headers } = await scene.ask('healthz');
    const time = String.raw`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,2}[1-9])?Z"`;
    expect(body).toMatch(
      new RegExp(
        `^{"lastUpdated":${time},"currentTime":${time},"nodeEligible":true,"healthy":true,` +
          `"status":{"IPv4":{"lastUpdated":${time},"healthy":true}}}$`,
      ),
    );
    expect(contentType).toBe('application/json');
    expect(headers).toMatchObject({ 'X-Content-Type-Options': 'nosniff' });
  });

  test('keeps its deadline when its owner dies', async () => {
    const scene = new Scene();
    await scene.start(2);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    await scene.send({ type: 'proxier.queued', family: 'IPv4' });
    await scene.clock.advance(30_000);
    const owner = scene.transitions().findLast(({ id }) => id === node)?.replica;
    const dying = scene.replicas.findIndex(({ name }) => name === owner);
    scene.replicas[dying]?.engine.kill();
    await scene.replicas[dying]?.bus.close();
    await scene.clock.advance(29_000);
    expect(await scene.codes(1 - dying)).toEqual([200, 200]);
    await scene.clock.advance(2_000);
    expect(await scene.codes(1 - dying)).toEqual([503, 503]);
  });

  test('an event that changes nothing costs no write', async () => {
    const scene = new Scene();
    await scene.start(1);
    for (let n = 0; n < 5; n++) await scene.send({ type: 'proxier.queued', family: 'IPv4' });
    expect(
      scene.transitions().filter(({ id, event }) => id === node && event.type === 'proxier.queued'),
    ).toHaveLength(1);
  });
});

test.each([
  [{ type: 'proxier.queued' }, 'MESSAGE_UNKNOWN_EVENT'],
  [{ type: 'proxier.queued', family: 'IPv5' }, 'MESSAGE_UNKNOWN_EVENT'],
  [{ type: 'proxier.observed', facts: { timeoutMs: 1, node: 'absent' } }, 'MESSAGE_UNKNOWN_EVENT'],
  [{ type: 'proxier.forgotten' }, 'MESSAGE_UNKNOWN_EVENT'],
])('%j from outside is a dead letter and brings nothing into being', async (event, code) => {
  const scene = new Scene();
  await scene.start(1);
  await scene.send(event);
  expect(scene.dead).toEqual([code]);
  expect(await scene.codes()).toEqual([404, 404]);
});

describe('times', () => {
  test('a time that comes with a plain message is not believed', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.send({ type: 'proxier.updated', family: 'IPv4', at: scene.clock.now() });
    await scene.send({ type: 'proxier.queued', family: 'IPv4', at: scene.clock.now() - 3_600_000 });
    await scene.send({ type: 'proxier.queued', family: 'IPv4', at: 'yesterday' });
    expect(await scene.codes()).toEqual([200, 200]);
    expect(scene.dead).toEqual([]);
    await scene.clock.advance(60_000);
    expect(await scene.codes()).toEqual([503, 503]);
  });

  test('the time of a sender that uses the request subject counts', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    const control = createControl({ bus: scene.hub.connect('agent'), subjects: scene.subjects });
    const sending = control.send(node, {
      type: 'proxier.queued',
      family: 'IPv4',
      at: scene.clock.now() - 60_000,
    });
    await scene.clock.advance(50);
    expect(await sending).toMatchObject({ accepted: true });
    expect(await scene.codes()).toEqual([503, 503]);
    const wrong = control.send(node, { type: 'proxier.queued', family: 'IPv4', at: 'yesterday' });
    await scene.clock.advance(50);
    expect(await wrong).toMatchObject({ accepted: false, code: 'MESSAGE_UNKNOWN_EVENT' });
  });

  test('a message that waited for an owner is dated by the stream that kept it', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    const [first] = scene.replicas;
    first?.engine.kill();
    await first?.bus.close();
    await scene.send({ type: 'proxier.queued', family: 'IPv4' });
    await scene.clock.advance(58_000);
    scene.replicas.length = 0;
    await scene.start(1);
    expect(await scene.codes()).toEqual([503, 503]);
  });
});

describe('the Node', () => {
  test('decides whether healthz is good, and never whether livez is', async () => {
    const scene = new Scene();
    await scene.start(2);
    await scene.put('nodes', '', 'node-1', nodeDigest());
    await scene.put('_synced', '', 'nodes', { kind: 'synced', gates: [], resource: 'nodes' });
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    expect(scene.states()[node]).toBe('IPv4.synced,IPv6.starting,node.eligible');
    for (const [digest, codes] of [
      [nodeDigest({ toBeDeleted: true }), [503, 200]],
      [nodeDigest(), [200, 200]],
      [nodeDigest({ deleting: true }), [503, 200]],
      [null, [503, 200]],
      [nodeDigest({ uid: 'another' }), [200, 200]],
    ] as const) {
      await scene.put('nodes', '', 'node-1', digest);
      await scene.clock.advance(50);
      expect(await scene.codes()).toEqual(codes);
    }
  });

  test('counts as eligible while it is not known', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    await scene.put('_synced', '', 'nodes', { kind: 'synced', gates: [], resource: 'nodes' });
    await scene.clock.advance(50);
    expect(await scene.codes()).toEqual([200, 200]);
  });

  test('that was deleted is forgotten an hour after its last word', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.put('nodes', '', 'node-1', nodeDigest());
    await scene.put('_synced', '', 'nodes', { kind: 'synced', gates: [], resource: 'nodes' });
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    await scene.put('nodes', '', 'node-1', null);
    await scene.clock.advance(1_800_000);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    await scene.clock.advance(1_900_000);
    expect(await scene.codes()).toEqual([503, 200]);
    await scene.clock.advance(1_800_000);
    expect(await scene.codes()).toEqual([404, 404]);
  });
});
