/** One port of one Service, with real sockets. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { type Relay, startRelay } from '../../packages/dev-cluster/network/relay.ts';
import { systemClock } from '../../src/base/clock.ts';
import { until } from '../until.ts';
import { knock } from './http.ts';

const host = '127.0.0.1';
const servers: Server[] = [];
const relays: Relay[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  for (const relay of relays.splice(0)) await relay.kill();
});

function serve(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, onSocket);
  servers.push(server);
  return new Promise((resolve) => server.listen(0, host, () => resolve(portOf(server))));
}
function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
async function relayTo(
  pick: () => number | undefined,
  answer?: (client: Socket) => void,
): Promise<{ relay: Relay; port: number }> {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, host, resolve));
  const port = portOf(free);
  await new Promise((resolve) => free.close(resolve));
  const target = () => {
    const chosen = pick();
    return chosen === undefined ? undefined : { host, port: chosen, answer };
  };
  const relay = await startRelay({ host, port, clock: systemClock, pick: target });
  relays.push(relay);
  return { relay, port };
}

test('a client that has said all gets the whole answer that comes afterwards', async () => {
  const backend = await serve(async (socket) => {
    const said = await text(socket);
    socket.end(`you said ${said.length} characters`);
  });
  const { port } = await relayTo(() => backend);
  const client = connect({ host, port, allowHalfOpen: true });
  client.end('x'.repeat(300_000));
  expect(await text(client)).toBe('you said 300000 characters');
});

test('a client is answered in place of the backend, which hears nothing of it', async () => {
  let connections = 0;
  const backend = await serve(() => {
    connections += 1;
  });
  const { port } = await relayTo(
    () => backend,
    (client) => client.once('data', (said) => client.end(`heard ${said}`)),
  );
  const client = connect({ host, port });
  client.write('hello');
  expect(await text(client)).toBe('heard hello');
  expect(connections).toBe(0);
});

test('a client whose backend resets is reset', async () => {
  const backend = await serve((socket) => socket.once('data', () => socket.resetAndDestroy()));
  const { port } = await relayTo(() => backend);
  const client = connect({ host, port });
  client.write('hello');
  await expect(text(client)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('a client is reset when there is no backend, or it refuses', async () => {
  const refused = await serve(() => {});
  const server = servers.pop();
  await new Promise((resolve) => server?.close(resolve));
  for (const target of [undefined, refused]) {
    const { port } = await relayTo(() => target);
    await expect(text(connect({ host, port }))).rejects.toMatchObject({ code: 'ECONNRESET' });
  }
});

test('a backend learns that its client is gone', async () => {
  let isEnded = false;
  const backend = await serve((socket) => {
    socket.on('error', () => {});
    socket.once('close', () => {
      isEnded = true;
    });
    socket.resume();
  });
  const { port } = await relayTo(() => backend);
  const client = connect({ host, port });
  client.write('hello', () => client.resetAndDestroy());
  await until(() => isEnded, { what: 'the backend’s connection ends' });
});

test('after close new connections are refused and the ones that stand go on', async () => {
  const backend = await serve((socket) => socket.pipe(socket));
  const { relay, port } = await relayTo(() => backend);
  const client = connect({ host, port });
  const echo = (word: string) =>
    new Promise((resolve) => {
      client.once('data', (data) => resolve(data.toString()));
      client.write(word);
    });
  expect(await echo('before')).toBe('before');
  relay.close();
  expect(await knock(host, port)).toBe('ECONNREFUSED');
  expect(await echo('after')).toBe('after');
  client.end();
  await relay.ended;
});
