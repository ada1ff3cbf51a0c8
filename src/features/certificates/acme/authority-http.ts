/**
 * HTTP to certificate authorities and webhooks: one bounded call, with the authorities' own roots of trust if
 * they are given, and through the proxy that the environment names.
 *
 * Owns the connections. Promises: a call ends when its signal is aborted, at its timeout, or beyond its size;
 * redirects are not followed; a call without an answer is ACME_UNREACHABLE. Absent: retries, and the meaning
 * of an answer (problem.ts).
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connectionFault, OrreryError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { ProxyEnv } from './proxy-env.ts';

export interface HttpCall {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** PEM; null: the roots that Node trusts. */
  readonly caBundle: string | null;
  readonly timeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type HttpClient = (call: HttpCall, signal: AbortSignal) => Promise<HttpAnswer>;

/** Few Issuers have roots of their own; beyond this number, connection pools are recreated. */
const poolsMax = 32;

/** It may be the proxy that cannot be reached, or that should not have been asked. */
const byProxy = ' (the environment names a proxy: HTTPS_PROXY, HTTP_PROXY, NO_PROXY)';

export function createHttpClient(proxies?: ProxyEnv): HttpClient {
  const common = {
    ...{ keepAlive: true, maxSockets: limits.acmeConnections },
    ...(proxies && { proxyEnv: { ...proxies } }),
  };
  const plain = new HttpAgent(common);
  const pools = new Map<string, HttpsAgent>();
  const poolOf = (caBundle: string | null) => {
    const key = caBundle ?? '';
    const known = pools.get(key);
    if (known) return known;
    if (pools.size >= poolsMax) pools.clear();
    const made = new HttpsAgent(caBundle === null ? common : { ...common, ca: caBundle });
    pools.set(key, made);
    return made;
  };
  return async (call, signal) => {
    const isTls = call.url.startsWith('https:');
    const agent = isTls ? poolOf(call.caBundle) : plain;
    const time = AbortSignal.timeout(call.timeoutMs ?? limits.acmeRequestMs);
    try {
      return await exchange(call, isTls ? httpsRequest : httpRequest, agent, AbortSignal.any([signal, time]));
    } catch (thrown) {
      signal.throwIfAborted();
      const timedOut = time.aborted;
      const reason = timedOut ? 'no answer in time' : connectionFault(thrown);
      const text = `${placeOf(call.url)}: ${reason}${proxies === undefined ? '' : byProxy}`;
      throw new OrreryError('ACME_UNREACHABLE', text, { cause: thrown, facts: { timedOut } });
    }
  };
}

function exchange(
  { method, url, headers, body }: HttpCall,
  request: typeof httpRequest | typeof httpsRequest,
  agent: HttpAgent,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: { 'User-Agent': 'orrery', ...headers }, agent, signal },
      (answer) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > limits.acmeAnswerBytes) answer.destroy(new Error('the answer is too long'));
          else pieces.push(piece);
        });
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            // Without a byte order mark, which JSON.parse would refuse.
            body: new TextDecoder().decode(Buffer.concat(pieces)),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Host and path, without a query that might contain a secret (I9). */
export function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'an unreadable URL' : `${parsed.host}${parsed.pathname}`;
}
