/**
 * Orders at an authority that has changed its mind about our account: the effect, with the ACME library over
 * an authority in memory.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import type { HttpAnswer, HttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import { makeKey } from '../../../src/features/certificates/acme/x509.ts';
import { createAcmeAccounts } from '../../../src/features/certificates/effects/acme-accounts.ts';
import { authorizeOrder } from '../../../src/features/certificates/effects/acme-authorize.ts';
import { makeOrder } from '../../../src/features/certificates/effects/acme-order.ts';
import { askForWindow } from '../../../src/features/certificates/effects/ari-fetch.ts';
import type { AcmeSpec } from '../../../src/features/certificates/issuer-spec.ts';
import { createTurns } from '../../../src/features/certificates/solvers/turns.ts';
import type { OrderPlace } from '../../../src/machines/domain/domain-events.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun as run } from './certificate-samples.ts';

const spec: AcmeSpec = {
  server: 'https://ca/dir',
  email: 'ops@example.com',
  caBundle: null,
  eab: null,
  profile: null,
  accountSecret: { namespace: 'shop', name: 'account' },
  challenge: 'http01',
};
const wish = {
  type: 'acme.order',
  host: 'app.example.com',
  issuer: 'acme',
  attempt: 1,
  replaces: null,
} as const;

interface Protected {
  readonly jwk?: { readonly x: string };
  readonly kid?: string;
}

/** It knows accounts by their keys, and refuses those that were deactivated (RFC 8555 7.3.6). */
class Authority {
  readonly accounts: string[] = [];
  readonly deactivated = new Set<string>();
  /** Keys that were replaced (RFC 8555 7.3.5): what they sign does not verify. */
  readonly replaced = new Set<string>();
  /** Hosts that this account may not have. */
  readonly forbidden = new Set<string>();
  /** Accounts that have not agreed to the present terms. */
  readonly undecided = new Set<string>();
  /** Its orders and accounts were lost, as by a restored backup; it forgets what it creates as well. */
  isForgetful = false;
  /** Accounts that it has lost, until they are made again. */
  readonly lost = new Set<string>();
  /** By the authority's clock. */
  expires: string | undefined;
  /** Of the order that it answers a new one with. */
  status = 'pending';
  /** The answer to whoever opens an account, or places an order. */
  onAccount: ((wish: { readonly onlyReturnExisting?: true }) => HttpAnswer) | null = null;
  onOrder: HttpAnswer | null = null;
  /** The answer to an order that names a certificate to replace. */
  onReplaces: HttpAnswer | null = null;

  /** Where everything is but the directory. */
  host = 'ca';

  readonly http: HttpClient = async ({ url, method, body }) => {
    const { pathname: path, host } = new URL(url);
    if (path === '/dir') return answered(200, directoryOf(this.host));
    if (host !== this.host) throw new OrreryError('ACME_UNREACHABLE', `${host}: connection refused`);
    if (path.startsWith('/ari/')) return answered(200, { suggestedWindow });
    if (method === 'HEAD') return answered(200, {});
    const { protected: head, payload } = JSON.parse(body ?? '{}') as Record<string, string>;
    const { jwk, kid } = decoded<Protected>(head);
    const key = jwk?.x ?? kid?.split('/').at(-1) ?? '';
    if (this.deactivated.has(key)) return refused('Account has been deactivated');
    if (this.replaced.has(key)) return problem(400, 'malformed', 'JWS verification error');
    if (path === '/account' && this.onAccount !== null) return this.onAccount(decoded(payload));
    if (path === '/order' && this.onOrder !== null) return this.onOrder;
    if (path === '/account') this.lost.delete(key);
    if (this.lost.has(key)) return problem(400, 'accountDoesNotExist', 'no such account');
    const isNew = path === '/account' && (this.isForgetful || !this.accounts.includes(key));
    if (isNew) this.accounts.push(key);
    const agrees = decoded<{ termsOfServiceAgreed?: boolean }>(payload === '' ? 'e30' : payload);
    if (path === `/account/${key}` && agrees.termsOfServiceAgreed === true) this.undecided.delete(key);
    const n = this.isForgetful ? `${this.accounts.length}/` : '';
    if (path.startsWith('/account'))
      return answered(isNew ? 201 : 200, { status: 'valid' }, `https://${host}/account/${n}${key}`);
    if (this.isForgetful) return problem(400, 'accountDoesNotExist', 'no such account');
    if (path.startsWith('/orders/'))
      return path.endsWith(key) ? answered(200, { status: 'ready' }) : refused('not the owner');
    const wanted = decoded<{ identifiers: Array<{ value: string }>; replaces?: string }>(payload);
    if (wanted.replaces !== undefined && this.onReplaces !== null) return this.onReplaces;
    const { identifiers } = wanted;
    if (this.undecided.has(key)) return problem(403, 'userActionRequired', 'the terms have changed');
    if (identifiers.some(({ value }) => this.forbidden.has(value))) return refused('not your name');
    const order = { status: this.status, identifiers, authorizations: [], finalize: 'https://ca/finalize' };
    const { expires } = this;
    return answered(201, { ...order, expires }, `https://${host}/orders/${key}`);
  };
}

