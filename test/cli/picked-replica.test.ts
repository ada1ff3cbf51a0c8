/** Through the Kubernetes API, which picks a replica by chance: one that has just died is not the answer. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createHttpControl } from '../../src/cli/server/http-control.ts';

let server: Server | undefined;
afterEach(() => void server?.close());

const missed = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: 'error trying to reach service: dial tcp 10.0.0.7:8080: connect: connection refused',
  code: 503,
};

/** An API server that picks a dead replica the first times. */
async function reach(misses: number) {
  const asked: string[] = [];
  server = createServer(({ method }, response) => {
    const isMissed = asked.push(method ?? '') <= misses;
    response.writeHead(isMissed ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isMissed ? missed : { replicas: [], shards: [] }));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const control = createHttpControl({
    name: 'orrery/orrery:http through the Kubernetes API',
    access: async () => ({ server: `http://127.0.0.1:${port}`, headers: {}, tls: {} }),
    close() {},
  });
  return { asked, control };
}

test('what is only read is asked again', async () => {
  const { asked, control } = await reach(2);
  expect(await control.shards()).toEqual({ replicas: [], shards: [] });
  expect(asked).toEqual(['GET', 'GET', 'GET']);
});

test('after some attempts it is said what happened, and not that no replica is ready', async () => {
  const { asked, control } = await reach(100);
  await expect(control.shards()).rejects.toThrow(
    'connection refused (the replica it picked does not answer, perhaps it has just died: try again)',
  );
  expect(asked).toHaveLength(5);
});

test('an event is sent once: it may have arrived', async () => {
  const { asked, control } = await reach(1);
  await expect(control.send('pod/shop/web-0', { type: 'pod.recheck' })).rejects.toThrow('try again');
  expect(asked).toEqual(['POST']);
});
