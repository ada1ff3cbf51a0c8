/**
 * Answers that are no ACME (a maintenance page, a redirect, half of a document): what is told says what came
 * from where, and nobody asks again in the same call.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { type AcmeAccess, openAccount } from '../../../src/features/certificates/acme/acme-client.ts';
import type { HttpAnswer, HttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import { makeKey, makeRequest } from '../../../src/features/certificates/acme/x509.ts';
import {
  acquisitionFailed,
  signedBy,
  unusableIssuer,
} from '../../../src/features/certificates/effects/acquisition-failure.ts';

const host = 'app.example.com';
const order = { status: 'ready', authorizations: ['https://ca/authz'], finalize: 'https://ca/finalize' };
const challenge = { type: 'http-01', url: 'https://ca/challenge', status: 'pending', token: 't' };
const good: Readonly<Record<string, HttpAnswer>> = {
  '/dir': json(200, {
    newNonce: 'https://ca/nonce',
    newAccount: 'https://ca/new',
    newOrder: 'https://ca/ask',
  }),
  '/nonce': json(200, {}),
  '/new': json(201, { status: 'valid' }, 'https://ca/account'),
  '/ask': json(201, order, 'https://ca/order'),
  '/order': json(200, order),
  '/authz': json(200, { status: 'valid', challenges: [challenge] }),
  '/challenge': json(200, challenge),
  '/finalize': json(200, { ...order, status: 'valid', certificate: 'https://ca/certificate' }),
  '/certificate': page(200, '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n', 'x/pem'),
};

const directory = (newOrder: string) =>
  json(200, { newNonce: 'https://ca/nonce', newAccount: 'https://ca/new', newOrder });
/** So that one has to be asked for. */
const withoutNonce = { ...directory('https://ca/ask'), headers: {} };

function json(status: number, body: unknown, location?: string): HttpAnswer {
  const headers = { 'replay-nonce': 'n', 'content-type': 'application/json' };
  return {
    status,
    headers: location === undefined ? headers : { ...headers, location },
    body: JSON.stringify(body),
  };
}

function page(status: number, body: string, type = 'text/html'): HttpAnswer {
  return { status, headers: { 'replay-nonce': 'n', 'content-type': type }, body };
}

/** The whole way to a certificate; the paths asked, and the failure. */
async function obtained(
  changed: Readonly<Record<string, HttpAnswer>>,
  given: Partial<AcmeAccess> & { readonly answer?: (path: string, body: string) => HttpAnswer | null } = {},
) {
  const { answer, ...others } = given;
  const asked: string[] = [];
  const patience: Record<string, number | undefined> = {};
  const http: HttpClient = async ({ url, body = '', timeoutMs }, signal) => {
    // So that an endless sequence of requests ends with the signal.
    await new Promise(setImmediate);
    signal.throwIfAborted();
    const path = new URL(url).pathname;
    asked.push(path);
    patience[path] = timeoutMs;
    return answer?.(path, body) ?? { ...good, ...changed }[path] ?? page(404, '');
  };
  const key = await makeKey();
  const access: AcmeAccess = {
    server: 'https://ca/dir',
    email: null,
    caBundle: null,
    eab: null,
    profile: null,
    accountKey: key,
    ...others,
  };
  const signal = AbortSignal.timeout(20_000);
  const way = async () => {
    const account = await openAccount(access, { http, clock: systemClock }, signal);
    const { url } = await account.newOrder(host, { profile: null, replaces: null }, signal);
    const [authorization] = await account.authorizations(url, signal);
    for (const one of authorization?.challenges ?? []) await account.begin(one, signal);
    const issued = await account.finalize(url, await makeRequest(host, key), signal);
    return account.certificate(issued, signal);
  };
  const failure = await way().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { asked, patience, failure };
}

test('without such an answer, the certificate comes; what takes work has more time to answer', async () => {
  const { failure, patience } = await obtained({});
  expect(failure).toBeNull();
  const slow = Object.keys(patience).filter((path) => patience[path] === 45_000);
  expect(slow).toEqual(expect.arrayContaining(['/ask', '/challenge', '/finalize', '/certificate']));
});

function proofs(one: unknown): HttpAnswer {
  return json(200, { status: 'pending', challenges: [one] });
}

test('a nonce that is refused ten times in a row is replaced each time', async () => {
  let refusals = 0;
  const type = 'urn:ietf:params:acme:error:badNonce';
  const answer = (path: string) =>
    path === '/ask' && refusals++ < 10 ? json(400, { type, detail: 'not this one' }) : null;
  expect((await obtained({}, { answer })).failure).toBeNull();
});

