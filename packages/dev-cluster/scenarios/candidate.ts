/**
 * A candidate of an election over NATS, as one in any language is to be written (docs/features/elections.md).
 *
 * Promises: it believes that it leads only until its own count says that its time is over, and counts from
 * before it asked. It hears of its election at once by the event feed; if nothing is heard it asks again
 * within a third of its time.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import type { Log } from '../../../src/base/log.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { errorInAnswer } from '../../../src/bus/rpc.ts';
import type { ElectionAction, Subjects } from '../../../src/bus/subjects.ts';
import type { LeasePlace } from '../../../src/machines/election/lease-record.ts';

export interface CandidateParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly log: Log;
  /** Namespace and name of the Election. */
  readonly election: LeasePlace;
  readonly id: string;
  readonly ttlMs: number;
  readonly onLeading?: (term: number) => void;
  readonly onLost?: (term: number) => void;
}

export interface Candidate {
  readonly id: string;
  /** The term under which it leads now; null: it does not. */
  term(): number | null;
  /** When it last asked with success whether it leads, monotonic ms; 0: it does not lead. */
  heardAt(): number;
  /** Gives the leadership up in good order; it campaigns again after a while. */
  resign(): Promise<void>;
  /** Says nothing more, as if it had died, for so long. */
  fallSilent(ms: number): void;
  stop(): void;
}

interface Answer {
  readonly leading: boolean;
  readonly term?: number;
  readonly expiresInMs?: number;
}

export function startCandidate(parts: CandidateParts): Candidate {
  const { bus, subjects, clock, log, election, id, ttlMs } = parts;
  const { namespace, name } = election;
  let current: { readonly term: number; until: number } | null = null;
  let silentUntil = 0;
  let heardAt = 0;
  let timer: Timer | null = null;
  let isStopped = false;

  const request = async (action: ElectionAction, body: object): Promise<Answer> => {
    const subject = subjects.rpcElection(namespace, name, action);
    const answer = await bus.request(subject, encodeJson(body), { timeoutMs: ttlMs / 3 });
    const refused = errorInAnswer(answer);
    if (refused) throw refused;
    return decode(answer.data) as Answer;
  };
  const end = () => {
    const lost = current;
    current = null;
    heardAt = 0;
    if (lost !== null) parts.onLost?.(lost.term);
  };
  const ask = async (): Promise<void> => {
    const sentAt = clock.monotonic();
    if (current !== null && sentAt >= current.until) end();
    const held = current;
    const answer =
      held === null
        ? await request('campaign', { candidate: id, ttlMs })
        : await request('renew', { candidate: id, term: held.term });
    if (isStopped || held !== current) return;
    const { leading, term = 0, expiresInMs = 0 } = answer;
    const until = sentAt + expiresInMs;
    if (!leading) return end();
    heardAt = sentAt;
    if (current !== null) current.until = until;
    else {
      current = { term, until };
      parts.onLeading?.(term);
    }
  };
  const again = (ms: number) => {
    timer?.cancel();
    if (!isStopped) timer = clock.after(ms, tick);
  };
  const tick = () => {
    const silentMs = silentUntil - clock.monotonic();
    if (silentMs > 0) return again(silentMs);
    again(ttlMs / 3);
    ask().catch((error) => log.debug({ candidate: id, error: asError(error).message }, 'no answer'));
  };
  const feed = bus.subscribe(subjects.event(`election/${namespace}/${name}`), ({ data }) => {
    const { event } = decode(data) as { event?: { type?: string; holder?: string } };
    if (current === null && event?.type === 'lease.written' && event.holder === id) tick();
  });
  tick();

  return {
    id,
    term: () => (current !== null && clock.monotonic() < current.until ? current.term : null),
    heardAt: () => heardAt,
    async resign() {
      const held = current;
      if (held === null) return;
      end();
      again(ttlMs);
      await request('resign', { candidate: id, term: held.term });
    },
    fallSilent(ms) {
      silentUntil = clock.monotonic() + ms;
      again(ms);
    },
    stop() {
      isStopped = true;
      timer?.cancel();
      feed.stop();
    },
  };
}
