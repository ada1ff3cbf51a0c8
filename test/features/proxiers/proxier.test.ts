/**
 * Proxiers in a cluster: brought into being by messages, told of their Nodes, asked for over HTTP at any
 * replica.
 */

import { describe, expect, test } from 'vitest';
import { createControl } from '../../../src/actors/control/control-client.ts';
import { serveControl } from '../../../src/actors/control/control-server.ts';
import type { HttpReply } from '../../../src/actors/feature.ts';
import type { NodeDigest } from '../../../src/features/proxiers/node-digest.ts';
import { answerForProxiers } from '../../../src/features/proxiers/node-health-http.ts';
import { proxierChart } from '../../../src/machines/proxier/proxier.ts';
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

  async send(event: object, id: `proxier/${string}/${string}` = node): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify(event));
    await this.hub.connect('proxy').append(this.subjects.send(id), bytes);
    await this.clock.advance(50);
  }

  /** By request: whose times are believed. */
  async request(event: object, id: `proxier/${string}/${string}` = node): Promise<unknown> {
    const asked = createControl({ bus: this.hub.connect('asker'), subjects: this.subjects }).send(
      id,
      event as never,
    );
    asked.catch(() => {});
    await this.clock.advance(50);
    return asked;
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

  test.each(['Node_1', '-node', 'a..b', 'n'.repeat(254), 'ä'])(
    'no message makes one of the name %s, which no Node can have (docs/features/proxiers.md §1.7)',
    async (name) => {
      const scene = new Scene();
      await scene.start(1);
      await scene.send({ type: 'proxier.updated', family: 'IPv4' }, `proxier/_/${name}`);
      expect(await scene.request({ type: 'proxier.updated', family: 'IPv4' }, `proxier/_/${name}`)).toEqual({
        accepted: false,
        code: 'MESSAGE_NOT_ALLOWED',
        reason: expect.stringContaining('no Node can have this name'),
      });
      expect(scene.states()).toEqual({});
      expect(scene.dead).toEqual([expect.stringContaining('MESSAGE_NOT_ALLOWED')]);
    },
  );

  test('a shard has room for 2,048 (docs/features/proxiers.md §1.7)', () => {
    const name = { kind: 'proxier', namespace: '_', name: 'node-1.example.com' };
    const refusal = (alike: number, isInWorld = false) => proxierChart.refuses?.(name, { alike, isInWorld });
    expect(refusal(2_047)).toBeNull();
    expect(refusal(2_048)).toMatch('2048 proxiers, the maximum');
    // Whoever invents names keeps no node out.
    expect(refusal(2_048, true)).toBeNull();
  });

  test('nor one of a namespace', async () => {
    const scene = new Scene();
    await scene.start(1);
    const asked = await scene.request({ type: 'proxier.updated', family: 'IPv4' }, 'proxier/shop/node-1');
    expect(asked).toMatchObject({ accepted: false, code: 'MESSAGE_NOT_ALLOWED' });
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

describe('reports (docs/features/proxiers.md §1)', () => {
  const report = (queuedAt: number | null, updatedAt: number | null, seq: number) => ({
    type: 'proxier.reported',
    family: 'IPv4',
    queuedAt,
    updatedAt,
    seq,
  });

  test('a report brings the proxier into being, and one that was lost is made good by the next', async () => {
    const scene = new Scene();
    await scene.start(2);
    const now = scene.clock.now();
    await scene.send(report(null, now, 1));
    await scene.send(report(now + 10, now, 2));
    await scene.clock.advance(60_000);
    expect(await scene.codes(1)).toEqual([503, 503]);
    // The one with seq 3, that all was applied, was lost.
    await scene.send(report(now + 60_500, now + 60_400, 4));
    expect(await scene.codes(0)).toEqual([200, 200]);
    await scene.send(report(null, now + 60_600, 5));
    await scene.clock.advance(600_000);
    expect(await scene.codes(1)).toEqual([200, 200]);
  });

  test('one whose sequence is not greater than the last changes nothing, and costs no write', async () => {
    const scene = new Scene();
    await scene.start(1);
    const now = scene.clock.now();
    await scene.send(report(null, now, 7));
    const steps = scene.transitions().length;
    await scene.send(report(null, now, 7));
    await scene.send(report(1, now, 6));
    expect(scene.transitions().length).toBe(steps);
    expect(await scene.codes()).toEqual([200, 200]);
  });

  test('times of a sender that is not trusted tell one change from another, and nothing else', async () => {
    const scene = new Scene();
    await scene.start(1);
    const now = scene.clock.now();
    await scene.send(report(null, now, 1));
    await scene.send(report(now - 3_600_000, now, 2));
    await scene.clock.advance(59_000);
    await scene.send(report(now - 3_600_000, now, 3));
    expect(await scene.codes()).toEqual([200, 200]);
    await scene.clock.advance(2_000);
    expect(await scene.codes()).toEqual([503, 503]);
    // The oldest change is another one now: that one waits since we heard of it.
    await scene.send(report(now - 1_000, now - 2_000, 4));
    expect(await scene.codes()).toEqual([200, 200]);
    await scene.clock.advance(60_000);
    expect(await scene.codes()).toEqual([503, 503]);
  });

  test('those of a trusted one count, and none lies in the future', async () => {
    const scene = new Scene();
    await scene.start(1);
    const now = scene.clock.now();
    await scene.request(report(now - 60_000, now - 90_000, 1));
    expect(await scene.codes()).toEqual([503, 503]);
    await scene.request(report(now + 3_600_000, now + 3_600_000, 2));
    expect(await scene.codes()).toEqual([200, 200]);
    await scene.clock.advance(60_000);
    expect(await scene.codes()).toEqual([503, 503]);
  });

  test('a proxy that begins anew is starting: it is not late', async () => {
    const scene = new Scene();
    await scene.start(1);
    const now = scene.clock.now();
    await scene.request(report(now - 60_000, now - 90_000, 1));
    await scene.request(report(now - 60_000, null, 2));
    expect(await scene.codes()).toEqual([200, 200]);
  });

  test('the two events of earlier producers go on beside them', async () => {
    const scene = new Scene();
    await scene.start(1);
    await scene.send(report(null, scene.clock.now(), 1));
    await scene.send({ type: 'proxier.queued', family: 'IPv4' });
    await scene.clock.advance(60_000);
    expect(await scene.codes()).toEqual([503, 503]);
    await scene.send({ type: 'proxier.updated', family: 'IPv4' });
    expect(await scene.codes()).toEqual([200, 200]);
  });

  test.each([
    [{ seq: -1 }, /seq/],
    [{ seq: undefined }, /seq/],
    [{ queuedAt: 'soon' }, /queuedAt/],
    [{ family: 'IPv5' }, /family/],
  ])('what is wrong with %j is said', async (change, message) => {
    const scene = new Scene();
    await scene.start(1);
    expect(await scene.request({ ...report(null, 1, 1), ...change })).toMatchObject({
      accepted: false,
      reason: expect.stringMatching(message),
    });
  });
});
