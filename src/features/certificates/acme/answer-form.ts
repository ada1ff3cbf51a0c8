/**
 * Whether an answer is what was asked for, and what came instead: a maintenance page, a redirect, half of a
 * document. Pure.
 */
import { attempt, OrreryError } from '../../../base/errors.ts';
import { type HttpAnswer, placeOf } from './authority-http.ts';

/** `any`: the body is not used. */
export type Wanted = 'JSON' | 'a certificate' | 'any';

const textCharsMax = 80;

/** An answer without a problem document, for people: `with text/html: 403 Forbidden`. */
export function whatCame({ headers, body }: HttpAnswer): string {
  const text = textIn(body);
  return text === '' ? 'with nothing' : `with ${typeIn(headers)}: ${text}`;
}

/**
 * @param place without a secret, for people
 * @param isDirectory it is the address that the Issuer names
 * @throws OrreryError ACME_UNREACHABLE if an answer below 400 has another form than wanted
 */
export function requireForm(answer: HttpAnswer, place: string, wanted: Wanted, isDirectory = false): void {
  const { status, headers, body } = answer;
  const unusable = (text: string) =>
    new OrreryError('ACME_UNREACHABLE', `${place} answered ${status}${text}`);
  if (status >= 300) {
    const to = typeof headers.location === 'string' ? `it leads to ${placeOf(headers.location)}, and ` : '';
    const advice = isDirectory && to !== '' ? ': name that address in spec.acme.server' : '';
    throw unusable(`: ${to}redirects are not followed${advice}`);
  }
  if (wanted === 'any' || (wanted === 'JSON' ? isObject(body) : body.includes('BEGIN CERTIFICATE'))) return;
  const text = textIn(body);
  const came = text === '' ? 'nothing' : typeIn(headers);
  throw unusable(` with ${came} instead of ${wanted}${text === '' ? '' : `: ${text}`}`);
}

function isObject(body: string): boolean {
  const value = attempt(() => JSON.parse(body) as unknown, null);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const typeIn = (headers: HttpAnswer['headers']) =>
  headers['content-type']?.split(';')[0]?.trim().slice(0, textCharsMax) || 'an unknown type';

/** The beginning, without markup, in one line. */
function textIn(body: string): string {
  const text = body
    .slice(0, 4_096)
    .replace(/<(script|style)\b.*?<\/\1>|<[^>]*>/gis, ' ')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return text.length > textCharsMax ? `${text.slice(0, textCharsMax)}…` : text;
}
