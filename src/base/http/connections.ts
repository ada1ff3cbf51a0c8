/**
 * Bounds the connections of the HTTP server, in total and for each address, so that idle clients cannot keep
 * others out.
 *
 * Promises: at the bound of an address, or at the total bound, the oldest connection without a request in
 * progress is closed to make room; for the total bound, the address with the most connections loses one. If
 * all of them are busy, the new connection is closed. A request in progress and a live feed are never cut
 * off. Absent: time limits, which the servers set.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../limits.ts';

export interface Bounds {
  readonly all?: number;
  readonly perAddress?: number;
  /** Somebody answers the server's `upgrade`. Otherwise a request for one is answered like any other. */
  readonly upgrades?: boolean;
}

/** @param event the server's event that reports each connection that carries requests */
export function boundConnections(
  server: Server,
  event: 'connection' | 'secureConnection',
  {
    all = limits.httpConnections,
    perAddress = limits.httpConnectionsPerAddress,
    upgrades = false,
  }: Bounds = {},
): void {
  /** Oldest first. */
  const byAddress = new Map<string, Set<Socket>>();
  const atWork = new Map<Socket, number>();
  let open = 0;

  const work = (socket: Socket, more: 1 | -1) => {
    const now = (atWork.get(socket) ?? 0) + more;
    if (now > 0) atWork.set(socket, now);
    else atWork.delete(socket);
  };
  const takeIn = (socket: Socket, address: string, own: Set<Socket>) => {
    byAddress.set(address, own.add(socket));
    open++;
    socket.once('close', () => {
      own.delete(socket);
      if (own.size === 0 && byAddress.get(address) === own) byAddress.delete(address);
      atWork.delete(socket);
      open--;
    });
  };
  server.on(event, (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const own = byAddress.get(address) ?? new Set<Socket>();
    const crowd = own.size >= perAddress ? own : open >= all ? largest(byAddress.values()) : null;
    if (crowd !== null && !makeRoom(crowd, atWork)) socket.destroy();
    else takeIn(socket, address, own);
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    work(socket, 1);
    response.once('close', () => work(socket, -1));
  });
  // An upgraded connection is busy for as long as it lasts. A listener alone lets Node hand the socket over.
  if (upgrades) server.on('upgrade', ({ socket }: IncomingMessage) => work(socket, 1));
}

/** @returns whether a connection was closed */
function makeRoom(crowd: ReadonlySet<Socket>, atWork: ReadonlyMap<Socket, number>): boolean {
  for (const socket of crowd) {
    if (atWork.has(socket) || socket.destroyed) continue;
    socket.destroy();
    return true;
  }
  return false;
}

function largest(crowds: Iterable<Set<Socket>>): Set<Socket> {
  let most = new Set<Socket>();
  for (const crowd of crowds) if (crowd.size > most.size) most = crowd;
  return most;
}
