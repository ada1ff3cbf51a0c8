/**
 * Effect `certificate.store`: writes the certificate to every requested Secret. Outcome certificate.stored.
 *
 * A repeated run writes the same certificate, or nothing where it already is (I5): the pending certificate is
 * removed only after it is stored everywhere, and each Secret names the order, or the run of this effect,
 * that made its certificate. A certificate whose fingerprint is not in the record is never copied
 * (docs/features/certificates.md §2.6), and a target that refuses does not stop the others (§3.4).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { FeatureParts } from '../../../actors/feature.ts';
import { asError, hasCode, OrreryError } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { CertificateStore } from '../../../machines/domain/domain-effects.ts';
import type { AcquisitionFailed, FailureOutcome } from '../../../machines/domain/domain-events.ts';
import type { Target } from '../../../machines/domain/domain-facts.ts';
import { verifies } from '../acme/trust.ts';
import { readPair } from '../stored-certificate.ts';
import { acquiring } from './acquisition-failure.ts';
import type { Authorities } from './certificate-authorities.ts';
import { factsOf, namedIn } from './certificate-inspect.ts';
import {
  orderOf,
  type Pair,
  readPending,
  readTarget,
  removePending,
  type Stored,
  writeTarget,
} from './certificate-secrets.ts';

export interface StoreParts extends Pick<FeatureParts, 'kube' | 'clock'> {
  readonly authorities: Authorities;
}

export function storeCertificate(parts: StoreParts): EffectRunner<CertificateStore> {
  return acquiring((effect, { signal, key }) => stored(parts, effect, key, signal));
}

/** A certificate, its origin, and whether it was just made. */
type Sourced = Pair & { readonly order: string; readonly isNew: boolean };
/** With what clients trust beside it; null: an authority's, or that of another CA than the present one. */
type Storable = Sourced & { readonly trusted: string | null };

interface Seen {
  readonly target: Target;
  readonly before: Stored;
}

/** The result for one target. */
type Outcome = { readonly target: Target } & (
  | { readonly is: 'written' }
  | { readonly is: 'foreign' | 'refused' | 'unsure'; readonly message: string }
);

async function stored(parts: StoreParts, effect: CertificateStore, key: string, signal: AbortSignal) {
  const { kube } = parts;
  const { host, attempt, targets, from } = effect;
  const seen = await Promise.all(
    targets.map(async (target) => ({ target, before: await readTarget(kube, host, target, signal) })),
  );
  const isAllForeign = seen.every(({ before }) => before.is === 'foreign');
  const pair = isAllForeign ? null : await pairOf(parts, effect, { seen, key }, signal);
  if (pair === null) return failed(attempt, 'foreign', foreignTexts(seen), false);
  const facts = readPair(pair.chain, pair.key);
  if ('broken' in facts) {
    throw new OrreryError('CERTIFICATE_UNUSABLE', `the certificate to store: ${facts.broken}`);
  }
  const storable = { ...pair, trusted: await trustedBeside(parts, effect, pair, signal) };
  const outcomes = await Promise.all(seen.map((one) => written(kube, host, one, storable, signal)));
  if (!outcomes.some(({ is }) => is === 'written')) return nothingWritten(attempt, outcomes, pair.isNew);
  if (from === 'pending') await removePending(kube, effect, signal);
  return {
    type: 'certificate.stored',
    attempt,
    certificate: await factsOf(facts, pair.chain),
    foreign: outcomes.flatMap(({ is, target }) => (is === 'foreign' ? [target] : [])),
    refused: outcomes.flatMap((one) =>
      one.is === 'refused' || one.is === 'unsure' ? [{ ...one.target, message: one.message }] : [],
    ),
  } as const;
}

const foreignTexts = (seen: readonly Seen[]) =>
  `${seen.flatMap(({ before }) => (before.is === 'foreign' ? [before.why] : [])).join('; ')}.`;

