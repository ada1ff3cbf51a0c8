/**
 * Effect `acme.finalize`: creates and stores the key, sends the request, and waits for the certificate.
 * Outcome certificate.received.
 *
 * The key is stored in the Secret for pending certificates before the authority is asked: a repeated run
 * finds the order's key, and sends the same request or fetches what was issued for it (I5). While the
 * authority issues, it is polled at least once a second at first, so that a certificate is stored within a
 * second of its issuance.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import { attempt, hasCode, OrreryError, retryAfterOf } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { limits } from '../../../base/limits.ts';
import { age } from '../../../base/words.ts';
import type { AcmeFinalize } from '../../../machines/domain/domain-effects.ts';
import type {
  AcquisitionFailed,
  CertificateReceived,
  OrderPlace,
} from '../../../machines/domain/domain-events.ts';
import type { Target } from '../../../machines/domain/domain-facts.ts';
import { earlyMs } from '../../../machines/domain/domain-schedule.ts';
import type { AcmeAccount, AcmeOrder } from '../acme/acme-client.ts';
import { placeOf } from '../acme/authority-http.ts';
import { certificatesIn } from '../acme/der.ts';
import { lostOrder } from '../acme/problem.ts';
import { leafFirst } from '../acme/trust.ts';
import { isOwnKey, makeKey, makeRequest } from '../acme/x509.ts';
import { isFor, readPair, readPublicPart } from '../stored-certificate.ts';
import type { AcmeAccounts } from './acme-accounts.ts';
import { acquiring, isUnanswered } from './acquisition-failure.ts';
import { shortFingerprint } from './certificate-inspect.ts';
import { pendingName, readPending, writePending } from './certificate-secrets.ts';

/** The authority is asked often at first: a certificate is to be stored within a second of its issuance. */
const pollFirstMs = 200;
const pollMaxMs = 800;
/** An order that takes longer, ms, is asked for when the authority says, or less and less often. */
const promptMs = 30_000;
const pollSlowMs = 3_600_000;
/** A longer Retry-After is not taken literally: ZeroSSL names a day for what takes it a minute, ms. */
const plausibleMs = 600_000;
/**
 * An order that the authority processes for longer, ms, is kept and asked for once by each further attempt:
 * beyond the bound of the effect the authority would seem to be away, and every other host would wait.
 */
const processingMs = 90_000;

/** Where an order was placed, and by whose clock it is waited for. */
interface Authority {
  readonly account: AcmeAccount;
  readonly clock: Clock;
}

export function finalizeOrder(
  accounts: AcmeAccounts,
  parts: { readonly kube: KubePort; readonly clock: Clock },
): EffectRunner<AcmeFinalize> {
  const { kube, clock } = parts;
  const finalize = async (
    { host, attempt, order, at, source = null }: AcmeFinalize,
    account: AcmeAccount,
    signal: AbortSignal,
  ) => {
    const place = { host, at, source };
    const startedAt = clock.monotonic();
    const found = await provenOrder({ account, clock }, order.url, signal);
    const pending = await readPending(kube, at, signal);
    const known = pending?.order === order.url && isOwnKey(pending.key) ? pending : null;
    if (known !== null && known.chain !== '') return received(attempt, known.chain, clock.now());
    // It was issued for a key that is lost, so nobody can use it.
    if (known === null && found.status !== 'ready') throw unusableOrder(found, at, order);
    const key = known?.key ?? (await makeKey());
    if (known === null) await writePending(kube, place, { order: order.url, key, chain: '' }, signal);
    // The API server's clock may be ahead.
    const since = Math.min(known?.createdAt ?? Number.POSITIVE_INFINITY, clock.now());
    const { issued, againMs } = await issuedOrder({ account, clock }, { host, key, since }, found, signal);
    const ms = clock.now() - since;
    if (isOngoing(issued)) return unfinished(attempt, issued, ms, againMs);
    const sent = await handedOver(account, issued, signal, handOverMs(clock.monotonic() - startedAt));
    if (typeof sent !== 'string') return keptBack(attempt, issued, ms, sent);
    const chain = leafFirst(sent, key);
    checkIssued(chain, { key, host, now: clock.now() });
    await writePending(kube, place, { order: order.url, key, chain }, signal);
    return received(attempt, chain, clock.now());
  };
  return acquiring((effect, { signal }) =>
    accounts.use(
      effect.issuer,
      'continues an order',
      ({ account }) => finalize(effect, account, signal),
      signal,
    ),
  );
}

