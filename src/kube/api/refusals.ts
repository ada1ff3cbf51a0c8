/**
 * Converts refusals of the API server, HTTP status and metav1.Status, to error codes.
 *
 * Our message contains the API server's, with its middle cut out beyond `messageCharsMax`: it names objects
 * and fields, never a value of a Secret (I9).
 */
import { type ErrorCode, OrreryError } from '../../base/errors.ts';

export interface Refusal {
  /** The request: `GET /api/v1/pods`. */
  readonly request: string;
  readonly status: number;
  /** The answer's body, normally a metav1.Status. */
  readonly body: unknown;
  /** The answer's Retry-After header. */
  readonly retryAfter?: string | undefined;
}

/** Enough for every message of the API server that a person would read. */
const messageCharsMax = 500;

/** @param now wall time, ms: Retry-After may be a date */
export function refusalError(refusal: Refusal, now: number): OrreryError {
  const { reason, message, seconds } = readStatus(refusal.body);
  const retryAfterMs =
    readRetryAfter(refusal.retryAfter, now) ?? (seconds === undefined ? undefined : seconds * 1000);
  const code = codeOf(refusal.status, reason, retryAfterMs !== undefined, isVersionTooLarge(refusal.body));
  const isUnknownCaller = refusal.status === 401 && message === 'Unauthorized';
  const said = isUnknownCaller
    ? ': the credentials are not valid, or have expired'
    : message === ''
      ? ''
      : `: ${cut(withoutValue(message))}`;
  const known = isUnknownPath(refusal) ? `${refusal.status}: the API server has no such kind` : '';
  const answer = known || `${refusal.status} ${reason}${said}`;
  return new OrreryError(code, `${refusal.request} was answered with ${answer}`, {
    facts: { status: refusal.status, reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  });
}

/**
 * An apply with a value of the wrong type is answered with that value, and it may be a password that lacks
 * its quotes: `.stringData.password: expected string, got &value.valueUnstructured{Value:12345}`.
 */
const withoutValue = (message: string) =>
  message.replace(/, got &[\s\S]*\}/, ', got a value of another type');

/** A long message repeats the refused value; the reason is at its end. */
function cut(message: string): string {
  if (message.length <= messageCharsMax) return message;
  const half = messageCharsMax / 2;
  return `${message.slice(0, half)} … ${message.slice(-half)}`;
}

/** The error of an ERROR event within a watch, whose object is a metav1.Status. */
export function watchEventError(request: string, object: unknown, now: number): OrreryError {
  const code = (object as { code?: unknown } | null)?.code;
  return refusalError({ request, status: typeof code === 'number' ? code : 500, body: object }, now);
}

function codeOf(status: number, reason: string, isToldToWait: boolean, isTooLarge: boolean): ErrorCode {
  if (status === 404) return 'KUBE_NOT_FOUND';
  if (status === 409) return 'KUBE_CONFLICT';
  // An expired continue token is reported as 410 Expired, a too old version of a watch as 410 Gone or
  // Expired.
  if (status === 410 || reason === 'Expired') return 'KUBE_EXPIRED';
  // The cluster was restored from a backup, or the API server lags: the version does not exist, and waiting
  // for it is pointless.
  if (isTooLarge) return 'KUBE_EXPIRED';
  if (status === 429 || (isToldToWait && status >= 500)) return 'KUBE_THROTTLED';
  return status >= 500 || status === 408 ? 'KUBE_SERVER' : 'KUBE_REFUSED';
}

/** Retry-After in milliseconds: seconds or a date (RFC 9110 section 10.2.3); undefined if it is neither. */
export function readRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\s*[0-9]+\s*$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** A path that is not served, since the definition of its kind is not there, is answered in plain text. */
const isUnknownPath = ({ status, body }: Refusal): boolean =>
  status === 404 && typeof body === 'string' && body.startsWith('404 page not found');

/** The cause is `ResourceVersionTooLarge`; older servers say so only in words. */
function isVersionTooLarge(body: unknown): boolean {
  const { message, details } = (body ?? {}) as { message?: unknown; details?: { causes?: unknown } | null };
  const causes: unknown = details?.causes;
  const isCaused =
    Array.isArray(causes) &&
    causes.some((cause: { reason?: unknown } | null) => cause?.reason === 'ResourceVersionTooLarge');
  return isCaused || (typeof message === 'string' && /too large resource version/i.test(message));
}

function readStatus(body: unknown): { reason: string; message: string; seconds: number | undefined } {
  if (typeof body === 'string') return { reason: '', message: body, seconds: undefined };
  const { reason, message, details } = (body ?? {}) as {
    reason?: unknown;
    message?: unknown;
    details?: { retryAfterSeconds?: unknown } | null;
  };
  const seconds = details?.retryAfterSeconds;
  return {
    reason: typeof reason === 'string' ? reason : '',
    message: typeof message === 'string' ? message : '',
    seconds: typeof seconds === 'number' && seconds > 0 ? seconds : undefined,
  };
}
