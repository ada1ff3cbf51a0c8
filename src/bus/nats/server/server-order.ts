/**
 * Which NATS server is dialled next, and for how long.
 *
 * The servers of a NATS cluster announce one another, often under addresses that exist in their own network
 * only: a dial there lasts until it is given up. So the servers that were given come first, and after each
 * round of them one that was announced, the less often the more often it failed. Announced servers help where
 * one server of several was given, and that one is away.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';

/** A server as the client library knows it. */
export interface KnownServer {
  /** `host:port` */
  readonly listen: string;
  /** Another server announced it. */
  readonly gossiped: boolean;
}

export interface ServerOrder {
  /** Which one, and after how many ms. */
  next<T extends KnownServer>(pool: readonly T[]): { readonly server: T; readonly delay: number } | null;
  /** For how long it is dialled, ms: with its handshake. */
  timeoutMs(server: KnownServer): number;
  onConnected(listen: string): void;
}

/**
 * Pauses before a server is dialled again: without one, all replicas would stampede; a second would be a
 * third of the time available for a takeover.
 */
const againFirstMs = 100;
const againSpreadMs = 150;
/** A lost node answers nothing. A busy server may take longer: the next attempt waits as long as a start. */
const givenFirstMs = 2_000;
/** One attempt at a start. A person at the command line waits longer, for the reason. */
export const givenLaterMs = 4_000;
/** Five round trips of 200 and of 400 ms: the handshake with TLS. */
const announcedFirstMs = 1_000;
const announcedLaterMs = 2_000;
/** A round of servers that refuse at once lasts as long as the pause. */
const roundsMost = 8;

export function serverOrder({
  clock,
  random,
}: {
  readonly clock: Clock;
  readonly random: Random;
}): ServerOrder {
  /** Since the last connection, by address. */
  const tried = new Map<string, { readonly times: number; readonly at: number }>();
  /** Of announced servers, since each was connected to. */
  const failures = new Map<string, number>();
  /** How many rounds of the given ones there had been when an announced one was dialled. */
  let roundsBefore = 0;
  const times = ({ listen }: KnownServer) => tried.get(listen)?.times ?? 0;
  const failed = ({ listen }: KnownServer) => failures.get(listen) ?? 0;
  const chosen = <T extends KnownServer>(pool: readonly T[]): T | undefined => {
    const given = least(
      pool.filter(({ gossiped }) => !gossiped),
      times,
    );
    const announced = least(
      pool.filter(({ gossiped }) => gossiped),
      failed,
    );
    if (given === undefined || announced === undefined) return given ?? announced;
    const rounds = times(given);
    if (rounds < roundsBefore + Math.min(roundsMost, 2 ** failed(announced))) return given;
    roundsBefore = rounds;
    return announced;
  };
  return {
    next(pool) {
      const server = chosen(pool);
      if (server === undefined) return null;
      const pauseMs = againFirstMs + Math.floor(againSpreadMs * random.next());
      const now = clock.monotonic();
      const delay = Math.max(0, (tried.get(server.listen)?.at ?? Number.NEGATIVE_INFINITY) + pauseMs - now);
      tried.set(server.listen, { times: times(server) + 1, at: now + delay });
      if (server.gossiped) failures.set(server.listen, failed(server) + 1);
      return { server, delay };
    },
    timeoutMs(server) {
      const isFirst = times(server) <= 1;
      if (server.gossiped) return isFirst ? announcedFirstMs : announcedLaterMs;
      return isFirst ? givenFirstMs : givenLaterMs;
    },
    onConnected(listen) {
      failures.delete(listen);
      tried.clear();
      roundsBefore = 0;
    },
  };
}

/** The first of those with the smallest number. */
function least<T>(all: readonly T[], numberOf: (one: T) => number): T | undefined {
  return all.reduce<T | undefined>(
    (found, one) => (found !== undefined && numberOf(found) <= numberOf(one) ? found : one),
    undefined,
  );
}