test('an authority that refuses each nonce is told by that, and why it may be', async () => {
  const refusal = json(400, { type: 'urn:ietf:params:acme:error:badNonce', detail: 'unknown nonce' });
  const { asked, failure } = await obtained({ '/ask': refusal });
  expect(failure).toMatchObject({
    code: 'ACME_UNREACHABLE',
    message: expect.stringMatching(
      /^ca\/ask refused 11 nonces in a row \(unknown nonce\): .*servers behind one address.*cache/,
    ),
  });
  expect(asked.filter((path) => path === '/ask')).toHaveLength(11);
});

test.each(['/dir', '/nonce', '/new'])(
  'a limit met at %s is the account’s: no host is asked for yet',
  async (path) => {
    const limit = { ...page(429, '<h1>slow down</h1>'), headers: { 'retry-after': '120' } };
    const { failure } = await obtained({
      [path]: limit,
      ...(path === '/nonce' ? { '/dir': withoutNonce } : {}),
    });
    expect(failure).toMatchObject({
      code: 'ACME_LIMITED',
      facts: { scope: 'account', retryAfterMs: 120_000 },
    });
  },
);

test('a challenge of a type that we do not know needs no token', async () => {
  const other = { type: 'dns-persist-01', url: 'https://ca/challenge', status: 'pending' };
  expect((await obtained({ '/authz': proofs(other) })).failure).not.toMatchObject({
    message: expect.stringContaining('ca/authz'),
  });
});

const maintenance = page(200, '<html><title>Maintenance</title>\n<body>Back  soon</body></html>');
const moved = { ...page(301, '<a>moved</a>'), headers: { location: 'https://other/dir?key=secret' } };

test.each([
  ['/dir', maintenance, 'ca/dir answered 200 with text/html instead of JSON: Maintenance Back soon'],
  ['/dir', page(200, ''), 'ca/dir answered 200 with nothing instead of JSON'],
  ['/dir', moved, 'ca/dir answered 301: it leads to other/dir, and redirects are not followed: name that'],
  [
    '/dir',
    json(200, {}),
    'ca/dir answered 200, which cannot be used: a directory without a proper newNonce, n',
  ],
  ['/dir', directory('/ask'), 'ca/dir answered 200, which cannot be used: a directory without a proper newO'],
  ['/dir', directory('ftp://ca/ask'), 'ca/dir answered 200, which cannot be used: a directory without a pro'],
  ['/dir', page(404, '<h1>not found</h1>'), 'ca/dir answered 404 with text/html: not found'],
  ['/new', page(403, '<h1>blocked</h1>'), 'ca/new answered 403 with text/html: blocked'],
  ['/ask', maintenance, 'ca/ask answered 200 with text/html instead of JSON'],
  ['/ask', json(201, order), 'ca/ask answered 201, which cannot be used: '],
  ['/ask', json(200, {}), 'ca/ask answered 200, which cannot be used: {}'],
  ['/order', page(200, '{"status":"pen', 'application/json'), 'ca/order answered 200 with application/json'],
  ['/order', page(200, ''), 'ca/order answered 200 with nothing instead of JSON'],
  ['/order', json(200, []), 'ca/order answered 200 with application/json instead of JSON'],
  ['/order', json(202, {}), 'ca/order answered 202, which cannot be used: {}'],
  ['/order', moved, 'ca/order answered 301: it leads to other/dir'],
  ['/authz', json(200, {}), 'ca/authz answered 200, which cannot be used: '],
  ['/authz', proofs(null), 'ca/authz answered 200, which cannot be used: a challenge without'],
  ['/authz', proofs({ ...challenge, token: undefined }), 'ca/authz answered 200, which cannot be used: '],
  ['/authz', proofs({ ...challenge, token: '../x' }), 'ca/authz answered 200, which cannot be used: '],
  ['/finalize', json(200, {}), 'ca/finalize answered 200, which cannot be used: '],
  ['/certificate', maintenance, 'ca/certificate answered 200 with text/html instead of a certificate'],
  ['/certificate', json(200, {}), 'ca/certificate answered 200 with application/json instead of a cert'],
])('%s: %j', async (path, answer, text) => {
  const { asked, failure } = await obtained({ [path]: answer });
  expect(failure).toMatchObject({ code: 'ACME_UNREACHABLE', message: expect.stringContaining(text) });
  expect((failure as Error).message).not.toContain('secret');
  expect(asked.filter((one) => one === path).length).toBeLessThanOrEqual(2);
});

test.each([200, 201])(
  'an account without an address (%i) is not asked for again and again',
  async (status) => {
    const { asked, failure } = await obtained({ '/new': json(status, { status: 'valid' }) });
    expect(failure).toMatchObject({
      code: 'ACME_UNREACHABLE',
      message: expect.stringContaining(`ca/new answered ${status}, which cannot be used: `),
    });
    expect(asked.filter((path) => path === '/new')).toEqual(['/new']);
  },
);

