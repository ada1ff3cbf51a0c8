/**
 * A network that balances each call at random over the Pods that a Service reaches by now, in virtual time:
 * the outside of engines under test. The program's own sampler and limiter make the rounds; only the single
 * call is replaced.
 */

import { parseAddress } from '../../../src/base/address.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Random } from '../../../src/base/random.ts';
import { type RouteSampling, sampleRoutes } from '../../../src/features/routes/effects/route-sample.ts';
import type { ProbeAnswer, probeCall } from '../../../src/features/routes/probe/call.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import type { Listing } from '../../../src/features/routes/probe/pace.ts';
import type { RouteSample, RouteWiden } from '../../../src/machines/service/route-effects.ts';
import { type Outside, reachable } from '../../actors/harness.ts';

/**
 * How a backend answers: with its own address, with an error, without the header, with nobody's address, or
 * never.
 */
export type Manner = 'healthy' | 'unhealthy' | 'anonymous' | 'stranger' | 'silent';

export class BalancedNetwork {
  /** Calls that were made, answered or not. */
  calls = 0;
  /** Calls in progress, and the most at any time. */
  inFlight = 0;
  inFlightMax = 0;
  /** Calls by host. */
  readonly callsTo = new Map<string, number>();
  /**
   * `<host> <ip>` → when a healthy Pod at this address last named itself in an answer through the host, ms
   * since the epoch.
   */
  readonly proofs = new Map<string, number>();
  readonly manners = new Map<string, Manner>();
  readonly #routes = new Map<string, string[]>();
  readonly #samplings = new Map<string, RouteSampling>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #latencyMs: number;
  readonly #listings = new Map<string, Listing>();
  readonly #onAnswer: (host: string, ip: string | undefined) => void;

  constructor(parts: {
    readonly clock: Clock;
    readonly random: Random;
    readonly latencyMs?: number;
    /** Who answers, undefined: nobody; not called for a call that is given up before. */
    readonly onAnswer?: (host: string, ip: string | undefined) => void;
  }) {
    this.#onAnswer = parts.onAnswer ?? (() => {});
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#latencyMs = parts.latencyMs ?? 4;
  }

  /** What the replica knows of EndpointSlices. */
  list(replica: string, listing: Listing): void {
    this.#listings.set(replica, listing);
  }

  /** From now on calls to the host also reach the address. */
  program(host: string, ip: string): void {
    const reached = this.#routes.get(host) ?? [];
    if (!reached.includes(ip)) this.#routes.set(host, [...reached, ip]);
  }

  withdraw(host: string, ip: string): void {
    this.#routes.set(
      host,
      (this.#routes.get(host) ?? []).filter((one) => one !== ip),
    );
  }

  reachedBy(host: string): readonly string[] {
    return this.#routes.get(host) ?? [];
  }

  reaches(host: string, ip: string): boolean {
    return this.#routes.get(host)?.includes(ip) ?? false;
  }

  /** Samples through this network; everything else succeeds. */
  readonly outside: Outside = async (effect, run, replica) => {
    const { sample, widen } = this.#samplingOf(replica);
    if (effect.type === 'route.sample') return sample(effect as unknown as RouteSample, run);
    if (effect.type === 'route.widen') return widen(effect as unknown as RouteWiden, run);
    return reachable(effect, run, replica);
  };

  /** One process has one limiter. */
  #samplingOf(replica: string): RouteSampling {
    const clock = this.#clock;
    const known = this.#samplings.get(replica);
    const listing = this.#listings.get(replica);
    const parts = { clock, limiter: new FairLimiter(clock), call: this.#call };
    const made = known ?? sampleRoutes({ ...parts, ...(listing === undefined ? {} : { listing }) });
    this.#samplings.set(replica, made);
    return made;
  }

  readonly #call: typeof probeCall = ({ url, timeoutMs }, _parts, signal, onAnswer) =>
    new Promise((resolve) => {
      this.calls += 1;
      this.inFlight += 1;
      this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
      const { hostname } = new URL(url);
      this.callsTo.set(hostname, (this.callsTo.get(hostname) ?? 0) + 1);
      const reached = this.#routes.get(hostname) ?? [];
      const ip = reached[Math.floor(this.#random.next() * reached.length)];
      const manner = ip === undefined ? 'healthy' : (this.manners.get(ip) ?? 'healthy');
      const end = (answer: ProbeAnswer | null) => {
        signal.removeEventListener('abort', onAbort);
        timer.cancel();
        this.inFlight -= 1;
        if (answer) {
          this.#onAnswer(hostname, ip);
          onAnswer(answer);
        }
        resolve();
      };
      const onAbort = () => end(null);
      const delayMs = manner === 'silent' ? timeoutMs : this.#latencyMs * (0.5 + this.#random.next());
      const timer = this.#clock.after(delayMs, () => end(this.#answer(hostname, ip, manner)));
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });

  #answer(host: string, ip: string | undefined, manner: Manner): ProbeAnswer {
    if (ip === undefined || manner === 'silent') return { kind: 'unreachable', error: 'nobody' };
    if (manner === 'anonymous') return { kind: 'anonymous', status: 200 };
    const named = parseAddress(manner === 'stranger' ? '192.0.2.1' : ip);
    const status = manner === 'unhealthy' ? 503 : 200;
    if (manner === 'healthy') this.proofs.set(`${host} ${ip}`, this.#clock.now());
    return { kind: 'named', status, addresses: named ? [named] : [], unreadable: [] };
  }
}
