/**
 * Sends whatever is published in one turn of the event loop in one piece.
 *
 * The client library writes to its socket once per microtask, so a hundred answers that arrive in one packet
 * become a hundred system calls: a tenth of the processor time of a busy replica. Here it writes when the
 * turn is over. This reaches into the library: if its inside is not what we expect, it writes as often as it
 * likes, and nothing else changes.
 */

interface Protocol {
  /** Writes what is buffered, all of it. */
  flushPending(): void;
}

/** @param connection a NatsConnection of the library */
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
