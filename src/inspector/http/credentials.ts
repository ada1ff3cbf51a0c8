/**
 * Reads a caller's credentials: where a bearer token may be in a request, and when a request counts as the
 * page's own. Pure.
 * - Programs: `Authorization: Bearer …`, or `Orrery-Token: …` if something on the way removes the first one,
 *   as the Kubernetes API server does before it forwards a request to a Service.
 * - WebSocket clients that cannot set headers: a subprotocol `base64url.bearer.authorization.k8s.io.<token in
 *   base64url>` beside `orrery.inspect.v1`, as for the Kubernetes API server.
 * - The page: a cookie that its script cannot read (HttpOnly), sent to this host only and never with another
 *   site's requests (SameSite=Strict). It contains the token itself, so every replica knows it and none has
 *   to remember sessions.
 *
 * A token is never read from the address, because addresses are logged.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { attempt } from '../../base/errors.ts';

const cookieName = 'orrery_token';
/** No browser sends it by itself, and no other site's page may set it. */
export const tokenHeader = 'orrery-token';
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

/** null: the caller sent none. */
export function tokenOf(headers: IncomingHttpHeaders): string | null {
  return headerToken(headers) ?? protocolToken(headers) ?? cookieToken(headers);
}

/** Whether the caller sent the token on purpose, rather than a browser by itself. */
export function isDeliberate(headers: IncomingHttpHeaders): boolean {
  return headerToken(headers) !== null || protocolToken(headers) !== null;
}

/**
 * Whether a browser says that another site's page makes the request. Other callers send no Origin. Covers
 * what SameSite does not: WebSockets, and pages on other ports of this host.
 */
export function isForeign({ origin, host }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return false;
  return attempt(() => new URL(origin).host !== host, true);
}

/**
 * Whether a Host header names a loopback address: a name that merely resolves to one may be another site's.
 */
export function isLoopbackName(host: string | undefined): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host ?? '');
}

/** The subprotocols that a WebSocket client offers. */
export function offeredProtocols(headers: IncomingHttpHeaders): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
}

/**
 * @param maxAgeSeconds 0 deletes the cookie
 * @param isSecure whether the caller came by TLS
 */
export function cookieOf(token: string, maxAgeSeconds: number, isSecure: boolean): string {
  const flags = [
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Max-Age=${maxAgeSeconds}`,
    ...(isSecure ? ['Secure'] : []),
  ];
  return [`${cookieName}=${token}`, ...flags].join('; ');
}

/** The characters of a token: RFC 6750's b64token; none of them can end a header or a cookie. */
export function isToken(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 8_192 && /^[A-Za-z0-9._~+/-]+=*$/.test(text);
}

function headerToken(headers: IncomingHttpHeaders): string | null {
  const own = headers[tokenHeader];
  if (isToken(own)) return own;
  return /^Bearer +([^\s]+)$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

function protocolToken(headers: IncomingHttpHeaders): string | null {
  const offer = offeredProtocols(headers).find((one) => one.startsWith(bearerProtocol));
  if (offer === undefined) return null;
  const token = Buffer.from(offer.slice(bearerProtocol.length), 'base64url').toString('utf8');
  return isToken(token) ? token : null;
}

function cookieToken({ cookie = '' }: IncomingHttpHeaders): string | null {
  const pair = cookie.split(';').find((one) => one.trim().startsWith(`${cookieName}=`));
  const token = pair?.slice(pair.indexOf('=') + 1).trim();
  return isToken(token) ? token : null;
}
