/** What the parts of one client of the memory hub share. */
import type { Ambient } from '../../base/log-port.ts';
import type { BusMessage, StreamName } from '../bus.ts';
import type { MemoryFaults } from './faults.ts';
import type { MemoryLink, Schedule } from './link.ts';
import type { MemoryServer } from './memory-server.ts';

export interface ClientEnvironment extends Pick<Ambient, 'clock' | 'log'> {
  readonly id: string;
  readonly server: MemoryServer;
  readonly schedule: Schedule;
}

/** What the parts of one client share. */
export interface ClientParts extends ClientEnvironment {
  readonly link: MemoryLink;
  readonly faults: MemoryFaults;
  /** What makes the followers of a stream start over. */
  readonly followers: Map<StreamName, Set<() => void>>;
  readonly counters: { handlerErrors: number; disconnects: number; followRestarts: number };
  /** Calls a user's handler; an exception is logged and counted. */
  guarded<T>(handler: (message: T) => void, subject: string, message: T): void;
  /** Delivers a core message to the client, subject to its faults. */
  receive(message: BusMessage, handler: (message: BusMessage) => void): void;
}
