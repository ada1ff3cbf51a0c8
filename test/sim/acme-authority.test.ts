/** The simulated ACME authority counts an order as RFC 9773 has it: not if it suggested to renew by then. */
import { expect, test } from 'vitest';
import { createChance } from '../../packages/testing/time/chance.ts';
import { SimClock } from '../../packages/testing/time/sim-clock.ts';
import type { CertificateFacts } from '../../src/machines/domain/domain-facts.ts';
import { AcmeAuthority } from './certificates/acme-authority.ts';

const host = 'shop.example.com';
const lifeMs = 600_000;

function obtained(authority: AcmeAuthority, replaces: string | null) {
  const { url, isSuggested } = authority.order(host, replaces);
  authority.authorize(url);
  return { isSuggested, certificate: authority.finalize(url) as CertificateFacts };
}

test('a renewal in the window that it suggests counts for nothing, one before it or a second one does', async () => {
  const clock = new SimClock();
  const authority = new AcmeAuthority(clock, createChance(1), lifeMs);
  const first = obtained(authority, null);
  expect(first.isSuggested).toBe(false);
  const { ariId } = first.certificate;
  expect(authority.order(host, ariId).isSuggested).toBe(false);
  await clock.run((lifeMs * 2) / 3);
  expect(obtained(authority, ariId).isSuggested).toBe(true);
  expect(authority.order(host, ariId).isSuggested).toBe(false);
});

test('the window of what it revoked is open', () => {
  const authority = new AcmeAuthority(new SimClock(), createChance(1), lifeMs);
  const { certificate } = obtained(authority, null);
  authority.revoked.add(certificate.fingerprint);
  expect(authority.order(host, certificate.ariId).isSuggested).toBe(true);
});
