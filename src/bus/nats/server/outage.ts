/**
 * Why NATS cannot be reached, once for each reason: at the start, and in each outage.
 *
 * The client library tells nobody why it cannot reconnect. This uses its internals: if they are not as
 * expected, nothing is told.
 */
import { asError } from '../../../base/errors.ts';
import type { Log } from '../../../base/log-port.ts';
import type { Troubles } from '../../troubles.ts';
import { reasonOf } from './nats-reasons.ts';
import type { KnownServer } from './server-order.ts';

interface Protocol {
  /** Tries all addresses of a server. */
  _doDial(server: KnownServer): Promise<void>;
  /** What the server said last. */
  lastError?: Error | undefined;
  readonly transport?: { readonly closeError?: Error };
}

export const cannotReach = 'NATS cannot be reached; trying until it can';

/** @param reason null: it is reached */
export function noteConnection(troubles: Troubles, reason: string | null): void {
  if (reason === null) troubles.over('connection');
  else troubles.note('connection', `NATS cannot be reached: ${reason}`);
}

/**
 * @param connection a NatsConnection of the library
 * @returns to be called when the connection is back
 */
export function tellOutages(connection: object, troubles: Troubles, log: Log): () => void {
  const said = new Set<string>();
  const unreachable = new Set<string>();
  hearFailures(connection, (error, server) => {
    // Why the servers that were given are not reached is what has to be mended.
    if (server.gossiped) return tellAnnounced(server, error, unreachable, log);
    const reason = reasonOf(error);
    noteConnection(troubles, reason);
    if (!said.has(reason)) log.warn({ reason }, cannotReach);
    said.add(reason);
  });
  return () => {
    said.clear();
    noteConnection(troubles, null);
  };
}

/** Nobody is there, or what is sent there gets nowhere. A server that refuses is only away. */
const isNowhere = /^timeout$|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT/;
const announcedMost = 32;

function tellAnnounced({ listen }: KnownServer, error: Error, told: Set<string>, log: Log): void {
  if (!isNowhere.test(error.message) || told.has(listen) || told.size >= announcedMost) return;
  told.add(listen);
  log.info({ address: listen, reason: error.message }, announcesInVain);
}

const announcesInVain =
  'NATS announces an address that nobody answers from here; the servers in --nats are tried first. If it cannot be reached from here at all, set client_advertise, or cluster no_advertise, in the NATS servers';

/** What does not say why. */
const isVague = /^timeout$|EPIPE|ECONNRESET/;

function hearFailures(connection: object, onFailure: (error: Error, server: KnownServer) => void): void {
  const { protocol } = connection as { readonly protocol?: Partial<Protocol> };
  if (typeof protocol?._doDial !== 'function') return;
  const dial = protocol._doDial.bind(protocol);
  protocol._doDial = async (server) => {
    protocol.lastError = undefined;
    try {
      await dial(server);
    } catch (thrown) {
      const error = asError(thrown);
      // A server that refuses our certificate, or has no room, ends the connection after the handshake: the
      // library waits on, or writes into it.
      const said = isVague.test(error.message)
        ? (protocol.lastError ?? protocol.transport?.closeError)
        : null;
      onFailure(said ?? error, server);
      throw thrown;
    }
  };
}
