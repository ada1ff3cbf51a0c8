/** Ports for servers that are started a moment later (packages/dev-cluster/network/ports.ts). */
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';

const host = '127.0.0.1';

test('a free port is not one that a connection or a Service may be given before it is used', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort(host, 0)));
  expect(Math.max(...ports)).toBeLessThan(30_000);
});

test('the wanted port if nobody listens on it, else another one', async () => {
  const wanted = await freePort(host, 0);
  expect(await freePort(host, wanted)).toBe(wanted);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(wanted, host, resolve));
  expect(await freePort(host, wanted)).not.toBe(wanted);
  await new Promise((resolve) => server.close(resolve));
});
