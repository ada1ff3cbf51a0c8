/**
 * Effect `issuer-secrets.watch`: waits for a change of the Secrets that an unusable Issuer names. Outcome
 * issuer-secrets.changed | issuer-secrets.unchanged.
 *
 * The Secret of a CA or an account has no label of ours, so no mirror shows it. Unusable Issuers are rare,
 * and reading one or two Secrets costs less than watching all (docs/features/certificates.md §7.6): once a
 * second at first, when somebody may be mending it, then less and less often, because it may last for days.
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { IssuerSecretsWatch } from '../../../machines/issuer/issuer-effects.ts';
import type { SecretRef } from '../issuer-spec.ts';
import type { IssuerLookup } from './acme-accounts.ts';
import type { Authorities } from './certificate-authorities.ts';
import { find } from './certificate-secrets.ts';

/** A second in the first half minute; after five minutes ten. */
const pauseOf = (waitedMs: number) => Math.min(Math.max(waitedMs / 30, 1_000), 10_000);
/** A little longer than the chart waits for it: nothing is told, or saved, while nothing happens. */
const watchMs = 310_000;

interface WatchParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly issuerOf: IssuerLookup;
  readonly authorities: Authorities;
}

/** Since when an Issuer is watched while nobody changes anything, and what its Secrets were. */
interface Standstill {
  /** Monotonic ms. */
  readonly since: number;
  /** When they were read last; long ago, the Issuer has worked since. */
  readonly readAt: number;
  readonly versions: string;
}

/** One watch for each Issuer: the next one ends it, and goes on at its pace. */
export function watchIssuerSecrets(parts: WatchParts): EffectRunner<IssuerSecretsWatch> {
  const watching = new Map<string, AbortController>();
  const standing = new Map<string, Standstill>();
  return async ({ issuer, check }, { signal }) => {
    watching.get(issuer)?.abort(new Error('watched anew'));
    const own = new AbortController();
    watching.set(issuer, own);
    try {
      for (const name of standing.keys()) if (parts.issuerOf(name) === null) standing.delete(name);
      const isChanged = await isChangedSoon(parts, standing, issuer, AbortSignal.any([signal, own.signal]));
      return { type: isChanged ? 'issuer-secrets.changed' : 'issuer-secrets.unchanged', check };
    } catch (thrown) {
      if (signal.aborted || !own.signal.aborted) throw thrown;
      return { type: 'issuer-secrets.unchanged', check };
    } finally {
      if (watching.get(issuer) === own) watching.delete(issuer);
    }
  };
}

async function isChangedSoon(
  parts: WatchParts,
  standing: Map<string, Standstill>,
  issuer: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { kube, clock, issuerOf } = parts;
  const end = clock.monotonic() + watchMs;
  let before: string | null = null;
  while (clock.monotonic() < end) {
    if (await isUsableCa(parts, issuer, signal)) return true;
    const versions = await versionsOf(kube, secretsOf(issuerOf, issuer), signal);
    if (versions !== null && before !== null && versions !== before) return true;
    before = versions ?? before;
    const since = standsSince(standing, issuer, `${issuerOf(issuer)?.version} ${before}`, clock.monotonic());
    await sleep(clock, pauseOf(clock.monotonic() - since), signal);
  }
  return false;
}

function standsSince(
  standing: Map<string, Standstill>,
  issuer: string,
  versions: string,
  now: number,
): number {
  const known = standing.get(issuer);
  const isStill = known?.versions === versions && now - known.readAt < watchMs;
  const since = isStill ? known.since : now;
  standing.set(issuer, { since, readAt: now, versions });
  return since;
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
