/** The effect `workload.probe`: which addresses are called at all (docs/features/endpoints.md §8.7). */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { cidrList } from '../../../src/base/config-values.ts';
import { limits } from '../../../src/base/limits.ts';
import { createProbeTurns, type ProbeTurn } from '../../../src/features/endpoints/effects/probe-turns.ts';
import { mayBeProbed, probeWorkload } from '../../../src/features/endpoints/effects/workload-probe.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let server: Server;
let calls = 0;

beforeAll(async () => {
  server = createServer((_, response) => {
    calls += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());

async function probe(addresses: readonly string[], cidrs: string | null): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const networks = cidrs === null ? null : (cidrList.read(cidrs) ?? []);
  const run = probeWorkload(systemClock, mayBeProbed(networks));
  const target = { scheme: 'http', port, host: null, path: '/', timeoutMs: 5_000 } as const;
  const effect = { type: 'workload.probe', round: 1, addresses, probe: target };
  const context = { actor: 'workload/shop/vm', signal: new AbortController().signal };
  return run(effect as never, context as never);
}

test('§8.7: nobody who writes a workload makes Orrery call itself', async () => {
  const { port } = server.address() as AddressInfo;
  expect(await probe(['127.0.0.1'], null)).toEqual({
    type: 'workload.probed',
    round: 1,
    failures: [`127.0.0.1 port ${port}: this address may not be probed (--probe-cidrs)`],
  });
  expect(calls).toBe(0);
  expect(await probe(['127.0.0.1'], '10.0.0.0/8,127.0.0.0/8')).toMatchObject({ failures: [] });
  expect(calls).toBe(1);
});

test.each([
  ['10.1.2.3', true],
  ['fd00::1', true],
  ['2001:db8::1', true],
  ['127.5.5.5', false],
  ['169.254.169.254', false],
  ['0.0.0.0', false],
  ['224.0.0.1', false],
  ['::1', false],
  ['::', false],
  ['fe80::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:169.254.169.254', false],
  ['255.255.255.255', false],
  // Where clouds give a machine its credentials, and the same through NAT64.
  ['fd00:ec2::254', false],
  ['fd20:ce::254', false],
  ['168.63.129.16', false],
  ['100.100.100.200', false],
  ['192.0.0.192', false],
  ['64:ff9b::a9fe:a9fe', false],
  ['::a9fe:a9fe', false],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b::a01:203', true],
  ['localhost', false],
  ['', false],
])('§8.7: %s without the flag: %j', (address, isCalled) => {
  expect(mayBeProbed(null)(address)).toBe(isCalled);
});

describe('§8.8: a namespace has a limited number of rounds at a time', () => {
  const { signal } = new AbortController();
  const all = (count: number, take: () => Promise<ProbeTurn | null>) =>
    Promise.all(Array.from({ length: count }, take));

  test('others are not delayed; those beyond wait in order, and have none after a while', async () => {
    const clock = new VirtualClock();
    const turns = createProbeTurns(clock);
    const running = await all(limits.workloadProbesOfNamespace, () => turns.take('noisy', signal));
    expect(running).not.toContain(null);
    const called: number[] = [];
    const waiting = [1, 2, 3].map(async (n) => {
      const turn = await turns.take('noisy', signal);
      if (turn !== null) called.push(n);
      return turn;
    });
    expect(await turns.take('quiet', signal)).not.toBe(null);
    running[0]?.end();
    running[1]?.end();
    expect(await waiting[1]).not.toBe(null);
    expect(called).toEqual([1, 2]);
    await clock.advance(limits.workloadProbeLineMs);
    expect(await waiting[2]).toBe(null);
    // Every place is free again once all have ended.
    for (const turn of [...running.slice(2), await waiting[0], await waiting[1]]) turn?.end();
    expect(await all(limits.workloadProbesOfNamespace, () => turns.take('noisy', signal))).not.toContain(
      null,
    );
  });

  test('the line is bounded, and ends with the effect', async () => {
    const turns = createProbeTurns(new VirtualClock());
    const ending = new AbortController();
    await all(limits.workloadProbesOfNamespace, () => turns.take('noisy', signal));
    const line = all(limits.workloadProbesWaiting, () => turns.take('noisy', ending.signal));
    expect(await turns.take('noisy', signal)).toBe(null);
    ending.abort(new Error('the shard is given up'));
    expect(new Set(await line)).toEqual(new Set([null]));
  });
});

test.each(['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'nowhere/8', '', '10.0.0.0/8,'])(
  '%j is no list of networks',
  (text) => expect(cidrList.read(text)).toBeUndefined(),
);