/** Writes one target. @throws only when the effect itself is aborted */
async function written(
  kube: KubePort,
  host: string,
  { target, before }: Seen,
  pair: Storable,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const why = await writeTarget(kube, host, { target, before }, pair, signal);
    return why === null ? { target, is: 'written' } : { target, is: 'foreign', message: why };
  } catch (thrown) {
    signal.throwIfAborted();
    const name = `${target.namespace}/${target.secretName}`;
    const message = `Secret ${name} was not written: ${asError(thrown).message.slice(0, 300)}`;
    return { target, is: hasCode(thrown, 'KUBE_REFUSED', 'KUBE_NOT_FOUND') ? 'refused' : 'unsure', message };
  }
}

function nothingWritten(attempt: number, outcomes: readonly Outcome[], isIssued: boolean): AcquisitionFailed {
  const texts = outcomes.flatMap((one) => (one.is === 'written' ? [] : [one.message]));
  const sort = outcomes.some(({ is }) => is === 'unsure')
    ? 'cluster'
    : outcomes.some(({ is }) => is === 'refused')
      ? 'unwritable'
      : 'foreign';
  return failed(attempt, sort, texts.join('; ').slice(0, 500), isIssued);
}

function failed(
  attempt: number,
  outcome: FailureOutcome,
  message: string,
  issued: boolean,
): AcquisitionFailed {
  const failure = { attempt, outcome, message, retryAfterMs: null, orderLost: false } as const;
  return { type: 'acquisition.failed', ...failure, ...(issued ? { issued } : {}) };
}

const gone = () => new OrreryError('KUBE_CONFLICT', 'the certificate that was to be stored is gone');

/** @param known the targets' contents, and the key of this run of the effect */
async function pairOf(
  parts: StoreParts,
  effect: CertificateStore,
  known: { readonly seen: readonly Seen[]; readonly key: string },
  signal: AbortSignal,
): Promise<Sourced> {
  if (effect.from === 'ca') return signed(parts, effect, known, signal);
  const { fingerprint, at } = effect;
  const pending = effect.from === 'pending' ? await readPending(parts.kube, at, signal) : null;
  if (pending !== null && pending.chain !== '' && isNamed(pending, fingerprint))
    return { ...pending, isNew: false };
  // What an earlier run has stored; for `stored`, the good certificate.
  const held =
    fingerprint == null
      ? null
      : namedIn(
          known.seen.map(({ before }) => before),
          fingerprint,
        );
  if (held === null) throw gone();
  return { ...held.pair, order: orderOf(held.object), isNew: false };
}

/** From the CA's own Secret, also where the certificate is copied (docs/features/certificates.md §8.6). */
async function trustedBeside(
  { authorities }: StoreParts,
  { issuer }: CertificateStore,
  { chain }: Pair,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const { trusted } = (await authorities.of(issuer, signal)).authority;
    return verifies(trusted, chain) ? trusted : null;
  } catch (thrown) {
    // No CA, or one that is gone meanwhile: a certificate that there is already is stored all the same.
    if (hasCode(thrown, 'CERTIFICATE_UNUSABLE')) return null;
    throw thrown;
  }
}

/** An effect of an earlier release without a fingerprint takes the pending certificate. */
function isNamed({ chain, key }: Pair, fingerprint: string | null | undefined): boolean {
  const facts = readPair(chain, key);
  return fingerprint == null || ('fingerprint' in facts && facts.fingerprint.startsWith(fingerprint));
}

/**
 * Signed by the CA, once for each effect: the Secrets name an earlier run's certificate, where nobody else
 * writes.
 */
async function signed(
  { authorities, clock }: StoreParts,
  { host, issuer, owner }: CertificateStore,
  { seen, key }: { readonly seen: readonly Seen[]; readonly key: string },
  signal: AbortSignal,
): Promise<Sourced> {
  for (const { target, before } of seen) {
    const isOwn = owner === undefined || target.namespace === owner;
    if (isOwn && before.is === 'good' && orderOf(before.object) === key)
      return { ...before.pair, order: key, isNew: false };
  }
  const { spec, authority } = await authorities.of(issuer, signal);
  return { ...(await authority.issue(host, spec.lifetimeMs, clock.now())), order: key, isNew: true };
}
