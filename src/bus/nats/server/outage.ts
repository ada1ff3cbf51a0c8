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

interface Protocol {
  /** Tries all addresses of a server. */
  _doDial(server: unknown): Promise<void>;
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
  hearFailures(connection, (error) => {
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

/** What does not say why. */
const isVague = /^timeout$|EPIPE|ECONNRESET/;

function hearFailures(connection: object, onFailure: (error: Error) => void): void {
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
      onFailure(said ?? error);
      throw thrown;
    }
  };
}
