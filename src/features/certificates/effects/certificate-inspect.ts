/**
 * Effect `certificate.inspect`: reads what stands in the Secrets of a host. Outcome certificate.inspected.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubePort } from '../../../kube/api/port.ts';
import type { CertificateInspect } from '../../../machines/domain/domain-effects.ts';
import type { CertificateInspected } from '../../../machines/domain/domain-events.ts';
import type { CertificateFacts, Target } from '../../../machines/domain/domain-facts.ts';
import { renewalIdOf } from '../acme/x509.ts';
import { isFor, type PublicPart, readPair } from '../certificates.ts';
import { readPending, readTarget, type Stored } from './certificate-secrets.ts';

export function certificateInspect(kube: KubePort): EffectRunner<CertificateInspect> {
  return async ({ host, attempt, targets, at }, { signal }) => {
    const stored = await Promise.all(
      targets.map(async (target) => ({ target, stored: await readTarget(kube, host, target, signal) })),
    );
    const best = bestOf(stored.map((one) => one.stored));
    return {
      type: 'certificate.inspected',
      attempt,
      good: best === null ? null : await factsOf(best.facts, best.pair.chain),
      missing: stored.flatMap((one) =>
        one.stored.is === 'foreign' || isBest(one.stored, best) ? [] : [one.target],
      ),
      foreign: stored.flatMap((one) => (one.stored.is === 'foreign' ? [one.target] : [])),
      pending: at === null ? null : await pendingAt(kube, host, at, signal),
    };
  };
}

type Good = Extract<Stored, { is: 'good' }>;

/** The one that was issued last: an older one may live longer and be replaced for a good reason. */
export function bestOf(stored: readonly Stored[]): Good | null {
  const good = stored.filter((one): one is Good => one.is === 'good');
  return good.sort((a, b) => b.facts.notBefore - a.facts.notBefore)[0] ?? null;
}

function isBest(stored: Stored, best: Good | null): boolean {
  return stored.is === 'good' && stored.facts.fingerprint === best?.facts.fingerprint;
}

/** As CertificateFacts says. */
const fingerprintChars = 32;

export async function factsOf(
  { fingerprint, notBefore, notAfter }: PublicPart,
  chain: string,
): Promise<CertificateFacts> {
  const ariId = await renewalIdOf(chain);
  return { fingerprint: fingerprint.slice(0, fingerprintChars), notBefore, notAfter, ariId };
}

async function pendingAt(
  kube: KubePort,
  host: string,
  at: Target,
  signal: AbortSignal,
): Promise<CertificateInspected['pending']> {
  try {
    const pending = await readPending(kube, at, signal);
    if (pending === null || pending.chain === '') return null;
    const facts = readPair(pending.chain, pending.key);
    return 'broken' in facts || !isFor(facts, host) ? null : { ...(await factsOf(facts, pending.chain)), at };
  } catch (thrown) {
    // Somebody else's Secret of that name: the step that needs the place says so.
    if (hasCode(thrown, 'CERTIFICATE_UNUSABLE')) return null;
    throw thrown;
  }
}
