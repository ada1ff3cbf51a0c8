/**
 * Effect `acme.order`: a new order at the authority. Outcome order.made, whose URL the record keeps before
 * anything else is done.
 *
 * After a crash between the answer and the record there is one order too many; authorities forget it, and
 * some give out the same again.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { hasCode } from '../../../base/errors.ts';
import type { AcmeOrder } from '../../../machines/domain/domain-effects.ts';
import type { AcmeAccount, AcmeOrder as Order } from '../acme/acme-client.ts';
import type { AcmeAccounts } from './acme-accounts.ts';
import { acquiring } from './acquisition-failure.ts';

/** An authority that names no end keeps an order for a week, as Let's Encrypt does; less is safe. */
const expiryMs = 24 * 3_600_000;

export function makeOrder(accounts: AcmeAccounts, clock: Clock): EffectRunner<AcmeOrder> {
  return acquiring(async ({ host, issuer, attempt, replaces }, { signal }) => {
    const order = await ordered(accounts, issuer, host, replaces, signal);
    const expires = Date.parse(order.expires ?? '');
    const at = Number.isNaN(expires) ? clock.now() + expiryMs : expires;
    return { type: 'order.made', attempt, order: { url: order.url, expires: at } };
  });
}

async function ordered(
  accounts: AcmeAccounts,
  issuer: string,
  host: string,
  replaces: string | null,
  signal: AbortSignal,
): Promise<Order> {
  const { account, spec } = await accounts.of(issuer, signal);
  try {
    return await withoutReplacing(account, host, { profile: spec.profile, replaces }, signal);
  } catch (thrown) {
    if (!isAboutAccount(thrown)) throw thrown;
    // The authority was set up again, or has closed the account: what we know of both is of before.
    accounts.forget(issuer);
    const again = await accounts.of(issuer, signal);
    return withoutReplacing(again.account, host, { profile: spec.profile, replaces }, signal);
  }
}

/**
 * An authority that will not have it said what a certificate replaces is asked for one that replaces nothing.
 */
async function withoutReplacing(
  account: AcmeAccount,
  host: string,
  wish: { readonly profile: string | null; readonly replaces: string | null },
  signal: AbortSignal,
): Promise<Order> {
  const replaces = account.renewalInfo === null ? null : wish.replaces;
  try {
    return await account.newOrder(host, { ...wish, replaces }, signal);
  } catch (thrown) {
    const isOfReplacing =
      hasCode(thrown, 'ACME_REFUSED') &&
      ['alreadyReplaced', 'malformed', 'unauthorized', 'conflict'].includes(String(thrown.facts.type));
    if (replaces === null || !isOfReplacing) throw thrown;
    return account.newOrder(host, { ...wish, replaces: null }, signal);
  }
}

/** A host that the account may not have is refused in the same words as an account that was deactivated. */
function isAboutAccount(thrown: unknown): boolean {
  if (!hasCode(thrown, 'ACME_REFUSED', 'ACME_UNREACHABLE')) return false;
  const { type, status } = thrown.facts;
  return type === 'accountDoesNotExist' || type === 'unauthorized' || status === 404;
}
