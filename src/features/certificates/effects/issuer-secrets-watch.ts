/**
 * Effect `issuer-secrets.watch`: waits for a change of the Secrets that an unusable Issuer names. Outcome
 * issuer-secrets.changed | issuer-secrets.unchanged.
 *
 * The Secret of a CA or an account has no label of ours, so no mirror shows it. Unusable Issuers are rare,
 * and reading one or two Secrets once a second costs less than watching all (docs/features/certificates.md
 * §7.6).
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { IssuerSecretsWatch } from '../../../machines/issuer/issuer-effects.ts';
import type { SecretRef } from '../issuer-spec.ts';
import type { IssuerLookup } from './acme-accounts.ts';
import type { Authorities } from './certificate-authorities.ts';
import { find } from './certificate-secrets.ts';

const pauseMs = 1_000;
/** Below the effect's own bound, so that the record shows that the wait continues. */
const looksMax = 25;

export function watchIssuerSecrets(parts: {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly issuerOf: IssuerLookup;
  readonly authorities: Authorities;
}): EffectRunner<IssuerSecretsWatch> {
  const { kube, clock, issuerOf } = parts;
  return async ({ issuer, check }, { signal }) => {
    let before: string | null = null;
    for (let look = 0; look < looksMax; look++) {
      if (await isUsableCa(parts, issuer, signal)) return { type: 'issuer-secrets.changed', check };
      const versions = await versionsOf(kube, secretsOf(issuerOf, issuer), signal);
      if (versions !== null && before !== null && versions !== before)
        return { type: 'issuer-secrets.changed', check };
      before = versions ?? before;
      await sleep(clock, pauseMs, signal);
    }
    return { type: 'issuer-secrets.unchanged', check };
  };
}

/** A CA that can sign now ends the wait, whatever changed before the first look. */
async function isUsableCa(
  { issuerOf, authorities }: { readonly issuerOf: IssuerLookup; readonly authorities: Authorities },
  issuer: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!issuerOf(issuer)?.spec.ca) return false;
  return authorities.of(issuer, signal).then(
    () => true,
    () => false,
  );
}

function secretsOf(issuerOf: IssuerLookup, issuer: string): readonly SecretRef[] {
  const spec = issuerOf(issuer)?.spec;
  if (spec?.ca) return [spec.ca.secret];
  if (!spec?.acme) return [];
  const { accountSecret, eab, challenge } = spec.acme;
  const update = typeof challenge === 'object' && 'dns01' in challenge ? challenge.dns01.rfc2136 : undefined;
  const others = [eab?.secretRef, update?.secretRef].filter((one) => one !== undefined);
  return [accountSecret, ...others];
}

/** null: Kubernetes did not answer. */
async function versionsOf(
  kube: KubePort,
  refs: readonly SecretRef[],
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const objects = await Promise.all(refs.map(({ namespace, name }) => find(kube, namespace, name, signal)));
    return objects.map((object) => `${object?.metadata.uid}/${object?.metadata.resourceVersion}`).join(' ');
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
