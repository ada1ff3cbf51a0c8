/**
 * An authority that answers and does not come to an end with one order: that is this host's affair, and no
 * outage that would stop everybody else's (docs/features/certificates.md §7.4).
 */
import { expect, test } from 'vitest';
import type { AcmeAccount, AcmeAuthorization } from '../../../src/features/certificates/acme/acme-client.ts';
import { makeKey } from '../../../src/features/certificates/acme/x509.ts';
import type { AcmeAccounts } from '../../../src/features/certificates/effects/acme-accounts.ts';
import { authorizeOrder } from '../../../src/features/certificates/effects/acme-authorize.ts';
import { finalizeOrder } from '../../../src/features/certificates/effects/acme-finalize.ts';
import { encoded } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { createTurns } from '../../../src/features/certificates/solvers/turns.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun as run } from './certificate-samples.ts';

const order = { url: 'https://ca/order/1', expires: 9e15 };
const wish = { host: 'app.example.com', issuer: 'acme', attempt: 4, order };

const accountsOf = (account: Partial<AcmeAccount>): AcmeAccounts => ({
  of: async () => ({ uid: 'u', spec: { challenge: 'http01' } as never, account: account as AcmeAccount }),
  forget: () => {},
});

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
  const accounts = accountsOf({
    order: async () => ({ url: order.url, status: 'pending' }) as never,
    authorizations: async () => [pending],
    answerOf: async () => 't.key',
    begin: async () => {},
  });
  const board = { put: async () => {}, remove: async () => {}, find: async () => null, has: () => true };
  const http = async () => ({ status: 200, headers: {}, body: 't.key' });
  const parts = { clock, board, http, turns: createTurns() } as never;
  const outcome = authorizeOrder(accounts, parts)({ type: 'acme.authorize', ...wish }, run);
  await clock.advance(200_000);
  const failure = { type: 'acquisition.failed', outcome: 'refused', orderLost: true };
  await expect(Promise.race([outcome, 'it still waits'])).resolves.toMatchObject({
    ...failure,
    message: expect.stringContaining(text),
  });
});

test('an order that is processed for minutes is kept and asked for again, and nobody else waits for it', async () => {
  const clock = new VirtualClock();
  const data = { 'tls.key': encoded(await makeKey()) };
  const annotations = { 'orrery.dev/host': wish.host, 'orrery.dev/order': order.url };
  const labels = { 'orrery.dev/pending-domain': wish.host };
  const kube = fakePort({ get: async () => ({ metadata: { name: 'app-next', labels, annotations }, data }) });
  const processing = async () => ({ url: order.url, status: 'processing' }) as never;
  const accounts = accountsOf({ order: processing });
  const at = { namespace: 'shop', secretName: 'app' };
  const outcome = finalizeOrder(accounts, { kube, clock })({ type: 'acme.finalize', ...wish, at }, run);
  await clock.advance(110_000);
  await expect(Promise.race([outcome, 'it still waits'])).resolves.toMatchObject({
    type: 'acquisition.failed',
    outcome: 'cluster',
    orderLost: false,
  });
});
