/**
 * Detects silent consumers: the server that runs them is gone, or only one of them.
 *
 * Every message of a server's consumers shows that the server lives, and so does any message if there is only
 * one server; a server that says nothing for a while is asked about one of them. So a dead server is noticed
 * soon although each consumer beats rarely. One timer serves all consumers of a connection.
 */
import type { Clock, Timer } from '../../base/clock.ts';

export interface Listening {
  heard(): void;
  stop(): void;
}

/** A consumer, as far as it can fall silent. */
export interface Silent {
  /** The server that runs it; empty: there is only one. */
  readonly server: string;
  /** Resolves when that server says that the consumer is there. */
  ask(): Promise<unknown>;
  /** Called once, after a server or the consumer has said nothing for too long. */
  onSilent(silentMs: number): void;
}

export interface SilenceWatch {
  listen(consumer: Silent): Listening;
  /** A server said something else. @param server empty: there is only one */
  heard(server: string): void;
}

export interface SilenceBounds {
  /** A server that has been silent for this long is asked. */
  readonly askAfterMs: number;
  /** A server that does not answer for this long is gone, with its consumers. */
  readonly answerMaxMs: number;
  /** A consumer that has been silent for this long is gone. */
  readonly consumerMaxMs: number;
}

interface Server {
  heardAt: number;
  /** undefined: it spoke since. */
  askedAt: number | undefined;
}

interface Listener {
  readonly consumer: Silent;
  readonly server: Server;
  heardAt: number;
}

export function createSilenceWatch(clock: Clock, bounds: SilenceBounds): SilenceWatch {
  const servers = new Map<string, Server>();
  const all = new Set<Listener>();
  let timer: Timer | undefined;

  const dueAt = ({ server, heardAt }: Listener): number =>
    Math.min(heardAt + bounds.consumerMaxMs, serverDueAt(server, bounds));
  const look = (): void => {
    timer = undefined;
    const now = clock.monotonic();
    for (const one of all) if (dueAt(one) <= now) judge(one, now);
    lookLater();
  };
  const judge = (one: Listener, now: number): void => {
    const { server, consumer } = one;
    const isServerGone = server.askedAt !== undefined && serverDueAt(server, bounds) <= now;
    const heardAt = isServerGone ? server.heardAt : one.heardAt;
    if (isServerGone || now - heardAt >= bounds.consumerMaxMs) {
      all.delete(one);
      consumer.onSilent(now - heardAt);
    } else if (server.askedAt === undefined) {
      server.askedAt = now;
      // Without an answer the time goes on.
      consumer.ask().then(() => hear(server), nothing);
    }
  };
  const hear = (server: Server | undefined): void => {
    if (server === undefined) return;
    server.heardAt = clock.monotonic();
    server.askedAt = undefined;
  };
  const lookLater = (): void => {
    if (timer !== undefined || all.size === 0) return;
    timer = clock.after(least(all, dueAt) - clock.monotonic(), look);
  };
  return {
    heard: (name) => hear(servers.get(name)),
    listen(consumer) {
      const server = servers.get(consumer.server) ?? { heardAt: 0, askedAt: undefined };
      servers.set(consumer.server, server);
      hear(server);
      const one = { consumer, server, heardAt: server.heardAt };
      all.add(one);
      lookLater();
      return {
        heard() {
          hear(server);
          one.heardAt = server.heardAt;
        },
        stop() {
          all.delete(one);
          if (all.size > 0) return;
          timer?.cancel();
          timer = undefined;
          servers.clear();
        },
      };
    },
  };
}

function least<T>(all: Iterable<T>, numberOf: (one: T) => number): number {
  let found = Number.POSITIVE_INFINITY;
  for (const one of all) found = Math.min(found, numberOf(one));
  return found;
}

const nothing = (): void => undefined;

/** When the server has to be asked, or is gone. */
function serverDueAt({ heardAt, askedAt }: Server, { askAfterMs, answerMaxMs }: SilenceBounds): number {
  return askedAt === undefined ? heardAt + askAfterMs : askedAt + answerMaxMs;
}
