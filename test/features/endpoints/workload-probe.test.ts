/** The effect `workload.probe`: which addresses are called at all (docs/features/endpoints.md §8.7). */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { cidrList } from '../../../src/base/config-values.ts';
import { mayBeProbed, probeWorkload } from '../../../src/features/endpoints/effects/workload-probe.ts';

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
  return run(effect as never, { signal: new AbortController().signal } as never);
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
  ['localhost', false],
  ['', false],
])('§8.7: %s without the flag: %j', (address, isCalled) => {
  expect(mayBeProbed(null)(address)).toBe(isCalled);
});

test.each(['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'nowhere/8', '', '10.0.0.0/8,'])(
  '%j is no list of networks',
  (text) => expect(cidrList.read(text)).toBeUndefined(),
);
