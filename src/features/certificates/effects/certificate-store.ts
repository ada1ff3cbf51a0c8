/**
 * Effect `certificate.store`: the certificate into every Secret that was asked for. Outcome certificate.stored.
 *
 * Running it again writes the same certificate, or nothing where it stands already (I5): what was issued is taken away from its waiting
 * place only after it stands everywhere, and each Secret says which order, or which run of this effect, its certificate came from.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { OrreryError } from '../../../base/errors.ts';
import type { KubePort } from '../../../kube/api/port.ts';
import type { CertificateStore } from '../../../machines/domain/domain-effects.ts';
import { readPair } from '../certificates.ts';
import { acquisitionFailed } from './acquisition-failure.ts';
import type { Authorities } from './certificate-authorities.ts';
import { bestOf, factsOf } from './certificate-inspect.ts';
import {
  orderOf,
  type Pair,
  readPending,
  readTarget,
  removePending,
  type Stored,
  writeTarget,
} from './certificate-secrets.ts';

export interface StoreParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly authorities: Authorities;
}

export function certificateStore(parts: StoreParts): EffectRunner<CertificateStore> {
  return async (effect, { signal, key }) => {
    try {
      return await stored(parts, effect, key, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      return acquisitionFailed(effect.attempt, thrown);
    }
  };
}

/** A certificate and where it came from. */
type Sourced = Pair & { readonly order: string };

async function stored(parts: StoreParts, effect: CertificateStore, key: string, signal: AbortSignal) {
  const { kube } = parts;
  const { host, attempt, targets, from, at } = effect;
  const seen = await Promise.all(
    targets.map(async (target) => ({ target, before: await readTarget(kube, host, target, signal) })),
  );
  const pair = await pairOf(parts, effect, { seen: seen.map(({ before }) => before), key }, signal);
  const facts = readPair(pair.chain, pair.key);
  if ('broken' in facts) {
    throw new OrreryError('CERTIFICATE_UNUSABLE', `the certificate to store: ${facts.broken}`);
  }
  const written = await Promise.all(
    seen.map(async (one) => ({ ...one, isOurs: await writeTarget(kube, host, one, pair, signal) })),
  );
  const foreign = written.flatMap(({ target, isOurs }) => (isOurs ? [] : [target]));
  if (foreign.length === targets.length) {
    const names = targets.map(({ namespace, secretName }) => `${namespace}/${secretName}`).join(', ');
    const message = `Secret ${names} exists without the label orrery.dev/domain and is not overwritten.`;
    const failed = { attempt, outcome: 'foreign', message, retryAfterMs: null, orderLost: false } as const;
    return { type: 'acquisition.failed', ...failed } as const;
  }
  if (from === 'pending') await removePending(kube, at, signal);
  const certificate = await factsOf(facts, pair.chain);
  return { type: 'certificate.stored', attempt, certificate, foreign } as const;
}

/** @param known what stands in the targets, and the key of this run of the effect */
async function pairOf(
  { kube, clock, authorities }: StoreParts,
  { host, issuer, from, at }: CertificateStore,
  known: { readonly seen: readonly Stored[]; readonly key: string },
  signal: AbortSignal,
): Promise<Sourced> {
  if (from === 'pending') {
    const pending = await readPending(kube, at, signal);
    if (pending !== null && pending.chain !== '') return pending;
  }
  // What an earlier run has stored, and for `stored` what is good.
  const best = bestOf(known.seen);
  const held = best === null ? null : { ...best.pair, order: orderOf(best.object) };
  if (held !== null && (from !== 'ca' || held.order === known.key)) return held;
  if (from !== 'ca') {
    throw new OrreryError('CERTIFICATE_UNUSABLE', 'the certificate that was to be stored is gone');
  }
  const { spec, authority } = await authorities.of(issuer, signal);
  return { ...(await authority.issue(host, spec.lifetimeMs, clock.now())), order: known.key };
}