/** A certificate that is not valid yet waits beside its key. */
function received(attempt: number, chain: string, now: number): CertificateReceived | AcquisitionFailed {
  const facts = readPublicPart(chain);
  const { notBefore } = facts;
  if (notBefore <= now + earlyMs)
    return { type: 'certificate.received', attempt, fingerprint: shortFingerprint(facts) };
  const message = `the certificate that was issued is valid from ${kubeTime(notBefore)} only; is a clock wrong?`;
  return { ...waiting(attempt, message, notBefore - now), outcome: 'cluster', issued: true };
}

/** The authority knows the order by its address. */
const nameOf = ({ url }: AcmeOrder) => `order ${placeOf(url)}`;

function unfinished(attempt: number, order: AcmeOrder, ms: number, againMs: number): AcquisitionFailed {
  const message =
    order.status === 'ready'
      ? `the authority was asked ${age(ms)} ago to issue ${nameOf(order)}, and shows no sign of it`
      : `the authority has processed ${nameOf(order)} for ${age(ms)} and continues`;
  return { ...waiting(attempt, message, againMs), outcome: 'unfinished' };
}

/** What was issued counts at once (§5.3). */
function keptBack(attempt: number, order: AcmeOrder, ms: number, error: OrreryError): AcquisitionFailed {
  const message = `the authority says that it has issued ${nameOf(order)}, and has not handed the certificate over in ${age(ms)}: ${error.message}`;
  const againMs = pollPauseMs({ retryAfterMs: retryAfterOf(error) }, ms);
  return { ...waiting(attempt, message, againMs), outcome: 'unfinished', issued: true };
}

const waiting = (attempt: number, message: string, retryAfterMs: number) =>
  ({ type: 'acquisition.failed', attempt, message, retryAfterMs, orderLost: false }) as const;

/** Some authorities show for a moment after the last proof that the order is pending. */
async function provenOrder(
  { account, clock }: Authority,
  url: string,
  signal: AbortSignal,
): Promise<AcmeOrder> {
  const startedAt = clock.monotonic();
  for (;;) {
    const order = await account.order(url, signal);
    if (order.status !== 'pending' || clock.monotonic() - startedAt >= promptMs) return order;
    await sleep(clock, pollMaxMs, signal);
  }
}

/** Those that answer from copies may call it ready, though they are asked already. */
const isOngoing = ({ status }: AcmeOrder) => status === 'processing' || status === 'ready';

/** @returns the order: valid, or after a while still in progress and to be asked for in `againMs` */
async function issuedOrder(
  { account, clock }: Authority,
  { host, key, since }: { readonly host: string; readonly key: string; readonly since: number },
  found: AcmeOrder,
  signal: AbortSignal,
): Promise<{ readonly issued: AcmeOrder; readonly againMs: number }> {
  let issued = found;
  if (issued.status === 'ready')
    issued = await askToIssue(account, issued.url, await makeRequest(host, key), signal);
  const again = () => pollPauseMs(issued, clock.now() - since);
  while (isOngoing(issued) && clock.now() + again() < since + processingMs) {
    await sleep(clock, again(), signal);
    issued = await account.order(issued.url, signal);
  }
  if (issued.status !== 'valid' && !isOngoing(issued)) throw spentOrder(issued);
  return { issued, againMs: again() };
}

/**
 * A run before this one may have asked, which a copy of the order did not show yet; and one that does all the
 * work before it answers may have begun, though its answer came too late.
 */