const directoryOf = (host: string) => ({
  renewalInfo: `https://${host}/ari`,
  newNonce: `https://${host}/nonce`,
  newAccount: `https://${host}/account`,
  newOrder: `https://${host}/order`,
});
const suggestedWindow = { start: '2026-01-02T04:00:00Z', end: '2026-01-03T04:00:00Z' };

const decoded = <T>(text: string | undefined) =>
  JSON.parse(Buffer.from(text ?? '', 'base64url').toString()) as T;

const answered = (status: number, body: object, location = ''): HttpAnswer => ({
  status,
  headers: { 'replay-nonce': 'nonce', location },
  body: JSON.stringify(body),
});
const problem = (status: number, type: string, detail = '') =>
  answered(status, { type: `urn:ietf:params:acme:error:${type}`, detail });
const refused = (detail: string) => problem(403, 'unauthorized', detail);

/** An Issuer whose account's key can be replaced. */
function stage(change: Partial<AcmeSpec> = {}) {
  const authority = new Authority();
  const secret = { key: '', uid: 'first' };
  const kube = fakePort({
    get: async () => {
      if (secret.key === '') throw new OrreryError('KUBE_NOT_FOUND', 'there is none');
      const data = { 'tls.key': Buffer.from(secret.key).toString('base64') };
      return { metadata: { namespace: 'shop', name: 'account', uid: secret.uid }, data } as KubeObject;
    },
    create: async (_resource, { data }: KubeObject & { readonly data?: Record<string, string> }) => {
      secret.key = Buffer.from(data?.['tls.key'] ?? '', 'base64').toString();
      secret.uid = `made with ${nameOf(secret.key)}`;
      return { metadata: { name: 'account', uid: secret.uid } };
    },
  });
  const issuerOf = () => ({ uid: 'u', version: 'v', spec: { acme: { ...spec, ...change } } as never });
  const clock = new VirtualClock();
  const accountsOfReplica = () => createAcmeAccounts({ kube, http: authority.http, clock, issuerOf });
  const accounts = accountsOfReplica();
  const order = makeOrder(accounts, systemClock);
  const elsewhere = makeOrder(accountsOfReplica(), systemClock);
  const prove = authorizeOrder(accounts, { clock, turns: createTurns() } as never);
  const askForIt = askForWindow(accounts, { http: authority.http, clock });
  return {
    window: () => askForIt({ type: 'ari.fetch', issuer: wish.issuer, fingerprint: 'f', ariId: 'a.s' }, run),
    authority,
    secret,
    clock,
    /** The next step of an order that was placed. */
    go: (place: { readonly url: string; readonly expires: number }) =>
      prove({ ...wish, type: 'acme.authorize', order: place }, run),
    order: (host: string = wish.host, replaces: string | null = null) =>
      order({ ...wish, host, replaces }, run),
    /** Of another replica. */
    orderElsewhere: () => elsewhere({ ...wish, replaces: null }, run),
  };
}

async function placed(order: ReturnType<typeof stage>['order']) {
  const made = await order();
  if (made.type !== 'order.made') throw new Error(JSON.stringify(made));
  return made.order as OrderPlace;
}

const nameOf = (key: string) => createPublicKey(createPrivateKey(key)).export({ format: 'jwk' }).x ?? '';

test('an account that the authority has deactivated makes the Issuer unusable, and counts against no host', async () => {
  const { authority, secret, order } = stage();
  secret.key = await makeKey();
  await expect(order()).resolves.toMatchObject({ type: 'order.made' });
  authority.deactivated.add(nameOf(secret.key));
  await expect(order()).resolves.toMatchObject({ type: 'acquisition.failed', outcome: 'unusable' });
});

test.each([new Date(0).toISOString(), 'soon'])(
  'an order that has expired by a clock that is wrong is kept for a while (%s)',
  async (expires) => {
    const { authority, secret, order } = stage();
    secret.key = await makeKey();
    authority.expires = expires;
    expect((await placed(order)).expires).toBeGreaterThan(systemClock.now() + 9 * 60_000);
  },
);

