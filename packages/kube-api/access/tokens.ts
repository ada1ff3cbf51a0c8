/**
 * Bearer tokens: the administrator's, given at the server's start, and those issued for ServiceAccounts.
 *
 * Promises: only digests of tokens are kept. A token ends with its time and with its account. Absent: tokens
 * that others could verify (JWT); they are opaque.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../src/base/clock.ts';
import type { Random } from '../../../src/base/random.ts';
import type { Store } from '../storage/store.ts';
import { newUid } from '../uid.ts';
import { administrator, serviceAccountUser, type User } from './users.ts';

/** The audience of tokens, unless another one is requested: this API server. */
export const ownAudience = 'https://kubernetes.default.svc';

export interface Account {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Issued {
  readonly account: Account;
  readonly audiences: readonly string[];
  readonly expiresAt: number;
  readonly id: string;
}

export interface Known {
  readonly user: User;
  readonly audiences: readonly string[];
}

/** The most tokens kept. Ended ones are forgotten first, then the oldest. */
const tokensMax = 10_000;

export class Tokens {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: Store;
  readonly #administrator: string;
  /** By digest, oldest first. */
  readonly #issued = new Map<string, Issued>();

  constructor(parts: { clock: Clock; random: Random; store: Store }, administratorToken: string) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#store = parts.store;
    this.#administrator = digestOf(administratorToken);
  }

  issue(account: Account, audiences: readonly string[], expiresAt: number): string {
    this.#makeRoom();
    const token = `${this.#random.id()}${this.#random.id()}`;
    this.#issued.set(digestOf(token), { account, audiences, expiresAt, id: newUid(this.#random) });
    return token;
  }

  /** undefined: the token is unknown or has ended. */
  find(token: string): Known | undefined {
    const digest = digestOf(token);
    if (digest === this.#administrator) return { user: administrator, audiences: [ownAudience] };
    const issued = this.#issued.get(digest);
    if (issued === undefined || issued.expiresAt <= this.#clock.now()) return undefined;
    const { account, audiences, id } = issued;
    const current = this.#store.collection('serviceaccounts').get(account);
    if (current?.object.metadata.uid !== account.uid) return undefined;
    return { user: serviceAccountUser(account, id), audiences };
  }

  #makeRoom(): void {
    if (this.#issued.size < tokensMax) return;
    const now = this.#clock.now();
    for (const [digest, { expiresAt }] of this.#issued) if (expiresAt <= now) this.#issued.delete(digest);
    const [oldest] = this.#issued.keys();
    if (this.#issued.size >= tokensMax && oldest !== undefined) this.#issued.delete(oldest);
  }
}

/** Digests are looked up in a table, so no comparison takes longer the more of a secret is right. */
function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
