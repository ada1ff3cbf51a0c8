/**
 * The library function: kube-proxy's rules, sentence by sentence, and its answers byte for byte over a real
 * socket.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { goTime } from '../../../src/features/proxiers/health-body.ts';
import {
  createProxierHealth,
  type ProxierHealth,
  type ProxierReport,
} from '../../../src/features/proxiers/proxier-health.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function proxier(timeoutMs = 10_000): { clock: VirtualClock; health: ProxierHealth } {
  const clock = new VirtualClock();
  const health = createProxierHealth({ clock, timeoutMs });
  closing.push(() => health.stop());
  return { clock, health };
}

/** `healthz` and `livez` as statuses. */
const codes = (health: ProxierHealth) => [health.answer('healthz').status, health.answer('livez').status];

describe('the reference sequence', () => {
  test.each(['IPv4', 'IPv6'] as const)('of %s alone', async (family) => {
    const { clock, health } = proxier();
    expect(codes(health)).toEqual([200, 200]);
    health.updated(family);
    expect(codes(health)).toEqual([200, 200]);
    await clock.advance(25_000);
    expect(codes(health)).toEqual([200, 200]);
    health.queued(family);
    await clock.advance(25_000);
    expect(codes(health)).toEqual([503, 503]);
    health.updated(family);
    expect(codes(health)).toEqual([200, 200]);
    health.queued(family);
    await clock.advance(5_000);
    expect(codes(health)).toEqual([200, 200]);
    health.queued(family);
    await clock.advance(5_000);
    expect(codes(health)).toEqual([503, 503]);
    health.updated(family);
    expect(codes(health)).toEqual([200, 200]);
  });

  test('one late family is enough, and the other one stays healthy in the status', async () => {
    const { clock, health } = proxier();
    health.updated('IPv4');
    health.updated('IPv6');
    health.queued('IPv4');
    await clock.advance(10_000);
    health.queued('IPv6');
    const { status, body } = health.answer('livez');
    expect([status, JSON.parse(body).healthy]).toEqual([503, false]);
    expect([JSON.parse(body).status.IPv4.healthy, JSON.parse(body).status.IPv6.healthy]).toEqual([
      false,
      true,
    ]);
    expect(health.isHealthy()).toBe(false);
  });
});

describe('rules', () => {
  test('late is exactly from the timeout on, not a millisecond before', async () => {
    const { clock, health } = proxier(60_000);
    health.updated('IPv4');
    health.queued('IPv4');
    await clock.advance(59_999);
    expect(codes(health)).toEqual([200, 200]);
    await clock.advance(1);
    expect(codes(health)).toEqual([503, 503]);
  });

  test('a family that never sent updated is never late', async () => {
    const { clock, health } = proxier();
    health.queued('IPv6');
    await clock.advance(1_000_000);
    expect(codes(health)).toEqual([200, 200]);
    health.updated('IPv4');
    await clock.advance(1_000_000);
    expect(codes(health)).toEqual([200, 200]);
  });

  test('the first change that waits is timed, not the last', async () => {
    const { clock, health } = proxier();
    health.updated('IPv4');
    for (let second = 0; second < 10; second++) {
      health.queued('IPv4');
      await clock.advance(1_000);
    }
    expect(codes(health)).toEqual([503, 503]);
  });

  test('a change that was queued while starting is settled by the first update', async () => {
    const { clock, health } = proxier();
    health.queued('IPv4');
    await clock.advance(50_000);
    health.updated('IPv4');
    await clock.advance(50_000);
    expect(codes(health)).toEqual([200, 200]);
  });

  test('times that the caller gives count, but none lies in the future', async () => {
    const { clock, health } = proxier();
    health.updated('IPv4');
    await clock.advance(20_000);
    health.queued('IPv4', clock.now() - 10_000);
    expect(codes(health)).toEqual([503, 503]);
    health.updated('IPv4');
    health.queued('IPv4', clock.now() + 3_600_000);
    await clock.advance(10_000);
    expect(codes(health)).toEqual([503, 503]);
  });

  test('a proxier that heard nothing for days goes on with the next word', async () => {
    const { clock, health } = proxier();
    health.updated('IPv4');
    await clock.advance(3 * 24 * 3_600_000);
    expect(codes(health)).toEqual([200, 200]);
    health.updated('IPv4');
    health.queued('IPv4');
    await clock.advance(10_000);
    expect(codes(health)).toEqual([503, 503]);
  });
});

