/**
 * What the bus needs of a connection to NATS: plain messages with headers, and the state of the connection.
 *
 * `nats.ts` implements it with the client library; everything above it (requests, stored streams, following)
 * is independent of the library.
 */
import type { BusStatus, Headers, Subscription } from '../bus.ts';

export interface WireMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Where an answer is expected; empty if none is. */
  readonly reply: string;
  /** The status line of the headers (`100` heartbeat, `503` nobody answers, …); 0 if there is none. */
  readonly status: number;
  readonly description: string;
  headers(): Headers;
}

export interface Wire {
  readonly status: BusStatus;
  /** Prefix of the subjects on which only this connection listens; without a trailing dot. */
  readonly inbox: string;
  readonly serverVersion: string;
  /** Whether the server belongs to a cluster. */
  readonly isClustered: boolean;
  /** The largest message that the server accepts, bytes. */
  readonly maxPayload: number;
  onStatus(callback: (status: BusStatus) => void): Subscription;
  /** Calls back with the subject when the server does not let us publish there. */
  onForbidden(callback: (subject: string) => void): Subscription;
  /**
   * Sends; drops the message while disconnected. Messages of one turn of the event loop leave together.
   *
   * @throws OrreryError BUS_REFUSED for a payload above the server's limit, or an illegal subject or header
   */
  publish(subject: string, data: Uint8Array, headers?: Headers, reply?: string): void;
  /** Survives reconnects and refusals. The caller must catch exceptions of `onMessage`. */
  subscribe(subject: string, onMessage: (message: WireMessage) => void, queue?: string): Subscription;
  /** Flushes the buffer and closes, in bounded time. */
  close(): Promise<void>;
}