test.each(['pending', 'ready', 'processing', 'valid'])(
  'a new order that the authority answers with one that is %s: whether it was issued before is noted',
  async (status) => {
    const { authority, secret, order } = stage();
    secret.key = await makeKey();
    authority.status = status;
    const wasIssued = status === 'processing' || status === 'valid' ? true : undefined;
    expect((await placed(order)).wasIssued).toBe(wasIssued);
  },
);

test('an authority that has moved everything but its directory is found by the next attempt, for orders and windows', async () => {
  for (const step of ['order', 'window'] as const) {
    const { authority, secret, clock, ...steps } = stage();
    secret.key = await makeKey();
    const isGood = async () => ['order.made', 'ari.fetched'].includes((await steps[step]()).type);
    expect(await isGood()).toBe(true);
    authority.host = 'ca-2';
    await clock.advance(60_000);
    expect([await isGood(), await isGood()]).toEqual([false, true]);
  }
});

const eab = { keyId: 'k-1', secretRef: { namespace: 'shop', name: 'eab', key: 'tls.key' } };
const ofBinding =
  '; it does not take the binding in spec.acme.eab: is the key of k-1 in the Secret shop/eab (tls.key), and';
const otherKey = '; put a key of another sort into the Secret shop/account (tls.key), such as RSA';

test.each([
  ['externalAccountRequired', { eab }, ofBinding],
  ['unauthorized', { eab }, ofBinding],
  ['malformed', { eab }, ofBinding],
  ['externalAccountRequired', {}, '; name the binding that you got from it in spec.acme.eab'],
  ['badSignatureAlgorithm', {}, otherKey],
  ['badPublicKey', {}, otherKey],
  ['invalidContact', {}, '; the address is spec.acme.email'],
])(
  '§7.6: an account that is refused with %s, where the Issuer has %j: what helps is told',
  async (type, change, advice) => {
    const { authority, secret, order } = stage(change);
    secret.key = await makeKey();
    authority.onAccount = ({ onlyReturnExisting }) =>
      onlyReturnExisting ? problem(400, 'accountDoesNotExist') : problem(403, type, 'no');
    const message = expect.stringContaining(`ca/account answered 403: ${type} (no)${advice}`);
    await expect(order()).resolves.toMatchObject({ outcome: 'unusable', message });
  },
);

test('§7.6: a profile that the authority does not list, and refuses with the order: the Issuer is told, and what to do', async () => {
  const { authority, secret, order } = stage({ profile: 'short' });
  secret.key = await makeKey();
  authority.onOrder = problem(400, 'invalidProfile', 'no profile short');
  const message = expect.stringContaining('(no profile short); name another in spec.acme.profile, or none');
  await expect(order()).resolves.toMatchObject({ outcome: 'unusable', refusedSpec: 'v', message });
});

test('a host that its CAA records forbid is told which account a record has to name', async () => {
  const { authority, secret, order } = stage();
  secret.key = await makeKey();
  authority.onOrder = problem(403, 'caa', 'CAA forbids it');
  const url = `https://ca/account/${nameOf(secret.key)}`;
  const message = expect.stringContaining(`CAA forbids it); a CAA record with accounturi has to name ${url}`);
  await expect(order()).resolves.toMatchObject({ outcome: 'hopeless', message });
});

test('new terms are agreed to, and the order is placed', async () => {
  const { authority, secret, order } = stage();
  secret.key = await makeKey();
  await order();
  authority.undecided.add(nameOf(secret.key));
  await expect(order()).resolves.toMatchObject({ type: 'order.made' });
});

test.each(['ed25519', 'x25519'] as const)(
  'a Secret with an account key that ACME has no signature for (%s) is said to be the trouble, not the authority',
  async (sort) => {
    const { secret, order } = stage();
    const { privateKey } = generateKeyPairSync(sort as 'ed25519');
    secret.key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const message = expect.stringMatching(/Secret shop\/account .*RSA, P-256/);
    await expect(order()).resolves.toMatchObject({ outcome: 'unusable', message });
  },
);

test.each(['deactivated', 'replaced'] as const)(
  'another key in the Secret of the account is used as soon as the former one is %s',
  async (how) => {
    const { authority, secret, order } = stage();
    secret.key = await makeKey();
    await order();
    authority[how].add(nameOf(secret.key));
    secret.key = await makeKey();
    const url = `https://ca/orders/${nameOf(secret.key)}`;
    await expect(order()).resolves.toMatchObject({ type: 'order.made', order: { url } });
  },
);

test('without the Secret of the account the next order has a new one, and the former one’s is given up', async () => {
  const { secret, order, go } = stage();
  const former = await makeKey();
  secret.key = former;
  const made = await placed(order);
  secret.key = '';
  await expect(order('b.example.com')).resolves.toMatchObject({ type: 'order.made' });
  expect(['', former]).not.toContain(secret.key);
  await expect(go(made)).resolves.toMatchObject({ outcome: 'refused', orderLost: true });
});

