/** The page, signing in and sending events over HTTP: who gets what. */
import { describe, expect, test } from 'vitest';
import type { HttpServerParts } from '../../src/inspector/http/server.ts';
import type { Authorize } from '../../src/kube/api/access.ts';
import { byToken, inject, scriptedControl, scriptedLetters } from './http-parts.ts';

async function call(
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  {
    headers = {},
    body,
    ...overrides
  }: Partial<HttpServerParts> & { headers?: Record<string, string>; body?: object } = {},
) {
  const payload = body === undefined ? {} : { payload: body };
  return inject(overrides, { method, url, headers, ...payload });
}

const html = { accept: 'text/html,*/*' };

describe('the page', () => {
  test('is 401 without a token and 403 for those who may not look, and asks for a token all the same', async () => {
    const nobody = await call('GET', '/', { authorize: byToken, headers: html });
    expect([nobody.statusCode, nobody.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(nobody.body).toContain('<script type="module"');
    const known = await call('GET', '/', {
      authorize: byToken,
      headers: { ...html, authorization: 'Bearer known' },
    });
    expect(known.statusCode).toBe(403);
    expect(known.headers['content-type']).toContain('text/html');
  });

  test('refuses a program in JSON', async () => {
    const answer = await call('GET', '/', { authorize: byToken });
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error.code).toBe('UNAUTHENTICATED');
  });

  test('is 200 with a token, under a policy that lets nothing in but its own files', async () => {
    const answer = await call('GET', '/', {
      authorize: byToken,
      headers: { ...html, authorization: 'Bearer good' },
    });
    expect(answer.statusCode).toBe(200);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('unsafe');
    expect(answer.body).not.toMatch(/<script(?![^>]*src=)|\sstyle=|\son\w+=|https?:\/\//);
  });

  test('asks for each of its modules at once, and each is there as JavaScript', async () => {
    const page = await call('GET', '/', { headers: html });
    const modules = [...page.body.matchAll(/modulepreload" href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(modules.length).toBeGreaterThan(10);
    for (const href of modules) {
      const answer = await call('GET', href);
      expect([href, answer.statusCode]).toEqual([href, 200]);
      expect(answer.headers['content-type']).toContain('text/javascript');
      // A name of a package is nothing that a browser finds.
      expect(answer.body).not.toMatch(/(?<!['"])\bfrom\s*['"](?![./])/);
    }
  });

  test('is compressed, and not sent again to those who have it', async () => {
    const path = '/assets/inspector/page/base.css';
    const first = await call('GET', path, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(first.headers['content-encoding']).toBe('br');
    const etag = String(first.headers.etag);
    const held = async (given: string) =>
      (await call('GET', path, { headers: { 'if-none-match': given } })).statusCode === 304;
    const given = [etag, `"other", ${etag}`, `W/${etag}`, '*', '"other"', ''];
    expect(await Promise.all(given.map(held))).toEqual([true, true, true, true, false, false]);
  });

  test.each([
    '/assets/inspector/server.ts',
    '/assets/../package.json',
    '/assets/inspector/page/../server.ts',
    '/assets/inspector/page/%2e%2e/server.ts',
    '/assets/vendor/constructor',
    '/assets/inspector/page/none.js',
    '/assets/inspector/page',
  ])('has no file at %s', async (path) => expect((await call('GET', path)).statusCode).toBe(404));
});

describe('signing in', () => {
  test('makes a good token a cookie, which then opens the API', async () => {
    const answer = await call('POST', '/api/v1/session', { authorize: byToken, body: { token: 'good' } });
    const cookie = String(answer.headers['set-cookie']);
    expect(cookie).toContain('HttpOnly; SameSite=Strict');
    expect(answer.body).not.toContain('good');
    const headers = { cookie: cookie.split(';', 1)[0] ?? '' };
    const session = await call('GET', '/api/v1/session', { authorize: byToken, headers });
    expect(session.json()).toEqual({ user: 'ann', maySend: true, signedIn: true });
  });

  test.each([
    ['wrong', 401],
    ['known', 403],
    ['two words', 400],
  ])('with the token "%s" is %d and sets no cookie', async (token, status) => {
    const answer = await call('POST', '/api/v1/session', { authorize: byToken, body: { token } });
    expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([status, undefined]);
  });

  test('marks the cookie for TLS where the caller came by it', async () => {
    const headers = { 'x-forwarded-proto': 'https' };
    const answer = await call('POST', '/api/v1/session', {
      authorize: byToken,
      body: { token: 'good' },
      headers,
    });
    expect(String(answer.headers['set-cookie'])).toContain('Secure');
  });

  test('ends with the cookie taken away', async () => {
    expect(String((await call('DELETE', '/api/v1/session')).headers['set-cookie'])).toContain('Max-Age=0');
  });
});

describe('sending an event', () => {
  const path = '/api/v1/actors/pod/shop/web-0/events';
  const sent: unknown[] = [];
  const control = scriptedControl({
    send: async (id, event) => {
      sent.push([id, event]);
      return { accepted: true, transition: null };
    },
  });

  test('reaches the actor', async () => {
    const answer = await call('POST', path, { control, body: { type: 'pod.recheck' } });
    expect(answer.json()).toEqual({ accepted: true, transition: null });
    expect(sent).toEqual([['pod/shop/web-0', { type: 'pod.recheck' }]]);
  });

  test('needs the right to update, not only to get', async () => {
    const authorize: HttpServerParts['authorize'] = async (_, verb) =>
      verb === 'get'
        ? { granted: true, user: 'eve' }
        : { granted: false, status: 403, reason: 'eve may not update' };
    const answer = await call('POST', path, { authorize, body: { type: 'pod.recheck' } });
    expect(answer.statusCode).toBe(403);
    expect((await call('GET', '/api/v1/session', { authorize })).json().maySend).toBe(false);
  });

  test('is refused to a page of another site, whatever cookie its browser sends along', async () => {
    const headers = { host: 'orrery.example', origin: 'https://evil.example', cookie: 'orrery_token=good' };
    const answer = await call('POST', path, {
      authorize: byToken,
      control,
      headers,
      body: { type: 'pod.recheck' },
    });
    expect([answer.statusCode, sent.length]).toEqual([403, 1]);
  });

  test.each([[[1]], [{ kind: 'x' }]])('%j is no event', async (body) => {
    expect((await call('POST', path, { control, body: body as object })).statusCode).toBe(400);
  });
});

describe('without authentication', () => {
  test.each([
    ['127.0.0.1:7070', 200],
    ['rebound.example:7070', 403],
  ])('a request to %s is %d: a name may be made to point here by anybody', async (host, status) => {
    const answer = await call('GET', '/api/v1/shards', { hosts: 'loopback', headers: { host } });
    expect(answer.statusCode).toBe(status);
  });
});

describe('dead letters', () => {
  const viewer: Authorize = async (_token, verb) =>
    verb === 'get'
      ? { granted: true, user: 'eve' }
      : { granted: false, status: 403, reason: 'eve may not update inspector.orrery.dev' };

  test('are listed for those who may look, and sent again or dropped by those who may update', async () => {
    const letters = scriptedLetters();
    const listed = await call('GET', '/api/v1/dead?limit=5', { authorize: viewer, letters });
    expect(listed.json()).toMatchObject({ letters: [{ sequence: 17 }], next: null });
    for (const [method, url] of [
      ['POST', '/api/v1/dead/17/resend'],
      ['DELETE', '/api/v1/dead/17'],
    ] as const) {
      expect((await call(method, url, { authorize: viewer, letters })).statusCode).toBe(403);
      const headers = { authorization: 'Bearer good' };
      expect((await call(method, url, { authorize: byToken, letters, headers })).statusCode).toBe(200);
      expect((await call(method, url.replace('17', '18'), { letters })).statusCode).toBe(404);
      expect((await call(method, url.replace('17', 'x'), { letters })).statusCode).toBe(400);
    }
    expect(letters.done.slice(0, 1)).toEqual(['resend 17 http:ann']);
    expect(letters.done).toContain('drop 17 http:ann');
  });

  test.each(['limit=0', 'after=-1', 'kind=pod'])('%s is answered with what is allowed', async (query) => {
    const answer = await call('GET', `/api/v1/dead?${query}`);
    expect([answer.statusCode, answer.json().error.message]).toEqual([
      400,
      expect.stringContaining('allowed'),
    ]);
  });
});
