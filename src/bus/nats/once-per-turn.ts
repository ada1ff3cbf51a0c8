/**
 * Sends everything published in one turn of the event loop together.
 *
 * The client library writes to its socket once per microtask, so a hundred answers that arrive in one packet
 * cause a hundred system calls: a tenth of the processor time of a busy replica. Here it writes at the end of
 * the turn. This uses the library's internals: if they are not as expected, the library writes as usual.
 */

interface Protocol {
  /** Writes the whole buffer. */
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
