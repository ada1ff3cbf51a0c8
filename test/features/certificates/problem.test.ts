/** Problem documents in the forms in which authorities write them (RFC 7807, RFC 8555 6.7). */
import { expect, test } from 'vitest';
import { answerError, lostOrder } from '../../../src/features/certificates/acme/problem.ts';

const acme = (name: string) => `urn:ietf:params:acme:error:${name}`;

const errorOf = (status: number, body: unknown, type = 'application/problem+json') =>
  answerError({ status, headers: { 'content-type': type }, body: JSON.stringify(body) }, 'ca/order', 0);

test('a 404 by the authority itself, which has a nonce, refuses; one of what stands before it is no answer', () => {
  const gone = (headers: Record<string, string>) =>
    answerError({ status: 404, headers, body: '' }, 'ca/order', 0);
  expect(gone({ 'replay-nonce': 'n' })).toMatchObject({ code: 'ACME_REFUSED', facts: { status: 404 } });
  expect(gone({})).toMatchObject({ code: 'ACME_UNREACHABLE' });
});

test('a problem without a type is a refusal in the words that it has', () => {
  expect(errorOf(403, { detail: 'not for you' })).toMatchObject({
    code: 'ACME_REFUSED',
    message: 'ca/order answered 403: not for you',
  });
  expect(errorOf(403, { type: 'about:blank', title: 'Forbidden' }, 'application/json')).toMatchObject({
    code: 'ACME_UNREACHABLE',
  });
});

test('an object that is no problem is no word of the authority, though it has a detail', () => {
  expect(errorOf(404, { detail: 'Not Found' }, 'application/json')).toMatchObject({
    code: 'ACME_UNREACHABLE',
  });
  expect(errorOf(400, {})).toMatchObject({ code: 'ACME_UNREACHABLE' });
  expect(errorOf(400, [])).toMatchObject({ code: 'ACME_UNREACHABLE' });
  expect(errorOf(400, null)).toMatchObject({ code: 'ACME_UNREACHABLE' });
});

test('what an order ended by is told, also without a type', () => {
  expect(lostOrder({ detail: 'DNS timed out' }, 'validation failed')).toMatchObject({
    code: 'ACME_REFUSED',
    message: 'validation failed: DNS timed out',
    facts: { orderLost: true },
  });
});

test('a compound problem is its first part', () => {
  const parts = [{ type: acme('caa'), detail: 'CAA forbids it', identifier: { type: 'dns', value: 'a' } }];
  const compound = { type: acme('compound'), detail: 'two', subproblems: parts };
  expect(errorOf(403, compound)).toMatchObject({
    message: 'ca/order answered 403: caa (CAA forbids it)',
    facts: { hopeless: true },
  });
});

test('where new terms are agreed to is told (RFC 8555 7.3.3)', () => {
  const terms = { type: acme('userActionRequired'), detail: 'new terms', instance: 'https://ca/agree?n=1' };
  expect(errorOf(403, terms).message).toBe(
    'ca/order answered 403: userActionRequired (new terms; see https://ca/agree?n=1)',
  );
});

test('what an authority says is one line, though it quotes what a host answered', () => {
  const quoted = { type: acme('incorrectResponse'), detail: 'got\n  "<b>\u001b[2J"\r\n\tinstead' };
  expect(errorOf(403, quoted).message).toBe(
    'ca/order answered 403: incorrectResponse (got "<b> [2J" instead)',
  );
});

test('a key that the authority cannot verify: what it takes is told (RFC 8555 6.2)', () => {
  const unsigned = {
    type: acme('badSignatureAlgorithm'),
    detail: 'ES256',
    algorithms: ['RS256', 7, 'PS256'],
  };
  expect(errorOf(400, unsigned).message).toContain('badSignatureAlgorithm (ES256; it takes RS256, PS256)');
});

test('a time in words counts by the clock of the authority, as Retry-After does', () => {
  const detail = 'too many new orders: retry after 2026-01-31 12:00:00 UTC';
  const limit = (headers: Record<string, string>) =>
    answerError(
      { status: 429, headers, body: JSON.stringify({ type: acme('rateLimited'), detail }) },
      'ca/order',
      Date.parse('2026-01-31T12:30:00Z'),
    ).facts.retryAfterMs;
  expect(limit({ date: 'Sat, 31 Jan 2026 11:00:00 GMT' })).toBe(3_600_000);
  expect(limit({})).toBe(0);
  expect(limit({ 'retry-after': '9'.repeat(400) })).toBe(1e12);
});
