/**
 * One port of one Service: real TCP connections, each passed to a backend that is chosen for it.
 *
 * Promises: each side's end of data reaches the other (half-close). An error of one side resets the other. A
 * connection keeps its backend, whatever happens to the list of backends. Without a backend, or with one that
 * refuses, the client sees a reset.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Clock } from '../../../src/base/clock.ts';
import { clusterLimits } from '../limits.ts';

export interface RelayParts {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly pick: () => Backend | undefined;
}

interface Backend {
  readonly host: string;
  readonly port: number;
  /** Answers the client in the backend's place, without a connection to it; absent: the backend does. */
  readonly answer?: AnswerClient | undefined;
}

export type AnswerClient = (client: Socket) => void;

export interface Relay {
  /** The real one. */
  readonly port: number;
  /** Breaks every connection; accepts new ones. */
  reset(): void;
  /** Accepts no new connections; existing ones continue. Resolves at once. */
  close(): void;
  /** Ends everything. */
  kill(): Promise<void>;
  /** Resolves when no socket is left. */
  readonly ended: Promise<void>;
}

/** @throws the socket error if the address cannot be listened on */
export function startRelay(parts: RelayParts): Promise<Relay> {
  const sockets = new Set<Socket>();
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    hold(client);
    const target = parts.pick();
    if (target === undefined) return void client.resetAndDestroy();
    if (target.answer !== undefined) return target.answer(client);
    const { host, port } = target;
    const backend = connect({ host, port, allowHalfOpen: true });
    hold(backend);
    const timer = parts.clock.after(clusterLimits.backendConnectMs, () =>
      backend.destroy(new Error('connect timed out')),
    );
    backend.once('connect', () => timer.cancel());
    backend.once('close', () => timer.cancel());
    join(client, backend);
  });
  const end = Promise.withResolvers<void>();
  server.once('close', () => end.resolve());

  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: parts.host, port: parts.port, exclusive: true }, () => {
      server.off('error', reject);
      resolve({
        port: (server.address() as AddressInfo).port,
        ended: end.promise,
        reset() {
          for (const socket of sockets) socket.destroy();
        },
        close: () => void server.close(),
        async kill() {
          if (server.listening) server.close();
          for (const socket of sockets) socket.destroy();
          await end.promise;
        },
      });
    });
  });
}

function join(client: Socket, backend: Socket): void {
  client.pipe(backend);
  backend.pipe(client);
  client.on('error', () => backend.resetAndDestroy());
  backend.on('error', () => client.resetAndDestroy());
  client.once('close', () => backend.destroySoon());
  backend.once('close', () => client.destroySoon());
}
