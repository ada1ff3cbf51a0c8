/**
 * The connection of one process to one server: a TCP port of its own that leads there and can be cut.
 *
 * Promises: `down` breaks every connection and refuses new ones. `silent` lets nothing pass in either
 * direction and breaks nothing, like a firewall that drops; what was on its way arrives, in order, once it is
 * `up` again.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { LinkState } from '../../src/bus/memory/faults.ts';

const host = '127.0.0.1';

export interface Link {
  readonly port: number;
  readonly state: LinkState;
  set(state: LinkState): void;
  close(): Promise<void>;
}

interface Way {
  readonly from: Socket;
  readonly to: Socket;
}

/** @param target the port of the server, which may change */
export async function openLink(target: () => number): Promise<Link> {
  const ways = new Set<Way>();
  const sockets = new Set<Socket>();
  let state: LinkState = 'up';
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
  };
  const isOpen = () => state === 'up';
  const server = createServer({ allowHalfOpen: true }, (client) => {
    hold(client);
    client.on('error', () => {});
    if (state === 'down') return void client.resetAndDestroy();
    const backend = connect({ host, port: target(), allowHalfOpen: true });
    hold(backend);
    for (const way of [
      { from: client, to: backend },
      { from: backend, to: client },
    ]) {
      ways.add(way);
      lead(way, isOpen);
      way.from.once('close', () => ways.delete(way));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: 0 }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    get state() {
      return state;
    },
    set(next) {
      state = next;
      for (const { from } of ways) {
        if (next === 'up') from.resume();
        else from.pause();
      }
      if (next === 'down') for (const socket of [...sockets]) socket.resetAndDestroy();
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of [...sockets]) socket.destroy();
      await closed;
    },
  };
}

function lead({ from, to }: Way, isOpen: () => boolean): void {
  if (!isOpen()) from.pause();
  from.on('data', (data) => {
    if (!to.write(data)) from.pause();
  });
  to.on('drain', () => {
    if (isOpen()) from.resume();
  });
  from.on('end', () => to.end());
  from.on('error', () => to.resetAndDestroy());
  from.once('close', () => to.destroySoon());
}
