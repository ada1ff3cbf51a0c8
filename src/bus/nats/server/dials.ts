/**
 * Servers that NATS announces, and for how long each server is dialled, after the first connection.
 *
 * At the first connection only the servers that were given are dialled: what is wrong with those is what
 * people can mend. This uses internals of the client library: if they are not as expected, only the given
 * servers are ever dialled.
 */
import type { KnownServer, ServerOrder } from './server-order.ts';

interface Protocol {
  readonly options: { timeout?: number; ignoreClusterUpdates?: boolean };
  readonly info: unknown;
  readonly transport: { isEncrypted(): boolean };
  readonly servers: {
    getServers(): Iterable<Dialled>;
    update(info: unknown, isEncrypted: boolean): unknown;
    updateTLSName(): void;
  };
  _doDial(server: Dialled): Promise<void>;
}

interface Dialled extends KnownServer {
  /** Wall time, ms. The library's pauses go by it: an hour, if the clock is set back an hour. */
  lastConnect: number;
}

/** @param connection a NatsConnection of the library, made with `ignoreClusterUpdates` */
export function orderDials(connection: object, order: ServerOrder): void {
  const { protocol } = connection as { readonly protocol?: Protocol };
  if (typeof protocol?._doDial !== 'function' || typeof protocol.servers?.update !== 'function') return;
  const { options, servers, transport } = protocol;
  const dial = protocol._doDial.bind(protocol);
  protocol._doDial = async (server) => {
    options.timeout = order.timeoutMs(server);
    try {
      await dial(server);
      order.onConnected(server.listen);
    } finally {
      // The order has the pauses.
      server.lastConnect = 0;
    }
  };
  for (const server of servers.getServers()) server.lastConnect = 0;
  options.ignoreClusterUpdates = false;
  const isEncrypted = transport.isEncrypted();
  servers.update(protocol.info, isEncrypted);
  if (isEncrypted) servers.updateTLSName();
}
