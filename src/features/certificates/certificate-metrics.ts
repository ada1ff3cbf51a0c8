/**
 * The feature's metrics: lives of certificates, hosts without one, Issuers, and attempts by outcome. Pure.
 */
import type { EngineView, Gauge } from '../../actors/feature.ts';
import { pickContext } from '../../actors/host/cell.ts';
import type { Transition } from '../../base/views.ts';
import type { IssuerContext } from '../../machines/issuer/issuer-context.ts';
import { isRefused } from '../../machines/issuer/issuer-report.ts';

type Reading = Pick<EngineView, 'shards'>;

/**
 * Gauges of the hosts and Issuers whose actors this replica owns, so each is reported once. They use the
 * certificate named in the host's own record: Secrets of other namespaces, with any labels, change nothing
 * (docs/features/certificates.md §9.4).
 */
export function* certificateGauges(view: Reading): Iterable<Gauge> {
  for (const cell of ownedCells(view)) {
    const name = cell.id.slice(cell.id.lastIndexOf('/') + 1);
    if (cell.id.startsWith('domain/') && !isOver(cell.state))
      yield* hostGauges(name, pickContext(cell, lifeIn));
    if (cell.id.startsWith('issuer/') && cell.state !== 'gone')
      yield* issuerGauges(name, cell.state, pickContext(cell, issuerIn));
  }
}

/** @param known undefined: its record cannot be read */
function* issuerGauges(issuer: string, state: string, known: KnownIssuer | undefined): Iterable<Gauge> {
  const labels = { issuer };
  const { ca = null, isRefused = false } = known ?? {};
  yield { name: 'orrery_issuer_ready', labels, value: isServing(state) && !isRefused ? 1 : 0 };
  if (ca === null) return;
  const { notBefore, notAfter } = ca;
  yield { name: 'orrery_issuer_ca_expiry_timestamp_seconds', labels, value: notAfter / 1000 };
  yield { name: 'orrery_issuer_ca_lifetime_seconds', labels, value: (notAfter - notBefore) / 1000 };
}

/** @param life undefined: unknown */
function* hostGauges(host: string, life: Life | null | undefined): Iterable<Gauge> {
  const labels = { host };
  if (life === undefined) return;
  if (life === null) return yield { name: 'orrery_certificate_missing', labels, value: 1 };
  const { notBefore, notAfter } = life;
  yield { name: 'orrery_certificate_expiry_timestamp_seconds', labels, value: notAfter / 1000 };
  yield { name: 'orrery_certificate_lifetime_seconds', labels, value: (notAfter - notBefore) / 1000 };
}

/** No object asks for it any more. */
const isOver = (state: string) => state === 'retired' || state === 'clearing';

/** Records of version 1 use this name too, until their actor's next step. */
const isServing = (state: string) => state.startsWith('serving.') || state === 'ready' || state === 'trying';

function* ownedCells({ shards }: Reading) {
  for (const { phase, cells } of shards.open()) {
    if (phase !== 'active') continue;
    for (const cell of cells.values()) if (cell.state !== '') yield cell;
  }
}

interface Life {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Works for every version of the record. */
function lifeIn(context: unknown): Life | null {
  const { certificate } = context as { readonly certificate?: Life | null };
  return certificate == null ? null : { notBefore: certificate.notBefore, notAfter: certificate.notAfter };
}

interface KnownIssuer {
  /** The life of its CA, however the Issuer fares; null: none, or unknown. */
  readonly ca: Life | null;
  /** No order has been taken since one was refused, though a domain may be trying. */
  readonly isRefused: boolean;
}

function issuerIn(context: unknown): KnownIssuer {
  const issuer = context as Partial<IssuerContext>;
  return { ca: issuer.ca ?? null, isRefused: isRefused(issuer) };
}

const steps = 'acquiring.';

const outcomes: Readonly<Record<string, string>> = {
  valid: 'issued',
  lacking: 'issued',
  'resting.backingOff': 'refused',
  'queued.rateLimited': 'rate_limited',
  'queued.issuerDown': 'authority_down',
  'queued.waitingForPermit': 'failed',
  'resting.failed': 'failed',
};

/** The outcome of the attempt that this step ended; null: it ended none. */
export function attemptOutcome({ id, from, to, event }: Transition, context: unknown): string | null {
  if (!id.startsWith('domain/') || from === null || !from.startsWith(steps)) return null;
  const outcome = outcomes[to];
  const isCopy = (context as { storeFrom?: unknown }).storeFrom === 'stored';
  if (outcome === undefined || isCopy) return null;
  return outcome === 'refused' && event.outcome !== 'refused' ? 'cluster' : outcome;
}
