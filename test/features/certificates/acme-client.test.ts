/** The ACME client against a real ACME server that refuses nonces. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import {
  type AcmeAccess,
  type AcmeAccount,
  openAccount,
} from '../../../src/features/certificates/acme/acme-client.ts';
import { fetchWindow } from '../../../src/features/certificates/acme/ari.ts';
import { createHttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import { renewalIdOf } from '../../../src/features/certificates/acme/renewal-id.ts';
import { makeKey, makeRequest } from '../../../src/features/certificates/acme/x509.ts';
import { isFor, readPair } from '../../../src/features/certificates/stored-certificate.ts';
import { until } from '../../until.ts';
import { type Pebble, startPebble } from './pebble.ts';

const parts = { http: createHttpClient(), clock: systemClock };
const { signal } = new AbortController();
const hmac = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
let pebble: Pebble;

beforeAll(async () => {
  pebble = await startPebble({ nonceReject: 20, eab: { 'kid-1': hmac } });
});
afterAll(() => pebble.stop());

async function access(change: Partial<AcmeAccess> = {}): Promise<AcmeAccess> {
  return {
    server: pebble.directory,
    email: 'ops@example.com',
    caBundle: pebble.caBundle,
    eab: { keyId: 'kid-1', hmac },
    profile: null,
    accountKey: await makeKey(),
    ...change,
  };
}

const wish = { profile: null, replaces: null };

/** Has a certificate issued; control is proven over DNS. */
async function issue(account: AcmeAccount, host: string) {
  const order = await account.newOrder(host, wish, signal);
  for (const { challenges } of await account.authorizations(order.url, signal)) {
    const challenge = challenges.find(({ type }) => type === 'dns-01');
    if (!challenge) throw new Error('no dns-01');
    await pebble.setTxt(`_acme-challenge.${host.replace('*.', '')}.`, await account.answerOf(challenge));
    await account.begin(challenge, signal);
  }
  const ready = await until(async () => (await account.order(order.url, signal)).status === 'ready', {
    what: 'ready',
  });
  expect(ready).toBe(true);
  const key = await makeKey();
  await account.finalize(order.url, await makeRequest(host, key), signal);
  const valid = await until(
    async () => {
      const now = await account.order(order.url, signal);
      return now.status === 'valid' ? now : undefined;
    },
    { what: 'the certificate' },
  );
  return { chain: await account.certificate(valid, signal), key };
}

test('a wildcard is issued over DNS, though every fifth nonce is refused; key, name and chain are right', async () => {
  const account = await openAccount(await access(), parts, signal);
  const { chain, key } = await issue(account, '*.wild.example.com');
  const facts = readPair(chain, key);
  if ('broken' in facts) throw new Error(facts.broken);
  expect(isFor(facts, '*.wild.example.com')).toBe(true);
  const [leaf, issuer] = chain
    .split(/(?<=-----END CERTIFICATE-----)/)
    .filter((part) => part.includes('BEGIN'));
  expect(new X509Certificate(leaf ?? '').checkIssued(new X509Certificate(issuer ?? ''))).toBe(true);
});

test('the authority finds the renewal information by the name that is made of the certificate', async () => {
  const account = await openAccount(await access(), parts, signal);
  const { chain } = await issue(account, 'ari.example.com');
  const ariId = renewalIdOf(chain) ?? '';
  const place = { renewalInfo: account.renewalInfo ?? '', ariId, caBundle: pebble.caBundle };
  const window = await fetchWindow(parts, place, signal);
  expect(window.start).toBeLessThan(window.end);
  expect(window.start).toBeGreaterThan(systemClock.now());
  expect(window.retryAfterMs).toBeGreaterThan(0);
  const start = systemClock.now() - 2 * 86_400_000;
  await pebble.suggestRenewal(chain, { start, end: start + 86_400_000 });
  expect((await fetchWindow(parts, place, signal)).start).toBeCloseTo(start, -3);
});

test('an external account that is not bound is refused, and the error says so', async () => {
  const unbound = openAccount(await access({ eab: null }), parts, signal);
  await expect(unbound).rejects.toMatchObject({ code: 'ACME_REFUSED' });
  const wrong = openAccount(await access({ eab: { keyId: 'kid-1', hmac: 'AAAA' } }), parts, signal);
  await expect(wrong).rejects.toMatchObject({ code: 'ACME_REFUSED' });
});

test('an account without an address is opened again and again: to say nothing new is no wrong update', async () => {
  const alone = await access({ email: null });
  await openAccount(alone, parts, signal);
  const again = await openAccount({ ...alone, eab: null }, parts, signal);
  await expect(again.newOrder('alone.example.com', wish, signal)).resolves.toMatchObject({
    status: 'pending',
  });
});

test('an authority whose own certificate is signed by nobody we trust is not reached', async () => {
  const unknown = openAccount(await access({ caBundle: null }), parts, signal);
  await expect(unknown).rejects.toMatchObject({ code: 'ACME_UNREACHABLE' });
});

test('a refusal keeps its sort: a host that is blocked is hopeless', async () => {
  const account = await openAccount(await access(), parts, signal);
  await expect(account.newOrder('blocked.example.com', wish, signal)).rejects.toMatchObject({
    code: 'ACME_REFUSED',
    facts: { type: 'rejectedIdentifier', hopeless: true },
  });
});

test.each([
  ['429 with Retry-After', { status: 429, headers: { 'Retry-After': '7' } }, 'ACME_LIMITED', 7_000],
  ['503 with Retry-After', { status: 503, headers: { 'Retry-After': '7' } }, 'ACME_LIMITED', 7_000],
  ['503 without', { status: 503 }, 'ACME_UNREACHABLE', null],
  ['500', { status: 500 }, 'ACME_UNREACHABLE', null],
  [
    'rateLimited',
    {
      status: 403,
      headers: { 'Retry-After': '60' },
      body: { type: 'urn:ietf:params:acme:error:rateLimited' },
    },
    'ACME_LIMITED',
    60_000,
  ],
  [
    'bad nonces without end',
    { status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce' } },
    'ACME_UNREACHABLE',
    undefined,
  ],
])('%s', async (_, answer, code, retryAfterMs) => {
  const account = await openAccount(await access(), parts, signal);
  pebble.interfere = ({ kind }) => (kind === 'newOrder' ? answer : undefined);
  try {
    const facts = retryAfterMs === undefined ? {} : { retryAfterMs };
    await expect(account.newOrder('a.example.com', wish, signal)).rejects.toMatchObject({ code, facts });
  } finally {
    pebble.interfere = () => undefined;
  }
});

test('a call ends at once when its signal is aborted', async () => {
  const account = await openAccount(await access(), parts, signal);
  const stop = new AbortController();
  pebble.interfere = () => {
    stop.abort(new Error('enough'));
    return undefined;
  };
  try {
    await expect(account.newOrder('b.example.com', wish, stop.signal)).rejects.toThrow('enough');
  } finally {
    pebble.interfere = () => undefined;
  }
});
