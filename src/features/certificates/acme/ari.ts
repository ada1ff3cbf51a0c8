/**
 * Renewal information (RFC 9773), which the ACME library does not support: when the authority would like a
 * certificate to be renewed.
 */
import type { Clock } from '../../../base/clock.ts';
import { OrreryError } from '../../../base/errors.ts';
import type { HttpClient } from './authority-http.ts';
import { placeOf } from './authority-http.ts';
import { answerError, readRetryAfter } from './problem.ts';

export interface RenewalWindow {
  /** ms since the epoch */
  readonly start: number;
  readonly end: number;
  /** ms; null: the authority gave no time. */
  readonly retryAfterMs: number | null;
  /** Where the authority says why (RFC 9773 4.2); absent: nowhere. */
  readonly why?: string;
}

/** It is kept in a record, and shown in one line. */
const whyCharsMax = 256;

/**
 * The window of the certificate with this `ariId`. Needs no account.
 *
 * @param renewalInfo the directory's entry
 * @throws OrreryError ACME_UNREACHABLE | ACME_LIMITED | ACME_REFUSED
 */
export async function fetchWindow(
  { http, clock }: { readonly http: HttpClient; readonly clock: Clock },
  place: { readonly renewalInfo: string; readonly ariId: string; readonly caBundle: string | null },
  signal: AbortSignal,
): Promise<RenewalWindow> {
  const url = `${place.renewalInfo.replace(/\/$/, '')}/${place.ariId}`;
  const answer = await http({ method: 'GET', url, caBundle: place.caBundle }, signal);
  if (answer.status !== 200) throw answerError(answer, placeOf(url), clock.now());
  const { start, end, why } = readWindow(answer.body);
  // RFC 9773 4.2: a window that ends before it starts is treated as missing.
  if (Number.isNaN(start) || Number.isNaN(end) || end <= start) {
    throw new OrreryError('ACME_UNREACHABLE', `${placeOf(url)} names no window of renewal`);
  }
  const retryAfterMs = readRetryAfter(answer.headers, clock.now());
  return { start, end, retryAfterMs, ...(isAddress(why) ? { why } : {}) };
}

const isAddress = (why: unknown): why is string =>
  typeof why === 'string' &&
  why.length <= whyCharsMax &&
  /^https?:\/\/[!-~]+$/.test(why) &&
  URL.canParse(why);

interface Read {
  readonly start: number;
  readonly end: number;
  readonly why: unknown;
}

function readWindow(body: string): Read {
  try {
    const { suggestedWindow, explanationURL: why } = JSON.parse(body) as {
      suggestedWindow?: { start?: string; end?: string };
      explanationURL?: unknown;
    };
    const { start = '', end = '' } = suggestedWindow ?? {};
    return { start: Date.parse(start), end: Date.parse(end), why };
  } catch {
    return { start: Number.NaN, end: Number.NaN, why: null };
  }
}
