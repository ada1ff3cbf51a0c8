/** The load client against a server of the test. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type LoadTarget, startLoad } from '../../packages/dev-cluster/network/load.ts';
import { systemClock } from '../../src/base/clock.ts';
import { until } from '../until.ts';
import { VirtualClock } from '../virtual-clock.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(listener: RequestListener): Promise<LoadTarget> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { host: '127.0.0.1', port: typeof address === 'object' ? (address?.port ?? 0) : 0, path: '/' };
}
const run = (target: LoadTarget, extra: { timeoutMs?: number } = {}) =>
  startLoad({ clock: systemClock, targets: () => [target], requestsPerSecond: 200, ...extra });

test('requests go out at the pace that was asked for, over a new connection each', async () => {
  // Not their ports: a busy machine uses those again within seconds.
  const connections = new Set<unknown>();
  const target = await serve((request, response) => {
    connections.add(request.socket);
    response.end('ok');
  });
  const began = systemClock.monotonic();
  // Far longer than a busy machine takes: what is lost here was not answered at all.
  const load = run(target, { timeoutMs: 60_000 });
  await until(() => load.counts().answered >= 100, { what: '100 answers' });
  const seconds = (systemClock.monotonic() - began) / 1_000;
  const counts = await load.stop();
  expect(counts.sent / seconds).toBeLessThan(210);
  expect(counts).toMatchObject({ lost: 0, answered: counts.sent });
  expect(connections.size).toBe(counts.sent);
});

test.each<[string, RequestListener, string, number]>([
  ['a status other than 200', (_, response) => response.writeHead(503).end(), 'status 503', 20_000],
  ['a reset', (request) => request.socket.resetAndDestroy(), 'ECONNRESET', 20_000],
  ['an answer that never comes', () => {}, 'timeout', 100],
])('%s is a lost request', async (_, listener, reason, timeoutMs) => {
  const load = run(await serve(listener), { timeoutMs });
  await until(() => load.counts().lost >= 3, { what: 'losses' });
  const counts = await load.stop();
  expect(counts.reasons).toEqual({ [reason]: counts.sent });
});

test('a refused connection is a lost request', async () => {
  const target = await serve(() => {});
  const server = servers.pop();
  await new Promise((resolve) => server?.close(resolve));
  const load = run(target);
  await until(() => load.counts().lost >= 3, { what: 'losses' });
  expect((await load.stop()).reasons).toMatchObject({ ECONNREFUSED: expect.any(Number) });
});

test('stop waits for the answers under way', async () => {
  const held: Array<() => void> = [];
  let isHolding = true;
  const target = await serve((_, response) => {
    if (isHolding) held.push(() => response.end('ok'));
    else response.end('ok');
  });
  const load = run(target);
  await until(() => held.length >= 5, { what: 'five requests' });
  const stopped = load.stop();
  isHolding = false;
  for (const answer of held) answer();
  const counts = await stopped;
  expect(counts).toMatchObject({ lost: 0, answered: counts.sent });
});

test('while most requests time out the pace halves, again and again; without that it stays', async () => {
  const clock = new VirtualClock();
  const target = await serve(() => {});
  const paces: number[] = [];
  const parts = { clock, targets: () => [target], requestsPerSecond: 4 };
  const loads = [startLoad({ ...parts, onEased: (pace) => void paces.push(pace) }), startLoad(parts)];
  await clock.advance(20_000);
  expect(paces).toEqual([2, 1]);
  expect(loads.map((load) => load.counts().sent)).toEqual([expect.toSatisfy((sent) => sent < 60), 80]);
  const stopped = loads.map((load) => load.stop());
  await clock.advance(3_000);
  await Promise.all(stopped);
});
