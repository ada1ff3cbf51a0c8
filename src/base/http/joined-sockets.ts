/** Joins two sockets after an upgrade to another protocol: each receives what the other sends. */
import type { Duplex } from 'node:stream';

export interface Upgraded {
  readonly socket: Duplex;
  /** The bytes that followed the head of the request or of the answer. */
  readonly head: Buffer;
}

/** Forwards data both ways until one of the two ends; then ends the other. */
export function joinSockets(here: Upgraded, there: Upgraded): void {
  there.socket.on('error', () => here.socket.destroy());
  there.socket.on('close', () => here.socket.destroy());
  here.socket.on('close', () => there.socket.destroy());
  if (there.head.length > 0) here.socket.write(there.head);
  if (here.head.length > 0) there.socket.write(here.head);
  there.socket.pipe(here.socket);
  here.socket.pipe(there.socket);
}
