/** The process inside a Pod of the development cluster, with real sockets. */
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startBackend } from '../../packages/dev-cluster/nodes/backend.ts';

const host = '127.0.0.1';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function ask(port: number): Promise<number | string> {
  return new Promise((resolve) => {
    get({ host, port, path: '/', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

test('a Pod that ends while its process is behind answers all who were connected before', async () => {
  const port = await freePort();
  const options = { podName: 'web-0', advertisedIp: '10.0.0.1', health: 'ok' } as const;
  const backend = await startBackend({ ...options, host, ports: [port] });
  const answers = Array.from({ length: 40 }, () => ask(port));
  await new Promise((resolve) => setImmediate(resolve));
  await backend.close();
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
  expect(await ask(port)).toBe('ECONNREFUSED');
});
