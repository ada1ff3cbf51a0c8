/**
 * Effect `acme.finalize`: creates and stores the key, sends the request, and waits for the certificate.
 * Outcome certificate.received.
 *
 * The key is stored in the Secret for pending certificates before the authority is asked: a repeated run
 * finds the order's key, and sends the same request or fetches what was issued for it (I5). While the
 * authority issues, it is polled at least once a second, so that a certificate is stored within a second of
 * its issuance.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { AcmeFinalize } from '../../../machines/domain/domain-effects.ts';
import type { CertificateReceived } from '../../../machines/domain/domain-events.ts';
import type { AcmeAccount, AcmeOrder } from '../acme/acme-client.ts';
import { lostOrder } from '../acme/problem.ts';
import { makeKey, makeRequest } from '../acme/x509.ts';
import { isFor, readPair, readPublicPart } from '../stored-certificate.ts';
import type { AcmeAccounts } from './acme-accounts.ts';
import { acquiring } from './acquisition-failure.ts';
import { shortFingerprint } from './certificate-inspect.ts';
import { readPending, writePending } from './certificate-secrets.ts';

const pollFirstMs = 200;
const pollMaxMs = 800;

export function finalizeOrder(
  accounts: AcmeAccounts,
  parts: { readonly kube: KubePort; readonly clock: Clock },
): EffectRunner<AcmeFinalize> {
  return acquiring(async ({ host, issuer, attempt, order, at, source = null }, { signal }) => {
    const place = { host, at, source };
    const { account } = await accounts.of(issuer, signal);
    const found = await account.order(order.url, signal);
    const pending = await readPending(parts.kube, at, signal);
    const known = pending?.order === order.url && pending.key !== '' ? pending : null;
    if (known !== null && known.chain !== '') return received(attempt, known.chain);
    // It was issued for a key that is lost, so nobody can use it.
    if (known === null && found.status !== 'ready') throw spentOrder(found);
    const key = known?.key ?? (await makeKey());
    if (known === null) await writePending(parts.kube, place, { order: order.url, key, chain: '' }, signal);
    const issued = await issuedOrder({ account, clock: parts.clock }, { host, key }, found, signal);
    const chain = await account.certificate(issued, signal);
    checkIssued(chain, key, host);
    await writePending(parts.kube, place, { order: order.url, key, chain }, signal);
    return received(attempt, chain);
  });
}

function received(attempt: number, chain: string): CertificateReceived {
  return { type: 'certificate.received', attempt, fingerprint: shortFingerprint(readPublicPart(chain)) };
}

async function issuedOrder(
  { account, clock }: { readonly account: AcmeAccount; readonly clock: Clock },
  { host, key }: { readonly host: string; readonly key: string },
  found: AcmeOrder,
  signal: AbortSignal,
): Promise<AcmeOrder> {
  let order = found;
  if (order.status === 'ready')
    order = await account.finalize(order.url, await makeRequest(host, key), signal);
  for (let pauseMs = pollFirstMs; order.status === 'processing'; pauseMs *= 1.3) {
    await sleep(clock, Math.min(pauseMs, pollMaxMs), signal);
    order = await account.order(order.url, signal);
  }
  if (order.status !== 'valid') throw spentOrder(order);
  return order;
}

const spentOrder = ({ status, error }: AcmeOrder) => lostOrder(error, `the order is ${status}`);

function checkIssued(chain: string, key: string, host: string): void {
  const facts = readPair(chain, key);
  const why =
    'broken' in facts ? facts.broken : isFor(facts, host) ? null : `it is for ${facts.hosts.join(', ')}`;
  if (why === null) return;
  throw lostOrder(null, `what the authority issued cannot be used: ${why}`);
}
