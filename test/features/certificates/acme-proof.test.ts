/**
 * A proof that an authority does not decide, or is slow to take up: that is this host's affair, and no outage
 * that would stop everybody else's (docs/features/certificates.md §7.4).
 */
import { expect, test } from 'vitest';
import { sleep } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { limits } from '../../../src/base/limits.ts';
import type { AcmeAccount, AcmeAuthorization } from '../../../src/features/certificates/acme/acme-client.ts';
import type { HttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import type { AcmeAccounts } from '../../../src/features/certificates/effects/acme-accounts.ts';
import { authorizeOrder } from '../../../src/features/certificates/effects/acme-authorize.ts';
import { createTurns } from '../../../src/features/certificates/solvers/turns.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun as run } from './certificate-samples.ts';

const order = { url: 'https://ca/order/1', expires: 9e15 };
const wish = { host: 'app.example.com', issuer: 'acme', attempt: 4, order };

function accountsOf(account: Partial<AcmeAccount>, challenge: unknown = 'http01'): AcmeAccounts {
  const opened = { uid: 'u', version: 'v', spec: { challenge } as never, account: account as AcmeAccount };
  const nothing = { forget: () => {}, doubt: () => {} };
  return { of: async () => opened, use: async (_, _order, work) => work(opened), ...nothing };
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

const refusal = { type: 'urn:ietf:params:acme:error:connection', detail: 'refused' };

test.each([
  ['says nothing', 'pending', null, 181, 'the authority has not validated'],
  ['goes on trying after an error', 'processing', refusal, 181, 'connection (refused)'],
  ['tries no more, as step-ca does', 'pending', refusal, 34, 'connection (refused)'],
  ['calls the proof alone invalid', 'invalid', refusal, 1, 'connection (refused)'],
])(
  'a proof that is never decided is a refusal of the host: the authority %s',
  async (_, status, error, seconds, text) => {
    const clock = new VirtualClock();
    const challenge = { type: 'http-01', url: 'https://ca/c', status, token: 't', error };
    const pending: AcmeAuthorization = { url: 'https://ca/a', status: 'pending', challenges: [challenge] };
    const outcome = authorizing(clock, { authorizations: async () => [pending] });
    await clock.advance(seconds * 1_000);
    const failure = { type: 'acquisition.failed', outcome: 'refused', orderLost: true };
    await expect(Promise.race([outcome, 'it still waits'])).resolves.toMatchObject({
      ...failure,
      message: expect.stringContaining(text),
    });
  },
);

test('a challenge that the authority does not offer is told with those that it does', async () => {
  const challenges = ['dns-01', 'tls-alpn-01'].map((type) => ({
    type,
    url: '',
    status: '',
    token: '',
    error: null,
  }));
  const authorizations = async () => [{ url: 'https://ca/a', status: 'pending', challenges }];
  await expect(authorizing(new VirtualClock(), { authorizations })).resolves.toMatchObject({
    outcome: 'hopeless',
    message:
      'the authority offers no http-01 for app.example.com, but dns-01, tls-alpn-01 (spec.acme.challenge)',
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
  let times = 0;
  const outcome = authorizing(clock, {
    authorizations: async () => [shown(times > 0 ? after : before)],
    begin: async () => {
      times++;
      throw thrown;
    },
  });
  await clock.advance(5_000);
  return { outcome: await Promise.race([outcome, 'it still waits']), times };
}

const pending = ['pending', 'pending'] as const;
const late = new OrreryError('ACME_UNREACHABLE', 'no answer in time', { facts: { timedOut: true } });

test('§4.4: a proof that a run before asked for, and that was judged meanwhile, counts as it was judged', async () => {
  const judged = async (...how: Parameters<typeof begunBefore>) => (await begunBefore(...how)).outcome;
  const authorized = { type: 'order.authorized' };
  expect(await judged(pending, ['valid', 'valid'])).toMatchObject(authorized);
  const refused = { type: 'acquisition.failed', outcome: 'refused', orderLost: true };
  expect(await judged(pending, ['invalid', 'invalid'])).toMatchObject(refused);
  expect(await judged(pending, pending)).toMatchObject({ outcome: 'hopeless' });
  expect(await judged(pending, ['valid', 'valid'], late)).toMatchObject(authorized);
});

test('§7: an authority that does not answer when it is told to look is told once more, unless it looks already', async () => {
  expect(await begunBefore(pending, pending, late)).toEqual({ outcome: 'it still waits', times: 2 });
  const looking = await begunBefore(pending, ['pending', 'processing'], late);
  expect(looking).toEqual({ outcome: 'it still waits', times: 1 });
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
