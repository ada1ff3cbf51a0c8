/**
 * The bus in one process: a hub in the role of the server, and any number of clients.
 *
 * For tests, for simulations (deterministic: the order of everything follows from the order of calls, or from
 * the given scheduler; time comes from the Clock alone) and as the baseline of the benchmark.
 *
 * Keeps promises B1–B7, as `nats.ts` does. Each direction of each client is a queue of its own, like a TCP
 * connection: a scheduler may serve clients in any order, but no two messages of one connection overtake each
 * other. Absent: durability, and a real server's delays.
 */
import type { Clock } from '../../base/clock.ts';
import { type Log, silentLog } from '../../base/log-port.ts';
import type { StoredMessage, StreamName } from '../bus.ts';
import { type StreamDefinitions, streamDefinitions } from '../streams.ts';
import type { Schedule } from './link.ts';
import { type MemoryBus, memoryClient } from './memory-bus.ts';
import { memoryServer } from './memory-server.ts';

export interface MemoryHubParts {
  readonly clock: Clock;
  readonly cluster: string;
  /** The order in which clients are served; by default microtasks, first come, first served. */
  readonly schedule?: Schedule;
  /** By default those of the cluster. */
  readonly streams?: StreamDefinitions;
  readonly log?: Log;
}

export type MemoryHub = ReturnType<typeof memoryHub>;

export function memoryHub(parts: MemoryHubParts) {
  const { clock, cluster, schedule = queueMicrotask, log = silentLog } = parts;
  const server = memoryServer(clock, parts.streams ?? streamDefinitions(cluster));
  let clients = 0;
  return {
    /** @param name appears in the log; need not be unique */
    connect(_name = 'client'): MemoryBus {
      const id = `${++clients}`;
      return memoryClient({ id, server, clock, schedule, log });
    },
    /** Replaces a stream by an empty one of the same name. Followers find out at their next connection. */
    makeAnew: (stream: StreamName): void => server.stream(stream).makeAnew(),
    /** Replaces a stream by one that contains an earlier result of `stored`, as if restored from a backup. */
    putBack: (stream: StreamName, messages: readonly StoredMessage[]): void =>
      server.stream(stream).putBack(messages),
    /** The messages of a stream, oldest first. */
    stored: (stream: StreamName): readonly StoredMessage[] => server.stream(stream).from(0, () => true),
    /** Sees every message when it is stored, before anybody else; for the checkers of a simulation. */
    observe: (callback: (stream: StreamName, message: StoredMessage) => void): void =>
      void server.observers.push(callback),
  };
}
