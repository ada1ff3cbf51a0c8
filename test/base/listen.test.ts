/**
 * Which addresses a server listens on. Tests listen on loopback alone, so what `0.0.0.0` leads to is asked of
 * a server that only notes it.
 */
import { EventEmitter } from 'node:events';
import { createServer, type Server } from 'node:net';
import { expect, test } from 'vitest';
import { listenOn } from '../../src/base/http/listen.ts';

/** @param refuses host → the code with which the system refuses it */
function noting(refuses: Readonly<Record<string, string>> = {}) {
  const tried: string[] = [];
  const server = Object.assign(new EventEmitter(), {
    address: () => ({ port: 4711 }),
    listen({ host, port }: { readonly host: string; readonly port: number }, onListening: () => void) {
      tried.push(host);
      const code = refuses[host];
      const text = code === 'EADDRINUSE' ? 'address already in use' : 'address not available';
      const error = Object.assign(new Error(`listen ${code}: ${text} ${host}:${port}`), { code });
      if (code === undefined) onListening();
      else server.emit('error', error);
    },
  });
  return { tried, server: server as unknown as Server };
}

test('0.0.0.0 is every address of the machine, of both families', async () => {
  const { tried, server } = noting();
  expect(await listenOn(server, { host: '0.0.0.0', port: 8080 })).toBe(4711);
  expect(tried).toEqual(['::']);
});

test.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])(
  'of IPv4 alone where the machine has no other: %s',
  async (code) => {
    const { tried, server } = noting({ '::': code });
    await listenOn(server, { host: '0.0.0.0', port: 8080 });
    expect(tried).toEqual(['::', '0.0.0.0']);
  },
);

test('a port that is taken is refused by the address that was given', async () => {
  const { tried, server } = noting({ '::': 'EADDRINUSE' });
  await expect(listenOn(server, { host: '0.0.0.0', port: 8080 })).rejects.toThrow('in use 0.0.0.0:8080');
  expect(tried).toEqual(['::']);
});

test('any other address is itself, and a free port is told', async () => {
  const { tried, server } = noting();
  await listenOn(server, { host: 'fd00::1', port: 8080 });
  expect(tried).toEqual(['fd00::1']);
  const real = createServer();
  const port = await listenOn(real, { host: '127.0.0.1', port: 0 });
  expect(real.address()).toMatchObject({ address: '127.0.0.1', port });
  await new Promise((resolve) => real.close(resolve));
});
