/**
 * How a caller shows who it is: where a bearer token may stand in a request, and when a request counts as the
 * page's own. Pure.
 *
 * - Programs: `Authorization: Bearer …`, or `Orrery-Token: …` where something on the way keeps the first for
 *   itself: the Kubernetes API server takes it off before it hands a request on to a Service.
 * - WebSocket clients that cannot set headers: a subprotocol `base64url.bearer.authorization.k8s.io.<token in
 *   base64url>` beside `orrery.inspect.v1`, as the Kubernetes API server takes it.
 * - The page: a cookie that its script cannot read (HttpOnly), that is sent to this host alone and never
 *   along with another site's requests (SameSite=Strict). It holds the token itself, so that every replica
 *   knows it and none has to remember sessions. A token is never taken from the address: addresses are
 *   logged.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { attempt } from '../../base/errors.ts';

export const cookieName = 'orrery_token';
/** No browser sends it along by itself, and no other site's page may set it. */
export const tokenHeader = 'orrery-token';
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

/** null: the caller gave none. */
export function tokenOf(headers: IncomingHttpHeaders): string | null {
  return headerToken(headers) ?? protocolToken(headers) ?? cookieToken(headers);
}

/**
 * Whether the token, if there is one, was put there by the caller, and not by a browser on its own account.
 */
export function isDeliberate(headers: IncomingHttpHeaders): boolean {
  return headerToken(headers) !== null || protocolToken(headers) !== null;
}

/**
 * Whether a browser says that another site's page makes the request. A caller that is no browser sends no
 * Origin. Guards what SameSite does not: WebSockets, and pages of other ports of this host.
 */
export function isForeign({ origin, host }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return false;
  return attempt(() => new URL(origin).host !== host, true);
}

/** Whether a Host header names a loopback address: a name that only points to one may be another site's. */
export function isLoopbackName(host: string | undefined): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host ?? '');
}

/** The subprotocols that a WebSocket client offers. */
export function offeredProtocols(headers: IncomingHttpHeaders): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
}

/** @param maxAgeSeconds 0 takes the cookie away. @param isSecure whether the caller came by TLS */
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

/** What a token may consist of: RFC 6750's b64token; nothing of it ends a header or a cookie. */
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
