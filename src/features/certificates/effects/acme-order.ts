/**
 * Effect `acme.order`: creates an order at the authority. Outcome order.made, whose URL the record keeps
 * before anything else happens.
 *
 * A crash between the answer and the record leaves one superfluous order; authorities forget it, and some
 * return the same one again.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { hasCode } from '../../../base/errors.ts';
import type { AcmeOrder } from '../../../machines/domain/domain-effects.ts';
import type { AcmeAccount, AcmeOrder as Order } from '../acme/acme-client.ts';
import type { AcmeAccounts, OpenedAccount } from './acme-accounts.ts';
import { acquiring, unusableIssuer } from './acquisition-failure.ts';

/** If the authority names no expiry: Let's Encrypt keeps an order for a week, and less is safe. */
const expiryMs = 24 * 3_600_000;
/**
 * No order is taken for expired before, ms: where the authority's clock is behind, or ours ahead, each
 * attempt would place another. One that has expired says so.
 */
const keptMs = 600_000;

export function makeOrder(accounts: AcmeAccounts, clock: Clock): EffectRunner<AcmeOrder> {
  return acquiring(async ({ host, issuer, attempt, replaces }, { signal }) => {
    const order = await ordered(accounts, issuer, host, replaces, signal);
    const expires = Date.parse(order.expires ?? '');
    const at = Number.isNaN(expires) ? clock.now() + expiryMs : expires;
    return {
      type: 'order.made',
      attempt,
      order: {
        url: order.url,
        expires: Math.max(at, clock.now() + keptMs),
        ...(order.status === 'valid' || order.status === 'processing' ? { wasIssued: true } : {}),
      },
    };
  });
}

async function ordered(
  accounts: AcmeAccounts,
  issuer: string,
  host: string,
  replaces: string | null,
  signal: AbortSignal,
): Promise<Order> {
  const place = ({ account, spec, version }: OpenedAccount) =>
    withoutReplacing(account, host, { profile: spec.profile, replaces }, signal).catch((thrown: unknown) => {
      if (!hasCode(thrown, 'ACME_REFUSED') || thrown.facts.type !== 'invalidProfile') throw thrown;
      throw unusableIssuer(`${thrown.message}; name another in spec.acme.profile, or none`, version);
    });
  return accounts.use(issuer, 'places an order', place, signal);
}

/** If the authority rejects the information which certificate is replaced, orders without it. */
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
    if (replaces === null || !isOfReplacing(thrown)) throw thrown;
    return account.newOrder(host, { ...wish, replaces: null }, signal);
  }
}

/**
 * Some authorities answer with an error of their own (500, `serverInternal`) for a certificate that another
 * account ordered, or that they have forgotten.
 */
const isOfReplacing = (thrown: unknown) =>
  hasCode(thrown, 'ACME_REFUSED', 'ACME_UNREACHABLE') &&
  ['alreadyReplaced', 'malformed', 'unauthorized', 'conflict', 'serverInternal'].includes(
    String(thrown.facts.type),
  );
