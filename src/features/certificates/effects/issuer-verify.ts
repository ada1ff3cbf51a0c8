/**
 * Effect `issuer.verify`: checks whether an Issuer can provide certificates now. Outcome issuer.verified |
 * issuer.failed.
 *
 * ACME: the directory answers and knows our account (created if there is none), and the prerequisites of its
 * challenges exist. CA: certificate and key are readable, match and may sign.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { asError, hasCode, retryAfterOf } from '../../../base/errors.ts';
import type { IssuerVerify } from '../../../machines/issuer/issuer-effects.ts';
import type { IssuerFailed } from '../../../machines/issuer/issuer-events.ts';
import { checkChallenge, type ExhibitParts } from '../solvers/exhibits.ts';
import type { AcmeAccounts, IssuerLookup } from './acme-accounts.ts';
import type { Authorities } from './certificate-authorities.ts';

/** It is kept in a record, and shown; authorities use some sixty. */
const accountCharsMax = 512;

export function verifyIssuer(
  parts: {
    readonly issuerOf: IssuerLookup;
    readonly accounts: AcmeAccounts;
    readonly authorities: Authorities;
  } & Pick<ExhibitParts, 'kube' | 'service'>,
): EffectRunner<IssuerVerify> {
  const { issuerOf, accounts, authorities } = parts;
  return async ({ issuer, check }, { signal }) => {
    try {
      // Asked again instead of cached: an earlier answer says nothing about now.
      accounts.forget(issuer);
      if (issuerOf(issuer)?.spec.ca) {
        const { authority } = await authorities.of(issuer, signal);
        return { type: 'issuer.verified', check, ca: authority.life };
      }
      const { spec, account } = await accounts.of(issuer, signal);
      await checkChallenge(parts, spec, signal);
      const isShort = account.url.length <= accountCharsMax;
      return { type: 'issuer.verified', check, ...(isShort ? { account: account.url } : {}) };
    } catch (thrown) {
      signal.throwIfAborted();
      return failed(check, thrown);
    }
  };
}

function failed(check: number, thrown: unknown): IssuerFailed {
  const message = asError(thrown).message.slice(0, 500);
  if (hasCode(thrown, 'ACME_LIMITED')) {
    const retryAfterMs = retryAfterOf(thrown);
    return { type: 'issuer.failed', check, outcome: 'rateLimited', message, retryAfterMs };
  }
  const isTerminal = hasCode(
    thrown,
    'ACME_REFUSED',
    'CERTIFICATE_UNUSABLE',
    'KUBE_REFUSED',
    'KUBE_NOT_FOUND',
  );
  return {
    type: 'issuer.failed',
    check,
    outcome: isTerminal ? 'refused' : 'down',
    message,
    retryAfterMs: null,
  };
}
