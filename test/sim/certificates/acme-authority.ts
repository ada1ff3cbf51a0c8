/**
 * An ACME authority as a pure model: orders, issued certificates, limits, outages, and the windows that it
 * suggests for renewals. A request takes effect, whoever hears the answer.
 */
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { SimClock } from '../../../packages/testing/time/sim-clock.ts';
import type { AcquisitionFailed } from '../../../src/machines/domain/domain-events.ts';
import type { CertificateFacts } from '../../../src/machines/domain/domain-facts.ts';

export interface Order {
  readonly host: string;
  readonly url: string;
  /** ARI id of the certificate that it renews. */
  readonly replaces: string | null;
  readonly madeAt: number;
  /** At the time that the authority suggested: it counts against no budget. */
  readonly isSuggested: boolean;
  status: 'pending' | 'ready' | 'valid' | 'lost';
}

export type Refusal = Pick<AcquisitionFailed, 'outcome' | 'message' | 'retryAfterMs' | 'orderLost'> & {
  readonly scope?: AcquisitionFailed['scope'];
};

const day = 86_400_000;
const ariPrefix = 'ari-';

export class AcmeAuthority {
  readonly orders: Order[] = [];
  /** By fingerprint: the certificates that it issued. */
  readonly issued = new Map<string, { readonly host: string; readonly facts: CertificateFacts }>();
  isUp = true;
  /** The share of requests that meet a wrong nonce even when repeated. */
  badNonces = 0;
  /** Hosts whose proof fails: slow DNS, or a path that leads elsewhere. */
  readonly unproven = new Set<string>();
  /** Until when it asks everybody to wait. */
  limitedUntil = 0;
  /** Revoked fingerprints: their window is now. */
  readonly revoked = new Set<string>();
  readonly #clock: SimClock;
  readonly #chance: Chance;
  readonly #lifeMs: number;

  constructor(clock: SimClock, chance: Chance, lifeMs: number) {
    this.#clock = clock;
    this.#chance = chance;
    this.#lifeMs = lifeMs;
  }

  /** Why it refuses now; null: it does not. */
  refusal(): Refusal | null {
    if (!this.isUp) return failed('down', 'no answer');
    if (this.#chance.happens(this.badNonces)) return failed('down', 'badNonce, again and again');
    const leftMs = this.limitedUntil - this.#clock.now();
    if (leftMs > 0) return { ...failed('rateLimited', 'slow down', leftMs), scope: 'account' };
    return null;
  }

  /** @param replaces the ARI id of the certificate that is renewed (RFC 9773) */
  order(host: string, replaces: string | null): Order {
    const isSuggested = replaces !== null && this.#isOpen(replaces);
    const url = `https://ca/order/${this.orders.length}`;
    const order: Order = { host, url, replaces, madeAt: this.#clock.now(), isSuggested, status: 'pending' };
    this.orders.push(order);
    return order;
  }

  /** Whether it suggests to renew a certificate now that nothing has replaced yet. */
  #isOpen(ariId: string): boolean {
    const window = this.window(ariId.slice(ariPrefix.length));
    const isReplaced = this.orders.some(({ replaces, status }) => replaces === ariId && status === 'valid');
    return window !== null && !isReplaced && this.#clock.now() >= window.start;
  }

  authorize(url: string): Refusal | null {
    const order = this.find(url);
    if (order === null) return { ...failed('refused', 'no such order'), orderLost: true };
    if (this.unproven.has(order.host)) {
      order.status = 'lost';
      return { ...failed('refused', `the proof of ${order.host} failed`), orderLost: true };
    }
    if (order.status === 'pending') order.status = 'ready';
    return null;
  }

  /** @returns the certificate: the same one for the same order */
  finalize(url: string): CertificateFacts | Refusal {
    const order = this.find(url);
    if (order === null || order.status === 'pending' || order.status === 'lost')
      return { ...failed('refused', 'the order is not ready'), orderLost: true };
    const fingerprint = fingerprintOf(url);
    const known = this.issued.get(fingerprint);
    if (known) return known.facts;
    order.status = 'valid';
    const notBefore = this.#clock.now();
    const facts = {
      fingerprint,
      notBefore,
      notAfter: notBefore + this.#lifeMs,
      ariId: `${ariPrefix}${fingerprint}`,
    };
    this.issued.set(fingerprint, { host: order.host, facts });
    return facts;
  }

  /** The window that it suggests for this certificate's renewal; null: it knows none. */
  window(fingerprint: string): { readonly start: number; readonly end: number } | null {
    const known = this.issued.get(fingerprint);
    if (!known) return null;
    if (this.revoked.has(fingerprint)) return { start: this.#clock.now() - day, end: this.#clock.now() - 1 };
    const { notBefore, notAfter } = known.facts;
    const start = notBefore + ((notAfter - notBefore) * 2) / 3;
    return { start, end: start + (notAfter - notBefore) / 20 };
  }

  find(url: string): Order | null {
    return this.orders.find((one) => one.url === url) ?? null;
  }
}

/** 32 hexadecimal digits, like a part of SHA-256. */
function fingerprintOf(url: string): string {
  const number = url.slice(url.lastIndexOf('/') + 1);
  return number.padStart(16, '0').padEnd(32, 'f');
}

const failed = (
  outcome: AcquisitionFailed['outcome'],
  message: string,
  retryAfterMs: number | null = null,
): Refusal => ({ outcome, message, retryAfterMs, orderLost: false });