async function askToIssue(
  account: AcmeAccount,
  url: string,
  request: string,
  signal: AbortSignal,
): Promise<AcmeOrder> {
  try {
    return await account.finalize(url, request, signal);
  } catch (thrown) {
    const isLate = isUnanswered(thrown);
    if (!isLate && !hasCode(thrown, 'ACME_REFUSED')) throw thrown;
    const order = await account.order(url, signal);
    if (isLate) return order;
    if (order.status !== 'processing' && order.status !== 'valid') throw thrown;
    return order;
  }
}

/** @param ms since the authority was asked to issue */
function pollPauseMs({ retryAfterMs }: Pick<AcmeOrder, 'retryAfterMs'>, ms: number): number {
  if (ms < promptMs) return Math.min(Math.max(ms * 0.3, pollFirstMs), pollMaxMs);
  const asked = retryAfterMs ?? ms / 10;
  return Math.min(Math.max(asked > plausibleMs ? Math.min(asked, ms) : asked, pollMaxMs), pollSlowMs);
}

/** A pending one has been waited for, or was ready before. */
const spentOrder = ({ status, error }: AcmeOrder) =>
  lostOrder(
    error,
    status === 'pending'
      ? 'the order is pending, though the authority has accepted all proofs that it asked for'
      : `the order is ${status}`,
  );

function unusableOrder(order: AcmeOrder, at: Target, { wasIssued }: OrderPlace): OrreryError {
  if (order.status !== 'valid' && order.status !== 'processing') return spentOrder(order);
  // Nothing was issued for this attempt, so nothing counts (§5.3).
  if (wasIssued) return lostOrder(null, othersText(order));
  const text = `the Secret ${at.namespace}/${pendingName(at)} with the order's key is gone; another order is placed`;
  const issued = order.status === 'valid' ? { issued: true } : {};
  return new OrreryError('ACME_REFUSED', text, { facts: { orderLost: true, ...issued } });
}

const othersText = (order: AcmeOrder) =>
  `the authority answered the new order with ${nameOf(order)}, which was issued before, for a key that is not here; if somebody else orders with this account, give the Issuer one of its own (spec.acme.accountSecret)`;

/**
 * The time for the certificate's answer, ms: as for one that takes work, unless the effect ends before.
 *
 * @param usedMs of the effect's time
 */
const handOverMs = (usedMs: number) =>
  Math.max(limits.acmeRequestMs, Math.min(limits.acmeWorkMs, limits.acmeFinalizeMs - 5_000 - usedMs));

/**
 * The chain, or why the authority does not hand it over although the order is valid: it may be on its way,
 * and another order would only spend more. Only a limit speaks for itself.
 */
async function handedOver(
  account: AcmeAccount,
  order: AcmeOrder,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<string | OrreryError> {
  try {
    const chain = `${certificatesIn(await account.certificate(order, signal, timeoutMs))}\n`;
    if (attempt(() => readPublicPart(chain), null) !== null) return chain;
    return new OrreryError('ACME_UNREACHABLE', 'what it sends as one cannot be read');
  } catch (thrown) {
    if (!hasCode(thrown, 'ACME_REFUSED', 'ACME_UNREACHABLE')) throw thrown;
    return thrown;
  }
}

function checkIssued(
  chain: string,
  { key, host, now }: { readonly key: string; readonly host: string; readonly now: number },
): void {
  const why = flawIn(readPair(chain, key), host, now);
  if (why === null) return;
  throw new OrreryError('ACME_REFUSED', `what the authority issued cannot be used: ${why}`, {
    facts: { orderLost: true, issued: true },
  });
}

function flawIn(facts: ReturnType<typeof readPair>, host: string, now: number): string | null {
  if ('broken' in facts) return facts.broken;
  if (!isFor(facts, host))
    return `it is for ${facts.hosts.join(', ') || 'no host (it has no DNS name as subjectAltName)'}`;
  return facts.notAfter <= now ? `it expired ${kubeTime(facts.notAfter)}; is a clock wrong?` : null;
}
