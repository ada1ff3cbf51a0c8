/**
 * An authority that answers and does not come to an end with one order, once it is proven: that is this
 * host's affair, and no outage that would stop everybody else's (docs/features/certificates.md §7.4).
 */
import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { AcmeAccount, AcmeOrder } from '../../../src/features/certificates/acme/acme-client.ts';
import { makeKey } from '../../../src/features/certificates/acme/x509.ts';
import type { AcmeAccounts } from '../../../src/features/certificates/effects/acme-accounts.ts';
import { finalizeOrder } from '../../../src/features/certificates/effects/acme-finalize.ts';
import { encoded } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { readPublicPart } from '../../../src/features/certificates/stored-certificate.ts';
import type { OrderPlace } from '../../../src/machines/domain/domain-events.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun as run } from './certificate-samples.ts';
import { makeAuthority } from './test-authority.ts';

const order = { url: 'https://ca/order/1', expires: 9e15 };
const wish = { host: 'app.example.com', issuer: 'acme', attempt: 4 };

function accountsOf(account: Partial<AcmeAccount>): AcmeAccounts {
  const opened = { uid: 'u', version: 'v', spec: {} as never, account: account as AcmeAccount };
  const nothing = { forget: () => {}, doubt: () => {} };
  return { of: async () => opened, use: async (_, _order, work) => work(opened), ...nothing };
}

const chainIn = (secret: unknown): readonly string[] => {
  const { 'tls.crt': chain } = (secret as { data: Record<string, string> }).data;
  return chain === undefined ? [] : [Buffer.from(chain, 'base64').toString()];
};

interface Answers {
  /** What the record knows of the order; absent: its place. */
  readonly known?: OrderPlace;
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
  const patience: number[] = [];
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
    certificate: async (_, _signal, timeoutMs = 0) => {
      patience.push(timeoutMs);
      return handedOver(answers);
    },
  });
  const at = { namespace: 'shop', secretName: 'app' };
  let isOver = false;
  const outcome = finalizeOrder(accounts, { kube, clock })(
    { type: 'acme.finalize', ...wish, order: answers.known ?? order, at },
    run,
  );
  const ended = outcome.finally(() => {
    isOver = true;
  });
  // Keys are made in real time, in which the clock stands still.
  const turn = async () => {
    if (clock.pending > 0) await clock.advance(10_000);
    return isOver || clock.monotonic() >= 110_000;
  };
  await until(turn, { what: 'the effect to end' });
  return { outcome: await Promise.race([ended, 'it still waits']), asked, finalized, kept, patience };
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

test('a chain that does not begin with the certificate is put in order; a foreign root stays away', async () => {
  const { chain, key } = await (await makeAuthority('backwards')).issue(wish.host);
  const { pem: foreign } = await makeAuthority('foreign');
  const pieces = chain.match(/-----BEGIN.+?-----END CERTIFICATE-----\n/gs) ?? [];
  const clock = new VirtualClock(systemClock.now());
  const sent = [`${foreign}\n`, ...pieces.toReversed()].join('');
  const { kept, outcome } = await finalizing(clock, { order: { status: 'valid' }, chain: sent, key });
  expect(outcome).toMatchObject({ type: 'certificate.received' });
  expect(kept).toEqual([chain]);
  const other = await finalizing(clock, { order: { status: 'valid' }, chain: foreign });
  const message = expect.stringContaining('the key does not belong to the certificate');
  expect(other.outcome).toMatchObject({ outcome: 'refused', issued: true, message });
});

test('an order that stays pending after its proofs is given up', async () => {
  const { outcome, asked } = await finalizing(new VirtualClock(), { order: { status: 'pending' } }, null);
  const message = expect.stringContaining('the order is pending, though the authority has accepted all');
  expect(outcome).toMatchObject({ outcome: 'refused', orderLost: true, message });
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

test('a certificate has 45 s to come, or what is left of the time of the effect', async () => {
  const kept = new OrreryError('ACME_UNREACHABLE', 'no answer in time', { facts: { timedOut: true } });
  const at = (count: number) => [...Array(count).fill('processing'), 'valid'].map((status) => ({ status }));
  const soon = await finalizing(new VirtualClock(), { order: at(0), kept });
  expect(soon.patience).toEqual([45_000]);
  const late = await finalizing(new VirtualClock(), { order: at(56), kept });
  expect(late.asked.at(-1)).toBeGreaterThan(70_000);
  expect((late.asked.at(-1) ?? 0) + (late.patience[0] ?? 0)).toBeLessThan(115_000);
});

test('an order whose key was deleted says so', async () => {
  const { outcome } = await finalizing(new VirtualClock(), { order: { status: 'valid' } }, null);
  const message = "the Secret shop/app-next with the order's key is gone; another order is placed";
  expect(outcome).toMatchObject({ outcome: 'refused', orderLost: true, message });
});

test.each(['valid', 'processing'])(
  'a new order that the authority answers with one of others (%s) says so, and no certificate counts',
  async (status) => {
    const others = { ...order, wasIssued: true } as const;
    const { outcome } = await finalizing(new VirtualClock(), { order: { status }, known: others }, null);
    const message = expect.stringMatching(/ with order ca\/order\/1, which was issued before.*accountSecret/);
    expect(outcome).toMatchObject({ outcome: 'refused', orderLost: true, message });
    expect(outcome).not.toHaveProperty('issued');
  },
);

test('§4.3: what is kept beside the key of such an order is its certificate all the same', async () => {
  const issued = await (await makeAuthority('again')).issue(wish.host);
  const clock = new VirtualClock(systemClock.now());
  const known = { ...order, wasIssued: true } as const;
  const { outcome } = await finalizing(clock, { order: { status: 'valid' }, ...issued, known });
  expect(outcome).toMatchObject({ type: 'certificate.received' });
});