test('another replica orders with the new account, too, and not with that of the deleted Secret', async () => {
  const { secret, order, orderElsewhere } = stage();
  secret.key = await makeKey();
  await order();
  await orderElsewhere();
  secret.key = '';
  await order('b.example.com');
  const url = `https://ca/orders/${nameOf(secret.key)}`;
  await expect(orderElsewhere()).resolves.toMatchObject({ type: 'order.made', order: { url } });
  await expect(orderElsewhere()).resolves.toMatchObject({ type: 'order.made', order: { url } });
});

test('§7: an account that is deactivated amid an order makes the Issuer unusable, and counts against no host', async () => {
  const { authority, secret, order, go } = stage();
  secret.key = await makeKey();
  const made = await placed(order);
  authority.deactivated.add(nameOf(secret.key));
  await expect(go(made)).resolves.toMatchObject({ outcome: 'unusable', orderLost: false });
  await expect(go(made)).resolves.toMatchObject({ outcome: 'unusable' });
});

test('new terms amid an order are agreed to, and it continues; another account places another one', async () => {
  const { authority, secret, order, go } = stage();
  secret.key = await makeKey();
  const made = await placed(order);
  authority.undecided.add(nameOf(secret.key));
  await expect(go(made)).resolves.toMatchObject({ type: 'order.authorized' });
  authority.deactivated.add(nameOf(secret.key));
  secret.key = await makeKey();
  const message = expect.stringContaining('the account that placed the order is another one now');
  await expect(go(made)).resolves.toMatchObject({ outcome: 'refused', orderLost: true, message });
  await expect(go(await placed(order))).resolves.toMatchObject({ type: 'order.authorized' });
});

test('an authority that forgets accounts gets no new one for each host and step', async () => {
  const { authority, secret, clock, order, go } = stage();
  secret.key = await makeKey();
  const made = await placed(order);
  authority.isForgetful = true;
  await expect(go(made)).resolves.toMatchObject({ outcome: 'refused', orderLost: true });
  for (const host of ['a.example.com', 'b.example.com']) {
    const message = expect.stringContaining('accountDoesNotExist');
    const limit = { outcome: 'rateLimited', scope: 'account', retryAfterMs: 300_000 };
    await expect(order(host)).resolves.toMatchObject({ ...limit, message });
  }
  expect(authority.accounts).toHaveLength(2);
  await clock.advance(200_000);
  await expect(order()).resolves.toMatchObject({ outcome: 'rateLimited', retryAfterMs: 100_000 });
  await clock.advance(100_000);
  await expect(order()).resolves.toMatchObject({ outcome: 'rateLimited', retryAfterMs: 300_000 });
  expect(authority.accounts).toHaveLength(3);
});

test('§7: an account that is lost twice in five minutes counts against no host, and all wait for it', async () => {
  const { authority, secret, clock, order, go } = stage();
  secret.key = await makeKey();
  const made = await placed(order);
  const lose = () => authority.lost.add(nameOf(secret.key));
  lose();
  await expect(order()).resolves.toMatchObject({ type: 'order.made' });
  lose();
  await clock.advance(60_000);
  const limit = { outcome: 'rateLimited', scope: 'account', retryAfterMs: 240_000 };
  for (const step of [() => order('b.example.com'), () => go(made)])
    await expect(step()).resolves.toMatchObject({ ...limit, orderLost: false });
  await clock.advance(240_000);
  await expect(order('b.example.com')).resolves.toMatchObject({ type: 'order.made' });
});

test('a host that an account may not have is refused alone', async () => {
  const { authority, secret, order } = stage();
  secret.key = await makeKey();
  authority.forbidden.add('bank.example.com');
  await expect(order('bank.example.com')).resolves.toMatchObject({ outcome: 'refused' });
  await expect(order()).resolves.toMatchObject({ type: 'order.made' });
});

test.each([
  ['alreadyReplaced', 409],
  ['unauthorized', 403],
  ['serverInternal', 500],
])(
  '§6: a renewal whose predecessor the authority answers with %s is ordered without naming it',
  async (type, status) => {
    const { authority, secret, order } = stage();
    secret.key = await makeKey();
    authority.onReplaces = problem(status, type, 'no order for that certificate');
    await expect(order(wish.host, 'aki.serial')).resolves.toMatchObject({ type: 'order.made' });
  },
);

test('an authority that fails without a word about the predecessor is down', async () => {
  const { authority, secret, order } = stage();
  secret.key = await makeKey();
  authority.onReplaces = answered(502, {});
  await expect(order(wish.host, 'aki.serial')).resolves.toMatchObject({ outcome: 'down' });
});
