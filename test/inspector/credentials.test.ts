/** Where a token is looked for, and when a request counts as the page's own. */
import { describe, expect, test } from 'vitest';
import {
  cookieOf,
  isDeliberate,
  isForeign,
  isLoopbackName,
  isToken,
  tokenOf,
} from '../../src/inspector/http/credentials.ts';

const protocolOf = (token: string) =>
  `orrery.inspect.v1, base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

describe('a token', () => {
  test.each([
    [{ authorization: 'Bearer abc.def' }, 'abc.def'],
    [{ authorization: 'Basic abc' }, null],
    [{ 'sec-websocket-protocol': protocolOf('abc.def') }, 'abc.def'],
    [{ cookie: 'a=b; orrery_token=abc.def; c=d' }, 'abc.def'],
    [{ cookie: 'not_orrery_token=abc' }, null],
    [{ authorization: 'Bearer header', cookie: 'orrery_token=cookie' }, 'header'],
    [{}, null],
  ])('in %j is %s', (headers, token) => expect(tokenOf(headers)).toBe(token));

  test.each(['', 'a b', 'a;b', 'a\nb', 'ü', 'x'.repeat(8_193), 42])('%j is none', (text) => {
    expect(isToken(text)).toBe(false);
  });

  test('in a cookie is hidden from scripts, from other sites, and from lines that are not TLS', () => {
    expect(cookieOf('abc', 60, true)).toBe(
      'orrery_token=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure',
    );
  });

  test('counts as given on purpose unless a browser adds it by itself', () => {
    expect(isDeliberate({ authorization: 'Bearer a' })).toBe(true);
    expect(isDeliberate({ cookie: 'orrery_token=a' })).toBe(false);
  });
});

test.each([
  [{ host: 'orrery.example' }, false],
  [{ host: 'orrery.example', origin: 'https://orrery.example' }, false],
  [{ host: 'orrery.example', origin: 'https://orrery.example:444' }, true],
  [{ host: 'orrery.example', origin: 'https://evil.example' }, true],
  [{ host: 'orrery.example', origin: 'null' }, true],
])('a request with %j comes from another site: %s', (headers, foreign) => {
  expect(isForeign(headers)).toBe(foreign);
});

test.each([
  ['localhost:7070', true],
  ['127.0.0.1:7070', true],
  ['[::1]:7070', true],
  ['127.0.0.1.evil.example', false],
  ['rebound.example:7070', false],
  [undefined, false],
])('%s names a loopback address: %s', (host, is) => expect(isLoopbackName(host)).toBe(is));