describe('the Node', () => {
  const taint = (key: string) => ({
    spec: { taints: [{ key: 'other' }, { key, value: '1', effect: 'NoSchedule' }] },
  });

  test.each([
    ['is not known yet', undefined, [200, 200]],
    ['is there', {}, [200, 200]],
    ['is being deleted', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }, [503, 200]],
    ['is marked by the autoscaler', taint('ToBeDeletedByClusterAutoscaler'), [503, 200]],
    ['has other taints', taint('node.kubernetes.io/unschedulable'), [200, 200]],
    ['was deleted', null, [503, 200]],
  ])('%s', (_, node, expected) => {
    const { health } = proxier();
    health.updated('IPv4');
    if (node !== undefined) health.syncNode({});
    if (node !== undefined) health.syncNode(node);
    expect(codes(health)).toEqual(expected);
    expect(health.isHealthy()).toBe(true);
  });

  test('becomes eligible again when the mark is taken away', () => {
    const { health } = proxier();
    health.syncNode(taint('ToBeDeletedByClusterAutoscaler'));
    health.syncNode({});
    expect(codes(health)).toEqual([200, 200]);
  });
});

describe('bodies', () => {
  test('before anything was updated: no status, and now as the last update', () => {
    const { clock, health } = proxier();
    const now = goTime(clock.now());
    expect(health.answer('healthz').body).toBe(
      `{"lastUpdated":"${now}","currentTime":"${now}","nodeEligible":true,"healthy":true}`,
    );
    expect(health.answer('livez').body).toBe(
      `{"lastUpdated":"${now}","currentTime":"${now}","healthy":true}`,
    );
  });

  test('of an ineligible node: the zero time while nothing was updated; healthy is the proxier alone', () => {
    const { clock, health } = proxier();
    health.syncNode({});
    health.syncNode(null);
    expect(health.answer('healthz').body).toBe(
      `{"lastUpdated":"0001-01-01T00:00:00Z","currentTime":"${goTime(clock.now())}","nodeEligible":false,"healthy":true}`,
    );
  });

  test('of a late proxier: the latest update of the families', async () => {
    const { clock, health } = proxier();
    health.updated('IPv6');
    const six = goTime(clock.now());
    await clock.advance(1_500);
    health.updated('IPv4');
    const four = goTime(clock.now());
    health.queued('IPv6');
    await clock.advance(10_000);
    expect(health.answer('healthz').body).toBe(
      `{"lastUpdated":"${four}","currentTime":"${goTime(clock.now())}","nodeEligible":true,"healthy":false,` +
        `"status":{"IPv4":{"lastUpdated":"${four}","healthy":true},"IPv6":{"lastUpdated":"${six}","healthy":false}}}`,
    );
  });

  test.each([
    [0, '1970-01-01T00:00:00Z'],
    [1_700_000_000_000, '2023-11-14T22:13:20Z'],
    [1_700_000_000_100, '2023-11-14T22:13:20.1Z'],
    [1_700_000_000_120, '2023-11-14T22:13:20.12Z'],
    [1_700_000_000_123, '2023-11-14T22:13:20.123Z'],
    [1_700_000_000_003, '2023-11-14T22:13:20.003Z'],
    [null, '0001-01-01T00:00:00Z'],
  ])('%s is written as Go writes it', (ms, text) => {
    expect(goTime(ms)).toBe(text);
  });
});

