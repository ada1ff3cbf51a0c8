/**
 * What the feature counts: lives of certificates, hosts without one, Issuers, and attempts by their outcome.
 * Pure.
 */
import type { EngineView, Gauge } from '../../actors/feature.ts';
import { asDigest } from '../../base/digests.ts';
import type { Transition } from '../../base/views.ts';
import { shardOf } from '../../bus/partition.ts';
import type { SecretDigest } from './digests.ts';

type Reading = Pick<EngineView, 'world' | 'shards'>;

/** Of the hosts and Issuers whose actors are owned here: so each is told by one replica. */
export function* certificateGauges(view: Reading): Iterable<Gauge> {
  const held = new Set<string>();
  for (const { host, notBefore, notAfter } of earliestEnds(view)) {
    held.add(host);
    const labels = { host };
    yield { name: 'orrery_certificate_expiry_timestamp_seconds', labels, value: notAfter / 1000 };
    yield { name: 'orrery_certificate_lifetime_seconds', labels, value: (notAfter - notBefore) / 1000 };
  }
  for (const { id, state } of ownedCells(view)) {
    const name = id.slice(id.lastIndexOf('/') + 1);
    if (id.startsWith('domain/') && state !== 'retired' && !held.has(name))
      yield { name: 'orrery_certificate_missing', labels: { host: name }, value: 1 };
    if (id.startsWith('issuer/') && state !== 'gone')
      yield { name: 'orrery_issuer_ready', labels: { issuer: name }, value: isServing(state) ? 1 : 0 };
  }
}

/** As records of version 1 call it too, until their actor's next step. */
const isServing = (state: string) => state.startsWith('serving.') || state === 'ready' || state === 'trying';

function* ownedCells({ shards }: Reading) {
  for (const { phase, cells } of shards.open()) {
    if (phase !== 'active') continue;
    for (const { id, state } of cells.values()) if (state !== '') yield { id, state };
  }
}

interface Life {
  readonly host: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Of each host that is owned here the certificate that ends first. */
function earliestEnds({ world, shards }: Reading): Iterable<Life> {
  const owned = new Set<number>();
  for (const { shard, phase } of shards.open()) if (phase === 'active') owned.add(shard);
  const earliest = new Map<string, Life>();
  for (const entry of world.entries('secrets')) {
    const digest = asDigest<SecretDigest>(entry.digest, 'secrets');
    if (digest === null || digest.fingerprint === null) continue;
    const { host, notBefore, notAfter } = digest;
    const known = earliest.get(host);
    if (owned.has(shardOf(`domain/_/${host}`)) && (known === undefined || notAfter < known.notAfter))
      earliest.set(host, { host, notBefore, notAfter });
  }
  return earliest.values();
}

const steps = 'acquiring.';

const outcomes: Readonly<Record<string, string>> = {
  valid: 'issued',
  'resting.backingOff': 'refused',
  'queued.rateLimited': 'rate_limited',
  'queued.issuerDown': 'authority_down',
  'queued.waitingForPermit': 'failed',
  'resting.failed': 'failed',
};

/** How an attempt ended with this step; null: none did. */
export function attemptOutcome({ id, from, to, event }: Transition, context: unknown): string | null {
  if (!id.startsWith('domain/') || from === null || !from.startsWith(steps)) return null;
  const outcome = outcomes[to];
  const isCopy = (context as { storeFrom?: unknown }).storeFrom === 'stored';
  if (outcome === undefined || isCopy) return null;
  return outcome === 'refused' && event.outcome !== 'refused' ? 'cluster' : outcome;
}
