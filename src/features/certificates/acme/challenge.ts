/**
 * Proves control of a host over HTTP: shows the answer and checks that it is visible.
 *
 * HTTP-01 (RFC 8555 8.3): the answer goes to the board from which every replica answers. Before the authority
 * is told to look, we look ourselves: the answer must have reached this replica, and if the host is reachable
 * from here, it must answer correctly, because a wrong answer would cost one of the authority's few failed
 * validations. A host that cannot be resolved or reached from inside proves nothing and does not block.
 * DNS-01 (8.4) is in solvers/.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { OrreryError } from '../../../base/errors.ts';
import type { HttpClient } from './authority-http.ts';
import { placeOf } from './authority-http.ts';

/** Answers to HTTP-01 challenges, shared by all replicas. */
export interface ChallengeBoard {
  put(token: string, keyAuthorization: string): Promise<void>;
  remove(token: string): Promise<void>;
  /** The answer, from any source; null: there is none. */
  find(token: string): Promise<string | null>;
  /** Whether this replica's own picture contains it. */
  has(token: string): boolean;
}

export interface Presented {
  /** Removes what was shown. Never rejects: left-overs do no harm. */
  cleanUp(signal: AbortSignal): Promise<void>;
}

export interface ChallengeParts {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly board: ChallengeBoard;
}

/** How long an answer may take to arrive, and a wrong one to be corrected, ms. */
const roundPatienceMs = 5_000;
const wrongPatienceMs = 30_000;
/** A new route is wrong or missing at first: controllers and load balancers need a while. */
const routedPatienceMs = { wrong: 120_000, unreachable: 5_000 } as const;
const lookTimeoutMs = 2_000;
const lookPauseMs = 500;

/** @throws OrreryError ACME_REFUSED if the host answers incorrectly, BUS_… */
export async function presentHttp(
  { http, clock, board }: ChallengeParts,
  {
    host,
    token,
    keyAuthorization,
    isRouted,
  }: {
    readonly host: string;
    readonly token: string;
    readonly keyAuthorization: string;
    /** The route to this path was created for this challenge. */
    readonly isRouted: boolean;
  },
  signal: AbortSignal,
): Promise<Presented> {
  await board.put(token, keyAuthorization);
  const started = clock.monotonic();
  while (!board.has(token)) {
    if (clock.monotonic() - started > roundPatienceMs) {
      throw new OrreryError('BUS_UNREACHABLE', 'the answer to the challenge did not come back over NATS');
    }
    await sleep(clock, 20, signal);
  }
  const url = `http://${host}/.well-known/acme-challenge/${token}`;
  const patience = isRouted ? routedPatienceMs : { wrong: wrongPatienceMs, unreachable: 0 };
  for (;;) {
    const seen = await look(http, url, keyAuthorization, signal);
    const waited = clock.monotonic() - started;
    if (seen === 'right' || (seen === 'unreachable' && waited >= patience.unreachable)) break;
    if (seen !== 'unreachable' && waited > patience.wrong) {
      throw new OrreryError(
        'ACME_REFUSED',
        `${placeOf(url)} does not lead to Orrery's --acme-http: ${seen.wrong}; route that path there. The authority was not asked to validate`,
      );
    }
    await sleep(clock, lookPauseMs, signal);
  }
  return { cleanUp: () => board.remove(token).catch(() => {}) };
}

async function look(
  http: HttpClient,
  url: string,
  expected: string,
  signal: AbortSignal,
): Promise<'right' | 'unreachable' | { readonly wrong: string }> {
  try {
    const answer = await http({ method: 'GET', url, caBundle: null, timeoutMs: lookTimeoutMs }, signal);
    // The target of a redirect is unknown; the authority follows it, and we need not.
    if (answer.status >= 300 && answer.status < 400) return 'unreachable';
    if (answer.status === 200 && answer.body.trim() === expected) return 'right';
    return { wrong: answer.status === 200 ? 'it answers something else' : `it answers ${answer.status}` };
  } catch (thrown) {
    signal.throwIfAborted();
    void thrown;
    return 'unreachable';
  }
}
