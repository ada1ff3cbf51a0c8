/**
 * The HTTP paths of the inspector's page: the page, its files, signing in, and sending an event.
 *
 * The page's files contain no data and are open to all. `/` answers 401 or 403 to callers without permission,
 * but still with the page, which then asks for a token. All data comes from `/api/v1`.
 */

import { OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { actorId, isActorKind } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ControlPort, HistoryView } from '../../base/views.ts';
import { busy, costlyTurns } from '../../bus/turns.ts';
import type { AccessVerb, Authorize } from '../../kube/api/access.ts';
import { cookieOf, isToken } from './credentials.ts';
import { type HttpAnswer, jsonAnswer, problem } from './http-answer.ts';
import type { HttpRequest, Route } from './http-route.ts';
import type { PageFile, PageFiles } from './page-files.ts';

export interface PageParts {
  readonly control: Pick<ControlPort, 'send'>;
  readonly history: (id: ActorId) => Promise<HistoryView>;
  readonly files: PageFiles;
  readonly authorize: Authorize;
}

/** A cookie lasts a working day at most; its token usually expires sooner. */
const cookieSeconds = 12 * 3600;

const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function pageRoutes(parts: PageParts): Route[] {
  const { files, authorize } = parts;
  const history = boundHistory(parts);
  return [
    {
      path: '/',
      about: 'the inspector page; asks for a token if needed',
      open: 'shell',
      answer: (request) => pageAnswer(files, request),
    },
    {
      path: '/assets/*',
      about: 'the static files of the page',
      open: true,
      answer: ({ params, headers }) => {
        const file = files.file(params['*'] ?? '');
        return file ? fileAnswer(200, file, headers) : problem(404, 'NOT_FOUND', 'there is no such file');
      },
    },
    {
      path: '/api/v1/session',
      about: 'who you are, and whether you may send events',
      open: false,
      answer: async ({ token, user }) => {
        const access = await ask(authorize, token, 'update');
        return jsonAnswer(200, { user, maySend: access.granted, signedIn: token !== null });
      },
    },
    {
      path: '/api/v1/session',
      method: 'POST',
      about: 'sign in: `{"token": …}` becomes a cookie that no script can read',
      open: true,
      answer: (request) => signIn(authorize, request),
    },
    {
      path: '/api/v1/session',
      method: 'DELETE',
      about: 'sign out',
      open: true,
      answer: (request) => withCookie('', 0, request),
    },
    {
      path: '/api/v1/actors/:kind/:ns/:name/history',
      about: 'what happened to an actor in the last 24 hours, with its contexts where they are known',
      open: false,
      answer: async (request) => jsonAnswer(200, await history(request)),
    },
    {
      path: '/api/v1/actors/:kind/:ns/:name/events',
      method: 'POST',
      about:
        'send the actor an event (JSON), answered with the transition or the reason it was refused; needs `update`',
      open: false,
      verb: 'update',
      answer: async (request) =>
        jsonAnswer(200, await parts.control.send(idOf(request), eventOf(request), `http:${request.user}`)),
    },
  ];
}

/** A few at once, and half of them for one user; further ones are refused with BUSY. */
function boundHistory({ history }: PageParts): (request: HttpRequest) => Promise<HistoryView> {
  const turns = costlyTurns(limits.pagesAtOnce);
  return async (request) => {
    const end = turns.take(request.token === null ? null : request.user);
    if (end === null) throw busy();
    return await history(idOf(request)).finally(end);
  };
}

function ask(authorize: Authorize, token: string | null, verb: AccessVerb) {
  return authorize(token, verb, AbortSignal.timeout(limits.requestTimeoutMs));
}

async function signIn(authorize: Authorize, request: HttpRequest): Promise<HttpAnswer> {
  const { token } = (request.body ?? {}) as { token?: unknown };
  if (typeof token !== 'string')
    throw new OrreryError('USAGE', 'the body must be {"token": "…"} with a bearer token');
  if (!isToken(token))
    throw new OrreryError(
      'USAGE',
      'token: it has characters that no token has, or is longer than 8 KiB; paste the one line that "orrery token" prints',
    );
  const access = await ask(authorize, token, 'get');
  if (access.granted) return withCookie(token, cookieSeconds, request);
  return problem(access.status, access.status === 401 ? 'UNAUTHENTICATED' : 'FORBIDDEN', access.reason);
}

function withCookie(token: string, seconds: number, { headers }: HttpRequest): HttpAnswer {
  // A proxy in front of us ends TLS, and says so.
  const isSecure =
    String(headers['x-forwarded-proto'] ?? '')
      .split(',')[0]
      ?.trim() === 'https';
  return { ...jsonAnswer(200, {}), headers: { 'Set-Cookie': cookieOf(token, seconds, isSecure) } };
}

function pageAnswer(files: PageFiles, { refusal, headers }: HttpRequest): HttpAnswer {
  if (refusal && !String(headers.accept ?? '').includes('text/html')) return refusal;
  const page = fileAnswer(refusal?.status ?? 200, files.page(), refusal ? {} : headers);
  return {
    ...page,
    headers: { ...page.headers, ...refusal?.headers, 'Content-Security-Policy': pagePolicy },
  };
}

function fileAnswer(status: number, file: PageFile, headers: HttpRequest['headers']): HttpAnswer {
  const accepted = String(headers['accept-encoding'] ?? '');
  const encoding = (['br', 'gzip'] as const).find((one) => accepted.split(/[\s,;]+/).includes(one));
  const encoded = encoding === 'br' ? file.brotli : encoding === 'gzip' ? file.gzip : null;
  const caching = { ETag: file.etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' };
  if (status === 200 && isHeld(headers['if-none-match'], file.etag)) {
    return { status: 304, contentType: file.contentType, headers: caching, body: '' };
  }
  return {
    status,
    contentType: file.contentType,
    headers: { ...caching, ...(encoding && encoded ? { 'Content-Encoding': encoding } : {}) },
    body: encoded ?? file.plain,
  };
}

/**
 * Whether whoever asks has the file already. `If-None-Match` may name several, and a proxy that compresses
 * makes tags weak (RFC 9110 13.1.2).
 */
const isHeld = (given: string | undefined, etag: string): boolean =>
  (given ?? '').split(',').some((one) => ['*', etag, `W/${etag}`].includes(one.trim()));

function idOf({ params: { kind = '', ns = '', name = '' } }: HttpRequest): ActorId {
  if (!isActorKind(kind)) throw new OrreryError('MESSAGE_UNKNOWN_KIND', `there is no kind ${kind}`);
  return actorId(kind, ns, name);
}

function eventOf({ body }: HttpRequest): { readonly type: string } {
  const event = body as { type?: unknown } | null | undefined;
  if (typeof event === 'object' && event !== null && typeof event.type === 'string') {
    return event as { type: string };
  }
  throw new OrreryError('USAGE', 'the body must be an event: a JSON object with a "type"');
}
