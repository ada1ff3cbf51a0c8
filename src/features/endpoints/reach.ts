/**
 * One call to one address of a workload outside the cluster: does it answer properly?
 *
 * HTTP(S): a GET over a new connection, answered with 200 to 399 (Kubernetes' rule for its probes);
 * certificates are not verified, because they are issued for names, not addresses; redirects are not
 * followed. TCP: a connection that opens. Promises: the call ends within the time limit or with the signal;
 * at most `limits.probeAnswerBytes` of the head are read, and nothing of the body.
 */
import { get as httpGet, type IncomingMessage, type RequestOptions } from 'node:http';
import { get as httpsGet } from 'node:https';
import { connect } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { connectionFault } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

export interface ReachTarget {
  readonly scheme: 'http' | 'https' | 'tcp';
  readonly address: string;
  readonly port: number;
  /** Host header, and the TLS server name; null: the address. */
  readonly host: string | null;
  readonly path: string;
  readonly timeoutMs: number;
}

/** null if the address answers properly; otherwise what is wrong, for people. */
export function reach(target: ReachTarget, clock: Clock, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const call = target.scheme === 'tcp' ? open(target, end) : ask(target, end);
    const timer = clock.after(target.timeoutMs, () => end(`no answer within ${target.timeoutMs} ms`));
    const onAbort = () => end('the probe was given up');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();

    function end(problem: string | null): void {
      // A call that fails at once ends before the timer exists.
      queueMicrotask(() => {
        timer.cancel();
        signal.removeEventListener('abort', onAbort);
        call.destroy();
      });
      resolve(problem);
    }
  });
}

function open({ address, port }: ReachTarget, end: (problem: string | null) => void) {
  const socket = connect({ host: address, port });
  socket.on('connect', () => end(null));
  socket.on('error', (error) => end(connectionFault(error)));
  return socket;
}

function ask({ scheme, address, port, host, path }: ReachTarget, end: (problem: string | null) => void) {
  const authority = address.includes(':') ? `[${address}]` : address;
  const options: RequestOptions & { servername?: string; rejectUnauthorized?: boolean } = {
    host: address,
    port,
    path,
    agent: false,
    maxHeaderSize: limits.probeAnswerBytes,
    headers: {
      host: `${host ?? authority}:${port}`,
      accept: '*/*',
      'user-agent': 'orrery-probe',
      connection: 'close',
    },
    ...(scheme === 'https' ? { rejectUnauthorized: false, servername: host ?? '' } : {}),
  };
  const onResponse = ({ statusCode = 0 }: IncomingMessage) =>
    end(statusCode >= 200 && statusCode < 400 ? null : `answered with status ${statusCode}`);
  const request = scheme === 'https' ? httpsGet(options, onResponse) : httpGet(options, onResponse);
  request.on('error', (error) => end(connectionFault(error)));
  return request;
}
