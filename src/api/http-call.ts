/**
 * One HTTP call of a feature, bounded in time and bytes; redirects are not followed.
 *
 * Its parameters are stored in a record and in the feed (I9), so secrets belong into the headers that the
 * effect itself computes.
 */

import { featureLimits } from '../actors/feature-limits.ts';
import type { Clock } from '../base/clock.ts';
import { asError, attempt, OrreryError } from '../base/errors.ts';

export interface HttpRequest {
  /** Default `GET`. */
  readonly method?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** Default 10,000. */
  readonly timeoutMs?: number;
  /** The most bytes of the answer's body; at most 65,536. */
  readonly bytesMax?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body parsed as JSON; null if it is none. */
  readonly json: unknown;
}

/** In the form of Node's own `fetch`. */
export type Fetch = (url: string, options: RequestInit) => Promise<Response>;

/** If the request sets no time limit, ms. */
export const httpTimeoutMs = 10_000;

/** @throws OrreryError HTTP_UNREACHABLE */
export async function callHttp(
  { method = 'GET', url, headers = {}, body, timeoutMs = httpTimeoutMs, bytesMax }: HttpRequest,
  { clock, signal, fetch }: { readonly clock: Clock; readonly signal: AbortSignal; readonly fetch: Fetch },
): Promise<HttpAnswer> {
  const late = new AbortController();
  const timer = clock.after(timeoutMs, () => late.abort(new Error(`no answer within ${timeoutMs} ms`)));
  const isText = typeof body === 'string' || body === undefined;
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(isText ? {} : { 'content-type': 'application/json' }), ...headers },
      redirect: 'manual',
      signal: AbortSignal.any([signal, late.signal]),
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const most = Math.min(bytesMax ?? featureLimits.answerBytes, featureLimits.answerBytes);
    const text = await readBody(response, most);
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: text,
      json: attempt(() => JSON.parse(text) as unknown, null),
    };
  } catch (thrown) {
    if (thrown instanceof OrreryError) throw thrown;
    const reason = late.signal.aborted
      ? asError(late.signal.reason)
      : asError(asError(thrown).cause ?? thrown);
    throw new OrreryError('HTTP_UNREACHABLE', `${method} ${hostOf(url)}: ${reason.message}`, {
      cause: thrown,
    });
  } finally {
    timer.cancel();
  }
}

async function readBody(response: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > bytesMax)
      throw new OrreryError(
        'HTTP_UNREACHABLE',
        `the answer of ${hostOf(response.url)} has more than ${bytesMax} bytes`,
      );
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Without path and query, which may be confidential. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that is none';
}