test('what an authority answers to a challenge is not needed', async () => {
  expect((await obtained({ '/challenge': page(200, '') })).failure).toBeNull();
});

test('addresses relative to what was asked for (RFC 9110 10.2.2) are followed', async () => {
  const { failure } = await obtained({
    '/new': json(201, { status: 'valid' }, '/account'),
    '/ask': json(201, order, 'order'),
  });
  expect(failure).toBeNull();
});

test.each(['deactivated', 'revoked'])(
  'an account that is %s is refused, though it is found',
  async (status) => {
    const { failure } = await obtained({
      '/new': json(200, { status }, 'https://ca/account'),
      '/account': json(200, { status }),
    });
    expect(failure).toMatchObject({
      code: 'ACME_REFUSED',
      message: `ca/dir says that the account is ${status}`,
    });
  },
);

const meta = (profiles: unknown) => {
  const entries = { newNonce: 'https://ca/nonce', newAccount: 'https://ca/new', newOrder: 'https://ca/ask' };
  return { '/dir': json(200, { ...entries, meta: { profiles } }) };
};

test('a profile that the authority does not offer is refused before anything is ordered, and those that it offers are named', async () => {
  const profiles = { classic: 'https://ca/classic', short: 'six days' };
  const { asked, failure } = await obtained(meta(profiles), { profile: 'clasic' });
  const message = 'ca/dir offers no profile clasic (spec.acme.profile); it offers classic, short';
  expect(failure).toMatchObject({ code: 'ACME_REFUSED', message });
  expect(asked).toEqual(['/dir']);
});

test.each([[{ classic: '' }], [undefined], [null], [['classic']]])(
  'a profile is asked for where it is offered, or nothing is said about profiles: %j',
  async (profiles) => {
    expect((await obtained(meta(profiles), { profile: 'classic' })).failure).toBeNull();
  },
);

test.each([
  [null, undefined],
  ['', undefined],
  ['ops@example.com', ['mailto:ops@example.com']],
])('an account with the address %j has the contact %j', async (email, contact) => {
  const bodies: string[] = [];
  const answer = (path: string, body: string) => {
    if (path === '/new') bodies.push(body);
    return null;
  };
  await obtained({}, { email, answer });
  const { payload } = JSON.parse(bodies[0] ?? '{}') as { payload?: string };
  expect(JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()).contact).toEqual(contact);
});

test('a binding to an external account is used once: an account that exists is opened without it', async () => {
  const eab = { keyId: 'k', hmac: 'AAAA' };
  const accounts = { made: 0, opened: 0 };
  const answer = (path: string, body: string) => {
    if (path !== '/new') return path === '/account' ? json(200, { status: 'valid' }) : null;
    const payload = JSON.parse(
      Buffer.from((JSON.parse(body) as { payload: string }).payload, 'base64url').toString(),
    ) as Record<string, unknown>;
    if (payload.onlyReturnExisting === true && accounts.made === 0)
      return json(400, { type: 'urn:ietf:params:acme:error:accountDoesNotExist' });
    if (payload.externalAccountBinding === undefined && accounts.made > 0) {
      accounts.opened += 1;
      return json(200, { status: 'valid' }, 'https://ca/account');
    }
    if (payload.externalAccountBinding === undefined || accounts.made > 0)
      return json(403, { type: 'urn:ietf:params:acme:error:unauthorized', detail: 'used' });
    accounts.made += 1;
    return json(201, { status: 'valid' }, 'https://ca/account');
  };
  expect((await obtained({}, { eab, answer })).failure).toBeNull();
  expect((await obtained({}, { eab, answer })).failure).toBeNull();
  expect(accounts).toEqual({ made: 1, opened: 1 });
});

test('an order that the authority does not know any more is given up, though it says so on a page of HTML', () => {
  const thrown = new OrreryError('ACME_UNREACHABLE', 'ca/order answered 404', { facts: { status: 404 } });
  expect(acquisitionFailed(1, thrown)).toMatchObject({ outcome: 'down', orderLost: true });
  const gone = new OrreryError('KUBE_NOT_FOUND', 'no such namespace', { facts: { status: 404 } });
  expect(acquisitionFailed(1, gone)).toMatchObject({ outcome: 'unwritable', orderLost: false });
});

test('§7.6: who hears that an Issuer is unusable hears which replica found that', async () => {
  const failing = { type: 'acme.order', run: async () => acquisitionFailed(1, unusableIssuer('it expired')) };
  const [signed] = signedBy('orrery-2', [failing]);
  const told = await signed?.run({ type: 'acme.order' }, {} as never);
  expect(told).toMatchObject({ outcome: 'unusable', message: 'it expired (found by replica orrery-2)' });
});
