/**
 * What the bus asks of a connection to NATS: plain messages with headers, and to know whether it is
 * connected.
 *
 * `nats.ts` makes one of the client library; everything above it (requests, stored streams, following) is
 * ours and knows no library.
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
  /** Begins the subjects on which this connection alone listens; without a dot at its end. */
  readonly inbox: string;
  readonly serverVersion: string;
  /** Whether the server says that it belongs to a cluster. */
  readonly isClustered: boolean;
  /** The largest message that the server takes, bytes. */
  readonly maxPayload: number;
  onStatus(callback: (status: BusStatus) => void): Subscription;
  /**
   * Sends, or drops while not connected. Messages of one turn of the event loop leave in one packet.
   * @throws OrreryError BUS_REFUSED for a payload above the server's limit, or an illegal subject or header
   */
  publish(subject: string, data: Uint8Array, headers?: Headers, reply?: string): void;
  /** Holds over reconnects. What `onMessage` throws must be caught by the caller. */
  subscribe(subject: string, onMessage: (message: WireMessage) => void, queue?: string): Subscription;
  /** Sends what is buffered and closes; in bounded time. */
  close(): Promise<void>;
}
