/**
 * How many connections the HTTP server holds, and whose: nobody who opens and says nothing keeps others out.
 *
 * Promises: at the bound of an address, or of all, the oldest connection without a request under way makes
 * room; of all addresses the one with most gives. Where every one is at work, the new one is closed. A
 * request under way and a live feed are never cut off. Absent: time limits, which the servers set.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../limits.ts';

export interface Bounds {
  readonly all: number;
  readonly perAddress: number;
}

const usual: Bounds = { all: limits.httpConnections, perAddress: limits.httpConnectionsPerAddress };

/** @param event under which the server tells connections on which it reads requests */
export function boundConnections(
  server: Server,
  event: 'connection' | 'secureConnection',
  { all, perAddress }: Bounds = usual,
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
  // For as long as it lasts.
  server.on('upgrade', ({ socket }: IncomingMessage) => work(socket, 1));
}

/** @returns whether one was closed */
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