describe('over a socket', () => {
  async function listening() {
    const parts = proxier();
    const server = createServer(parts.health.handle);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => void server.close());
    return { ...parts, port: (server.address() as AddressInfo).port };
  }

  /** The answer as it stands on the wire. */
  async function raw(port: number, method: string, path: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.end(`${method} ${path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    return text;
  }

  test('GET and HEAD have the same headers, HEAD has no body', async () => {
    const { port, health } = await listening();
    health.updated('IPv4');
    const [head = '', body = ''] = (await raw(port, 'GET', '/healthz?verbose=1')).split('\r\n\r\n');
    expect(head).toMatch(
      /^HTTP\/1\.1 200 OK\r\nContent-Type: application\/json\r\nX-Content-Type-Options: nosniff\r\n/,
    );
    expect(head).toContain(`Content-Length: ${body.length}`);
    expect(body).toBe(health.answer('healthz').body);
    const [headOnly = '', nothing] = (await raw(port, 'HEAD', '/healthz')).split('\r\n\r\n');
    expect(headOnly.replace(/\r\nDate:[^\r]*/, '')).toBe(head.replace(/\r\nDate:[^\r]*/, ''));
    expect(nothing).toBe('');
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is 405', async (method) => {
    const { port } = await listening();
    const answer = await raw(port, method, '/livez');
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).toContain('Allow: GET, HEAD');
  });

  test('another path is 404', async () => {
    const { port } = await listening();
    expect(await raw(port, 'GET', '/')).toMatch(/^HTTP\/1\.1 404 /);
  });

  test('answers are counted by endpoint and code', async () => {
    const { port, health } = await listening();
    health.syncNode({});
    health.syncNode(null);
    for (const path of ['/healthz', '/healthz', '/livez', '/nothing']) await raw(port, 'GET', path);
    expect(health.counts()).toEqual([
      { endpoint: 'healthz', code: 503, count: 2 },
      { endpoint: 'livez', code: 200, count: 1 },
    ]);
  });
});

describe('reports to somebody else', () => {
  function reporting(answer: (report: ProxierReport) => Promise<unknown>) {
    const clock = new VirtualClock();
    const said: ProxierReport[] = [];
    const report = (one: ProxierReport) => {
      said.push(one);
      return answer(one);
    };
    const health = createProxierHealth({ clock, random: seededRandom(1), report });
    closing.push(() => health.stop());
    return { clock, health, said };
  }

  test('are levels, said again until they were taken, the newest alone, with sequences that grow', async () => {
    let isThere = false;
    const { clock, health, said } = reporting(async () => {
      if (!isThere) throw new Error('nobody listens');
    });
    health.updated('IPv4');
    await clock.advance(1_000);
    health.queued('IPv4');
    const queuedAt = clock.now();
    health.updated('IPv6');
    await clock.advance(10_000);
    isThere = true;
    await clock.advance(7_000);
    const count = said.length;
    expect(count).toBeGreaterThan(4);
    expect(said.findLast(({ family }) => family === 'IPv4')).toMatchObject({
      queuedAt,
      updatedAt: queuedAt - 1_000,
    });
    expect(said.findLast(({ family }) => family === 'IPv6')).toMatchObject({
      queuedAt: null,
      updatedAt: queuedAt,
    });
    await clock.advance(600_000);
    expect(said.length).toBe(count);
    health.queued('IPv4');
    await clock.advance(10);
    expect(said.length).toBe(count);
    health.updated('IPv4');
    await clock.advance(10);
    expect(said.at(-1)).toMatchObject({ family: 'IPv4', queuedAt: null, updatedAt: clock.now() - 10 });
    const seqs = said.filter(({ family }) => family === 'IPv4').map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  });

  test('that the program throws back at once are said again', async () => {
    let failures = 2;
    const { clock, health, said } = reporting(() => {
      if (failures-- > 0) throw new Error('no connection');
      return Promise.resolve();
    });
    health.updated('IPv4');
    await clock.advance(5_000);
    expect(said).toHaveLength(3);
  });

  test('are said anew each quarter of an hour: whoever lost them, or forgets who is silent, knows them again', async () => {
    const { clock, health, said } = reporting(async () => {});
    await clock.advance(3_600_000);
    expect(said).toEqual([]);
    health.updated('IPv4');
    await clock.advance(1_000);
    expect(said).toHaveLength(1);
    await clock.advance(17 * 60_000);
    const [first, second] = said;
    expect(said).toHaveLength(2);
    expect(second).toEqual({ ...first, seq: second?.seq });
    expect(second?.seq).toBeGreaterThan(first?.seq ?? 0);
    await clock.advance(17 * 60_000);
    expect(said).toHaveLength(3);
    health.stop();
    await clock.advance(17 * 60_000);
    expect(said).toHaveLength(3);
  });

  test('that are never answered are said again; a process that starts anew goes on with greater sequences', async () => {
    const { clock, health, said } = reporting(() => new Promise(() => {}));
    health.updated('IPv4');
    await clock.advance(30_000);
    expect(said.length).toBeGreaterThanOrEqual(4);
    const next = createProxierHealth({
      clock,
      random: seededRandom(2),
      report: async (one) => void said.push(one),
    });
    closing.push(() => next.stop());
    next.updated('IPv4');
    await clock.advance(10);
    expect(said.at(-1)?.seq).toBeGreaterThan(said[0]?.seq ?? 0);
  });
});

test('nodeEligible tells whether the node may get traffic: yes until its Node says otherwise (docs/features/proxiers.md §5.3)', () => {
  const { health } = proxier();
  expect(health.nodeEligible()).toBe(true);
  health.syncNode({ spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler' }] } });
  expect(health.nodeEligible()).toBe(false);
  health.syncNode({ metadata: {} });
  expect(health.nodeEligible()).toBe(true);
  health.syncNode(null);
  expect(health.nodeEligible()).toBe(false);
});

test('a Node that was deleted stays ineligible, however long nothing is heard, and what was late stays late', async () => {
  const { clock, health } = proxier();
  health.updated('IPv4');
  health.queued('IPv4');
  health.syncNode({ metadata: {} });
  health.syncNode(null);
  await clock.advance(3 * 3_600_000);
  expect(health.nodeEligible()).toBe(false);
  expect([health.answer('healthz').status, health.answer('livez').status]).toEqual([503, 503]);
  health.syncNode(null);
  expect(health.answer('livez').status).toBe(503);
  health.updated('IPv4');
  expect([health.answer('healthz').status, health.answer('livez').status]).toEqual([503, 200]);
  health.syncNode({ metadata: {} });
  expect(health.answer('healthz').status).toBe(200);
});
