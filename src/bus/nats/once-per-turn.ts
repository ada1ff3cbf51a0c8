/**
 * What the bus does once for all who want it in one turn of the event loop: writing to the socket, and asking
 * how a stream stands.
 */
import type { JetStreamApi } from './jetstream-api.ts';

interface Protocol {
  /** Writes the whole buffer. */
  flushPending(): void;
}

/**
 * Sends everything published in one turn together.
 *
 * The client library writes to its socket once per microtask, so a hundred answers that arrive in one packet
 * cause a hundred system calls: a tenth of the processor time of a busy replica. Here it writes at the end of
 * the turn. This uses the library's internals: if they are not as expected, the library writes as usual.
 *
 * @param connection a NatsConnection of the library
 */
export function flushOncePerTurn(connection: object): void {
  const { protocol } = connection as { readonly protocol?: Partial<Protocol> };
  if (typeof protocol?.flushPending !== 'function') return;
  const flush = protocol.flushPending.bind(protocol);
  let isDue = false;
  protocol.flushPending = () => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      flush();
    });
  };
}

const streamInfo = 'STREAM.INFO.';

/**
 * Asks once how a stream stands for all who want to know it in one turn: a replica that takes over 64 shards
 * asks twice for each of them. The question leaves behind all that was published in that turn, so the answer
 * is as fresh as each of them had asked by itself.
 */
export function askOncePerTurn(api: JetStreamApi): JetStreamApi {
  const asked = new Map<string, ReturnType<JetStreamApi>>();
  return (verb, body) => {
    if (!verb.startsWith(streamInfo) || body !== undefined) return api(verb, body);
    const known = asked.get(verb);
    if (known) return known;
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<JetStreamApi>>>();
    asked.set(verb, promise);
    setImmediate(() => {
      asked.delete(verb);
      resolve(api(verb));
    });
    return promise;
  };
}
