/**
 * An authority that answers and does not come to an end with one order: that is this host's affair, and no
 * outage that would stop everybody else's (docs/features/certificates.md §7.4).
 */
import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { sleep, systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { limits } from '../../../src/base/limits.ts';
import type {
  AcmeAccount,
  AcmeAuthorization,
  AcmeOrder,
} from '../../../src/features/certificates/acme/acme-client.ts';
import type { HttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import { makeKey } from '../../../src/features/certificates/acme/x509.ts';
import type { AcmeAccounts } from '../../../src/features/certificates/effects/acme-accounts.ts';
import { authorizeOrder } from '../../../src/features/certificates/effects/acme-authorize.ts';
import { finalizeOrder } from '../../../src/features/certificates/effects/acme-finalize.ts';
import { encoded } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { createTurns } from '../../../src/features/certificates/solvers/turns.ts';
import { readPublicPart } from '../../../src/features/certificates/stored-certificate.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun as run } from './certificate-samples.ts';
import { makeAuthority } from './test-authority.ts';

const order = { url: 'https://ca/order/1', expires: 9e15 };
const wish = { host: 'app.example.com', issuer: 'acme', attempt: 4, order };

function accountsOf(account: Partial<AcmeAccount>, challenge: unknown = 'http01'): AcmeAccounts {
  const opened = { uid: 'u', spec: { challenge } as never, account: account as AcmeAccount };
  return { of: async () => opened, use: async (_, _order, work) => work(opened), forget: () => {} };
}

/** The effect that proves a host by http-01: the order stays pending, and the authority answers so. */
function authorizing(
  clock: VirtualClock,
  authority: Pick<AcmeAccount, 'authorizations'> & Partial<AcmeAccount>,
) {
  const accounts = accountsOf({
    order: async () => ({ url: order.url, status: 'pending' }) as never,
    answerOf: async () => 't.key',
    begin: async () => {},
    ...authority,
  });
  const board = { put: async () => {}, remove: async () => {}, find: async () => null, has: () => true };
  const http = async () => ({ status: 200, headers: {}, body: 't.key' });
  const parts = { clock, board, http, turns: createTurns() } as never;
  return authorizeOrder(accounts, parts)({ type: 'acme.authorize', ...wish }, run);
}

test.each([
  ['says nothing', null, 'the authority has not validated'],
  [
    'keeps the proof pending after an error, as step-ca does',
    { type: 'urn:ietf:params:acme:error:connection', detail: 'refused' },
    'connection (refused)',
  ],
])('a proof that is never decided is a refusal of the host: the authority %s', async (_, error, text) => {
  const clock = new VirtualClock();
  const challenge = { type: 'http-01', url: 'https://ca/c', status: 'pending', token: 't', error };
  const pending: AcmeAuthorization = { url: 'https://ca/a', status: 'pending', challenges: [challenge] };
  const outcome = authorizing(clock, { authorizations: async () => [pending] });
  await clock.advance(200_000);
  const failure = { type: 'acquisition.failed', outcome: 'refused', orderLost: true };
  await expect(Promise.race([outcome, 'it still waits'])).resolves.toMatchObject({
    ...failure,
    message: expect.stringContaining(text),
  });
});

test('§4.7: a proof that takes long is asked for when the authority says, and decided in time', async () => {
  const clock = new VirtualClock();
  const challenge = { type: 'http-01', url: 'https://ca/c', status: 'pending', token: 't', error: null };
  const asked: number[] = [];
  const outcome = authorizing(clock, {
    authorizations: async () => {
      asked.push(clock.monotonic());
      return [{ url: 'https://ca/a', status: 'pending', challenges: [challenge], retryAfterMs: 60_000 }];
    },
  });
  await clock.advance(200_000);
  await expect(Promise.race([outcome, 'it still waits'])).resolves.toMatchObject({ outcome: 'refused' });
  const late = asked.filter((at) => at > 33_500).map((at) => Math.round(at / 1_000));
  expect(late).toHaveLength(3);
  expect(late.at(-1)).toBe(180);
});

/** An authority that refuses to look, and shows its authorization like this before and after. */
async function begunBefore(
  before: readonly [string, string],
  after: readonly [string, string],
  thrown = new OrreryError('ACME_REFUSED', 'the authorization must be pending', {
    facts: { type: 'malformed', hopeless: true },
  }),
) {
  const shown = ([status, ofChallenge]: readonly [string, string]): AcmeAuthorization => {
    const challenge = { type: 'http-01', url: 'https://ca/c', status: ofChallenge, token: 't', error: null };
    return { url: 'https://ca/a', status, challenges: [challenge] };
  };
  const clock = new VirtualClock();
  let isAsked = false;
  const outcome = authorizing(clock, {
    authorizations: async () => [shown(isAsked ? after : before)],
    begin: async () => {
      isAsked = true;
      throw thrown;
    },
  });
  await clock.advance(5_000);
  return Promise.race([outcome, 'it still waits']);
}

test('§4.4: a proof that a run before asked for, and that was judged meanwhile, counts as it was judged', async () => {
  const pending = ['pending', 'pending'] as const;
  await expect(begunBefore(pending, ['valid', 'valid'])).resolves.toMatchObject({ type: 'order.authorized' });
  const refused = { type: 'acquisition.failed', outcome: 'refused', orderLost: true };
  await expect(begunBefore(pending, ['invalid', 'invalid'])).resolves.toMatchObject(refused);
  await expect(begunBefore(pending, pending)).resolves.toMatchObject({ outcome: 'hopeless' });
  const late = new OrreryError('ACME_UNREACHABLE', 'no answer in time', { facts: { timedOut: true } });
  await expect(begunBefore(pending, ['valid', 'valid'], late)).resolves.toMatchObject({
    type: 'order.authorized',
  });
  await expect(begunBefore(pending, pending, late)).resolves.toBe('it still waits');
});

test.each([
  ['hangs', 90_000, 'does not answer'],
  ['is slow, and the proof is never decided', 85_000, 'the authority has not validated'],
])('a webhook that %s is no outage of the authority; what it left is removed later', async (_, ms, text) => {
  const clock = new VirtualClock();
  const challenge = { type: 'dns-01', url: 'https://ca/c', status: 'pending', token: 't', error: null };
  const pending: AcmeAuthorization = { url: 'https://ca/a', status: 'pending', challenges: [challenge] };
  const webhook = { kind: 'webhook', url: 'http://dns/', fqdn: '_acme-challenge.example.com', value: 'v' };
  const account = {
    order: async () => ({ url: order.url, status: 'pending' }) as never,
    authorizations: async () => [pending],
    answerOf: async () => 'v',
    begin: async () => {},
  };
  const accounts = accountsOf(account, { dns01: { webhook: webhook.url } });
  const http: HttpClient = async (_call, signal) => {
    await sleep(clock, ms, signal);
    if (ms < 90_000) return { status: 200, headers: {}, body: '' };
    throw new OrreryError('ACME_UNREACHABLE', 'it does not answer', { facts: { timedOut: true } });
  };
  const parts = { clock, http, turns: createTurns() } as never;
  const effect = { type: 'acme.authorize', ...wish, exhibit: webhook } as never;
  const outcome = authorizeOrder(accounts, parts)(effect, run);
  await clock.advance(limits.acmeAuthorizeMs - 1);
  await expect(Promise.race([outcome, 'it still waits'])).resolves.toMatchObject({
    type: 'acquisition.failed',
    outcome: 'refused',
    message: expect.stringContaining(text),
    removed: false,
  });
});

const chainIn = (secret: unknown): readonly string[] => {
  const { 'tls.crt': chain } = (secret as { data: Record<string, string> }).data;
  return chain === undefined ? [] : [Buffer.from(chain, 'base64').toString()];
};

interface Answers {
  /** In turn; the last one again and again. */
  readonly order: Partial<AcmeOrder> | ReadonlyArray<Partial<AcmeOrder>>;
  readonly chain?: string;
  readonly key?: string;
  /** The answer to the request for a certificate; absent: the order, as it is. */
  readonly refusal?: OrreryError;
  /** The answer to the request for the certificate; absent: the chain. */
  readonly kept?: OrreryError;
}

function handedOver({ kept, chain = '' }: Answers): string {
  if (kept !== undefined) throw kept;
  return chain;
}

/** The effect of an order, over an authority that answers so; `kept` is in the Secret since `createdAt`. */
async function finalizing(clock: VirtualClock, answers: Answers, createdAt: number | null = clock.now()) {
  const orders = [answers.order].flat();
  const finalized: number[] = [];
  const asked: number[] = [];
  const data = { 'tls.key': encoded(answers.key ?? (await makeKey())) };
  const annotations = { 'orrery.dev/host': wish.host, 'orrery.dev/order': order.url };
  const labels = { 'orrery.dev/pending-domain': wish.host };
  const creationTimestamp = new Date(createdAt ?? 0).toISOString();
  const metadata = { name: 'app-next', labels, annotations, creationTimestamp };
  let isThere = createdAt !== null;
  const kept: string[] = [];
  const kube = fakePort({
    get: async () => {
      if (!isThere) throw new OrreryError('KUBE_NOT_FOUND', 'there is none');
      return { metadata, data };
    },
    patch: async (_, { body }) => {
      isThere = true;
      kept.push(...chainIn(body));
      return { metadata };
    },
  });
  const accounts = accountsOf({
    order: async () => {
      const answer = orders[Math.min(asked.length, orders.length - 1)];
      asked.push(clock.monotonic());
      return { url: order.url, retryAfterMs: null, ...answer } as AcmeOrder;
    },
    finalize: async () => {
      finalized.push(clock.monotonic());
      if (answers.refusal !== undefined) throw answers.refusal;
      return { url: order.url, retryAfterMs: null, status: 'ready' } as AcmeOrder;
    },
    certificate: async () => handedOver(answers),
  });
  const at = { namespace: 'shop', secretName: 'app' };
  let isOver = false;
  const outcome = finalizeOrder(accounts, { kube, clock })({ type: 'acme.finalize', ...wish, at }, run);
  const ended = outcome.finally(() => {
    isOver = true;
  });
  // Keys are made in real time, in which the clock stands still.
  const turn = async () => {
    if (clock.pending > 0) await clock.advance(10_000);
    return isOver || clock.monotonic() >= 110_000;
  };
  await until(turn, { what: 'the effect to end' });
  return { outcome: await Promise.race([ended, 'it still waits']), asked, finalized, kept };
}

const hour = 3_600_000;

test('an order that is processed for minutes is kept and asked for again, and nobody else waits for it', async () => {
  const { outcome, asked } = await finalizing(new VirtualClock(), { order: { status: 'processing' } });
  expect(outcome).toMatchObject({ type: 'acquisition.failed', outcome: 'unfinished', orderLost: false });
  const pauses = asked.slice(1).map((at, n) => at - (asked[n] ?? 0));
  expect(Math.max(...pauses.filter((_, n) => (asked[n] ?? 0) < 29_000))).toBeLessThanOrEqual(1_000);
  expect(asked.length).toBeLessThan(60);
});

test('an API server whose clock is ahead makes no outage of an order that is processed', async () => {
  const clock = new VirtualClock();
  const stuck = { order: { status: 'processing' } };
  const { outcome } = await finalizing(clock, stuck, clock.now() + hour);
  expect(outcome).toMatchObject({ outcome: 'unfinished', orderLost: false });
});

test('§7: the longer an order is processed, the less often it is asked for', async () => {
  const clock = new VirtualClock();
  const stuck = { order: { status: 'processing' } };
  const { outcome, asked } = await finalizing(clock, stuck, clock.now() - 10 * hour);
  expect(outcome).toMatchObject({ outcome: 'unfinished', retryAfterMs: hour, orderLost: false });
  expect(outcome).toMatchObject({ message: expect.stringContaining('10h') });
  expect(asked).toHaveLength(1);
});

test('an order that takes long is asked for when the authority says', async () => {
  const clock = new VirtualClock();
  const slow = { order: { status: 'processing', retryAfterMs: 20_000 } };
  const { outcome, asked } = await finalizing(clock, slow, clock.now() - 31_000);
  expect(asked.map((at) => at / 1_000)).toEqual([0, 20, 40]);
  expect(outcome).toMatchObject({ retryAfterMs: 20_000 });
});

test('an authority that would be asked in a day, whatever it is about, is asked before (ZeroSSL)', async () => {
  const clock = new VirtualClock();
  const slow = { order: { status: 'processing', retryAfterMs: 24 * hour } };
  const { outcome, asked } = await finalizing(clock, slow, clock.now() - 31_000);
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.length).toBeLessThan(5);
  const retryAfterMs = Number(
    typeof outcome === 'object' && 'retryAfterMs' in outcome && outcome.retryAfterMs,
  );
  expect(retryAfterMs).toBeGreaterThan(60_000);
  expect(retryAfterMs).toBeLessThan(120_000);
  const later = await finalizing(clock, slow, clock.now() - 10 * hour);
  expect(later.outcome).toMatchObject({ retryAfterMs: hour });
});

test('§4.10: a certificate that has expired when it comes is refused, counts as issued, and clocks are named', async () => {
  const clock = new VirtualClock(systemClock.now() + 31 * 24 * hour);
  const issued = await (await makeAuthority('late')).issue(wish.host);
  const { outcome } = await finalizing(clock, { order: { status: 'valid' }, ...issued });
  expect(outcome).toMatchObject({ outcome: 'refused', issued: true, orderLost: true });
  expect(outcome).toMatchObject({ message: expect.stringMatching(/expired .*clock/) });
});

test('§4.10: a certificate that is not valid yet waits beside its key until it is', async () => {
  const clock = new VirtualClock(systemClock.now() - 3 * hour);
  const startedAt = clock.now();
  const issued = await (await makeAuthority('early')).issue(wish.host);
  const { outcome } = await finalizing(clock, { order: { status: 'valid' }, ...issued });
  const message = expect.stringMatching(/valid from .*clock/);
  expect(outcome).toMatchObject({ outcome: 'cluster', issued: true, orderLost: false, message });
  const { notBefore } = readPublicPart(issued.chain);
  expect(outcome).toMatchObject({ retryAfterMs: notBefore - startedAt });
});

test('an order that becomes ready, or shows what it does, a moment later is not given up', async () => {
  const issued = await (await makeAuthority('slow')).issue(wish.host);
  const order = ['pending', 'pending', 'ready', 'ready', 'processing', 'valid'].map((status) => ({ status }));
  const clock = new VirtualClock(systemClock.now());
  const { outcome, finalized } = await finalizing(clock, { order, ...issued }, null);
  expect(finalized).toHaveLength(1);
  // The key is another one here than that of the certificate.
  expect(outcome).toMatchObject({ message: expect.stringContaining('the key does not belong') });
});

test('§4.3: an order for which a run before asked already is continued, though asking again is refused', async () => {
  const { chain, key } = await (await makeAuthority('asked')).issue(wish.host);
  const facts = { type: 'orderNotReady' };
  const refusal = new OrreryError('ACME_REFUSED', 'the order is not ready', { facts });
  const order = ['ready', 'processing', 'valid'].map((status) => ({ status }));
  const clock = new VirtualClock(systemClock.now());
  const { outcome } = await finalizing(clock, { order, chain, key, refusal });
  expect(outcome).toMatchObject({ type: 'certificate.received' });
  const stuck = await finalizing(clock, { order: { status: 'ready' }, refusal });
  expect(stuck.outcome).toMatchObject({ outcome: 'refused', message: 'the order is not ready' });
});

test('§7: an authority that takes too long to answer and goes on issuing is no outage', async () => {
  const { chain, key } = await (await makeAuthority('slow')).issue(wish.host);
  const refusal = new OrreryError('ACME_UNREACHABLE', 'no answer in time', { facts: { timedOut: true } });
  const order = ['ready', 'processing', 'valid'].map((status) => ({ status }));
  const clock = new VirtualClock(systemClock.now());
  const { outcome } = await finalizing(clock, { order, chain, key, refusal });
  expect(outcome).toMatchObject({ type: 'certificate.received' });
  const unheard = await finalizing(clock, { order: { status: 'ready' }, refusal });
  expect(unheard.outcome).toMatchObject({ message: expect.stringMatching(/was asked .* and shows no sign/) });
  const away = new OrreryError('ACME_UNREACHABLE', 'hung up', { facts: { timedOut: false } });
  const { outcome: down } = await finalizing(clock, { order: { status: 'ready' }, refusal: away });
  expect(down).toMatchObject({ outcome: 'down' });
});

test('§3.1: of what the authority sends as a certificate, only certificates are stored', async () => {
  const { chain, key } = await (await makeAuthority('wordy')).issue(wish.host);
  const clock = new VirtualClock(systemClock.now());
  const sent = `subject=CN = app\r\n${chain.replaceAll('\n', '\r\n')}\n${await makeKey()}`;
  const { kept } = await finalizing(clock, { order: { status: 'valid' }, chain: sent, key });
  expect(kept).toEqual([chain]);
});

test('an order that stays pending after its proofs is given up', async () => {
  const { outcome, asked } = await finalizing(new VirtualClock(), { order: { status: 'pending' } }, null);
  expect(outcome).toMatchObject({ outcome: 'refused', orderLost: true });
  expect(asked.at(-1)).toBeLessThanOrEqual(31_000);
});

test.each(['no key', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey])(
  'a key that was put in the place of the order’s is replaced, or what was issued for it counts (§5.3)',
  async (given) => {
    const key = typeof given === 'string' ? given : String(given.export({ type: 'pkcs8', format: 'pem' }));
    const order = ['ready', 'valid'].map((status) => ({ status }));
    const ready = await finalizing(new VirtualClock(systemClock.now()), { order, key });
    expect(ready.finalized).toHaveLength(1);
    const valid = await finalizing(new VirtualClock(), { order: { status: 'valid' }, key });
    expect(valid.outcome).toMatchObject({ outcome: 'refused', orderLost: true, issued: true });
  },
);

const unread = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';

test.each([
  ['refuses it', { kept: new OrreryError('ACME_REFUSED', 'it is away', { facts: { status: 404 } }) }],
  [
    'answers with a page',
    { kept: new OrreryError('ACME_UNREACHABLE', 'it is away', { facts: { status: 404 } }) },
  ],
  ['fails', { kept: new OrreryError('ACME_UNREACHABLE', 'it is away', { facts: { status: 500 } }) }],
  ['sends half of it', { chain: unread }],
  ['sends nothing', { chain: '' }],
])(
  '§7: a certificate that was issued and is not handed over counts, and its order is kept: the authority %s',
  async (_, answers) => {
    const clock = new VirtualClock();
    const given = { order: { status: 'valid' }, ...answers };
    const { outcome, asked } = await finalizing(clock, given, clock.now() - 5 * 60_000);
    expect(outcome).toMatchObject({ outcome: 'unfinished', orderLost: false, issued: true });
    expect(outcome).toMatchObject({
      retryAfterMs: 30_000,
      message: expect.stringContaining('order ca/order/1'),
    });
    expect(asked).toHaveLength(1);
  },
);

test('an authority that limits who asks for a certificate says so itself, and it counts once it is here', async () => {
  const kept = new OrreryError('ACME_LIMITED', 'wait', { facts: { retryAfterMs: 9_000, scope: 'account' } });
  const { outcome } = await finalizing(new VirtualClock(), { order: { status: 'valid' }, kept });
  expect(outcome).toMatchObject({ outcome: 'rateLimited', retryAfterMs: 9_000, orderLost: false });
  expect(outcome).not.toHaveProperty('issued');
});

test('an order whose key was deleted says so', async () => {
  const { outcome } = await finalizing(new VirtualClock(), { order: { status: 'valid' } }, null);
  const message = "the Secret shop/app-next with the order's key is gone; another order is placed";
  expect(outcome).toMatchObject({ outcome: 'refused', orderLost: true, message });
});
