/** What the feature counts: ends of certificates, and attempts by their outcome. Pure. */
import type { EngineView, Gauge } from '../../actors/feature.ts';
import { asDigest } from '../../base/digests.ts';
import type { Transition } from '../../base/views.ts';
import { shardOf } from '../../bus/shard.ts';
import type { SecretDigest } from './digests.ts';

/** The ends of the certificates whose actors are owned here: so each host is told by one replica. */
export function* certificateExpiries({
  world,
  shards,
}: Pick<EngineView, 'world' | 'shards'>): Iterable<Gauge> {
  const owned = new Set<number>();
  for (const { shard, phase } of shards.open()) if (phase === 'active') owned.add(shard);
  const earliest = new Map<string, number>();
  for (const entry of world.entries('secrets')) {
    const digest = asDigest<SecretDigest>(entry.digest, 'secrets');
    if (digest === null || digest.fingerprint === null) continue;
    const { host, notAfter } = digest;
    if (owned.has(shardOf(`domain/_/${host}`)))
      earliest.set(host, Math.min(notAfter, earliest.get(host) ?? notAfter));
  }
  const name = 'orrery_certificate_expiry_timestamp_seconds';
  for (const [host, notAfter] of earliest) yield { name, labels: { host }, value: notAfter / 1000 };
}

const steps = ['ordering', 'authorizing', 'finalizing', 'storing'];

const outcomes: Readonly<Record<string, string>> = {
  valid: 'issued',
  backingOff: 'refused',
  rateLimited: 'rate_limited',
  issuerDown: 'authority_down',
  failed: 'failed',
};

/** How an attempt ended with this step; null: none did. */
export function attemptOutcome({ id, from, to, event }: Transition, context: unknown): string | null {
  if (!id.startsWith('domain/') || from === null || !steps.includes(from)) return null;
  const outcome = outcomes[to];
  const isCopy = (context as { storeFrom?: unknown }).storeFrom === 'stored';
  if (outcome === undefined || isCopy) return null;
  return outcome === 'refused' && event.outcome !== 'refused' ? 'cluster' : outcome;
}
