/**
 * The CAs of Issuers with `ca`. Owns the opened CAs of this process, each for a few seconds: many domains
 * share one read of the CA's Secret, and a changed CA is used soon. The CA's key never leaves this process
 * (I9).
 */

import type { FeatureParts } from '../../../actors/feature.ts';
import { hasCode } from '../../../base/errors.ts';
import { type CertificateAuthority, openAuthority } from '../acme/authority.ts';
import type { CaSpec } from '../issuer-spec.ts';
import type { IssuerLookup } from './acme-accounts.ts';
import { unusableIssuer } from './acquisition-failure.ts';
import { readSecret } from './certificate-secrets.ts';

export type Authorities = ReturnType<typeof createAuthorities>;

/** Long enough for a crowd, and short enough for a person who changes the CA. */
const keptMs = 5_000;

export function createAuthorities(
  parts: Pick<FeatureParts, 'kube' | 'clock'> & { readonly issuerOf: IssuerLookup },
) {
  const { kube, clock, issuerOf } = parts;
  const opened = new Map<
    string,
    { version: string; until: number; authority: Promise<CertificateAuthority> }
  >();
  const open = async ({ secret }: CaSpec, signal: AbortSignal) => {
    const data = await readSecret(kube, secret, signal);
    const place = `${secret.namespace}/${secret.name}`;
    if (data === null)
      throw unusableIssuer(
        `the Secret ${place} does not exist: create it, with the CA in tls.crt and tls.key, or correct spec.ca.secret`,
      );
    try {
      const { 'tls.crt': chain = '', 'tls.key': key = '', 'ca.crt': roots = '' } = data;
      return openAuthority(chain, key, clock.now(), roots);
    } catch (thrown) {
      throw hasCode(thrown, 'CERTIFICATE_UNUSABLE')
        ? unusableIssuer(`the Secret ${place}: ${thrown.message}`)
        : thrown;
    }
  };
  return {
    /** @throws OrreryError CERTIFICATE_UNUSABLE | KUBE_… */
    async of(
      issuer: string,
      signal: AbortSignal,
    ): Promise<{ readonly spec: CaSpec; readonly authority: CertificateAuthority }> {
      const known = issuerOf(issuer);
      const spec = known?.spec.ca;
      if (!known || !spec) throw unusableIssuer(`there is no usable CA Issuer ${issuer}`);
      const before = opened.get(issuer);
      const isFresh = before?.version === known.version && clock.monotonic() < before.until;
      const kept = isFresh ? await before.authority.catch(() => null) : null;
      if (kept !== null) return { spec, authority: kept };
      const authority = open(spec, signal);
      opened.set(issuer, { version: known.version, until: clock.monotonic() + keptMs, authority });
      return { spec, authority: await authority };
    },
  };
}
