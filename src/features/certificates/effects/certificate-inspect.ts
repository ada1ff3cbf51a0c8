/**
 * Effect `certificate.inspect`: reads the Secrets of a host. Outcome certificate.inspected.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { CertificateInspect } from '../../../machines/domain/domain-effects.ts';
import type { CertificateInspected } from '../../../machines/domain/domain-events.ts';
import type { CertificateFacts, Target } from '../../../machines/domain/domain-facts.ts';
import { renewalIdOf } from '../acme/renewal-id.ts';
import { isFor, type PublicPart, readPair } from '../stored-certificate.ts';
import { readPending, readTarget, type Stored } from './certificate-secrets.ts';

export function inspectCertificate(kube: KubePort): EffectRunner<CertificateInspect> {
  return async ({ host, attempt, targets, at, known = [], owner }, { signal }) => {
    const stored = await Promise.all(
      targets.map(async (target) => ({ target, stored: await readTarget(kube, host, target, signal) })),
    );
    const best = goodOf(stored, { known, owner });
    return {
      type: 'certificate.inspected',
      attempt,
      good: best === null ? null : await factsOf(best.facts, best.pair.chain),
      missing: stored.flatMap((one) =>
        one.stored.is === 'foreign' || isBest(one.stored, best) ? [] : [one.target],
      ),
      foreign: stored.flatMap((one) => (one.stored.is === 'foreign' ? [one.target] : [])),
      pending: at === null ? null : trusted(await pendingAt(kube, host, at, signal), { known, owner }),
    };
  };
}

type Good = Extract<Stored, { is: 'good' }>;

interface Seen {
  readonly target: Target;
  readonly stored: Stored;
}

/**
 * The certificate that counts as good (docs/features/certificates.md §2.6): the one that the record names, in
 * any Secret. One that the record does not name counts only in the owner's namespace, and only if nothing has
 * to be copied from it – or if the record names none, as after a loss of the records.
 */
function goodOf(
  seen: readonly Seen[],
  { known, owner }: { readonly known: readonly string[]; readonly owner: string | undefined },
): Good | null {
  for (const fingerprint of known) {
    const named = namedIn(
      seen.map(({ stored }) => stored),
      fingerprint,
    );
    if (named !== null) return named;
  }
  if (known.length > 0 && seen.length > 1) return null;
  const own = seen.filter(({ target }) => owner === undefined || target.namespace === owner);
  const good = own.flatMap(({ stored }) => (stored.is === 'good' ? [stored] : []));
  // An older one may live longer and have been replaced for a good reason.
  return good.sort((a, b) => b.facts.notBefore - a.facts.notBefore)[0] ?? null;
}

type Pending = CertificateInspected['pending'];

/** In a namespace that merely shares the host, an unnamed certificate may be planted. */
function trusted(
  pending: Pending,
  { known, owner }: { readonly known: readonly string[]; readonly owner: string | undefined },
): Pending {
  const isOwn = owner === undefined || pending?.at.namespace === owner;
  return isOwn || known.some((one) => pending?.fingerprint.startsWith(one)) ? pending : null;
}

export function namedIn(stored: readonly Stored[], fingerprint: string): Good | null {
  return (
    stored.find((one): one is Good => one.is === 'good' && one.facts.fingerprint.startsWith(fingerprint)) ??
    null
  );
}

function isBest(stored: Stored, best: Good | null): boolean {
  return (
    stored.is === 'good' && !stored.isMislabelled && stored.facts.fingerprint === best?.facts.fingerprint
  );
}

/** As CertificateFacts says. */
export const shortFingerprint = ({ fingerprint }: PublicPart) => fingerprint.slice(0, 32);

export async function factsOf(facts: PublicPart, chain: string): Promise<CertificateFacts> {
  const { notBefore, notAfter } = facts;
  return { fingerprint: shortFingerprint(facts), notBefore, notAfter, ariId: renewalIdOf(chain) };
}

async function pendingAt(kube: KubePort, host: string, at: Target, signal: AbortSignal): Promise<Pending> {
  try {
    const pending = await readPending(kube, at, signal);
    if (pending === null || pending.chain === '') return null;
    const facts = readPair(pending.chain, pending.key);
    return 'broken' in facts || !isFor(facts, host) ? null : { ...(await factsOf(facts, pending.chain)), at };
  } catch (thrown) {
    // Somebody else's Secret with that name: the step that needs the place reports it.
    if (hasCode(thrown, 'CERTIFICATE_UNUSABLE')) return null;
    throw thrown;
  }
}
