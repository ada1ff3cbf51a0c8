/**
 * Effect `ari.fetch`: asks when the authority would like the certificate to be renewed. Outcome ari.fetched |
 * ari.unavailable.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { retryAfterOf } from '../../../base/errors.ts';
import type { AriFetch } from '../../../machines/domain/domain-effects.ts';
import { fetchWindow } from '../acme/ari.ts';
import type { HttpClient } from '../acme/authority-http.ts';
import type { AcmeAccounts } from './acme-accounts.ts';

export function askForWindow(
  accounts: AcmeAccounts,
  parts: { readonly http: HttpClient; readonly clock: Clock },
): EffectRunner<AriFetch> {
  return async ({ issuer, fingerprint, ariId }, { signal }) => {
    try {
      const { account, spec } = await accounts.of(issuer, signal);
      const { renewalInfo } = account;
      if (renewalInfo === null) return { type: 'ari.unavailable', fingerprint, retryAfterMs: null };
      const window = await fetchWindow(parts, { renewalInfo, ariId, caBundle: spec.caBundle }, signal);
      return { type: 'ari.fetched', fingerprint, ...window };
    } catch (thrown) {
      signal.throwIfAborted();
      accounts.doubt(issuer, thrown);
      return { type: 'ari.unavailable', fingerprint, retryAfterMs: retryAfterOf(thrown) };
    }
  };
}
