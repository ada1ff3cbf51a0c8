/**
 * The way to an API server within this process, instead of HTTP: calls and watches reach the development API
 * as requests would, and return as answers would.
 *
 * Promises: those of `Transport`. Absent: connections, and time. `api-weather.ts` decides what fails on the
 * way.
 */

import { asError, OrreryError } from '../../../src/base/errors.ts';
import type { HttpCall, Transport } from '../../../src/kube/api/kube-http.ts';
import { refusalError } from '../../../src/kube/api/refusals.ts';
import { anonymous } from '../../kube-api/access/users.ts';
import { serveRequest } from '../../kube-api/http/serving.ts';
import type { ProcessApi } from '../../kube-api/server.ts';
import { ApiError } from '../../kube-api/status.ts';
import type { WatchSink } from '../../kube-api/watch/watch-stream.ts';

const userAgent = 'orrery-test';

/** @param token of the caller; absent: the administrator's */
export function processTransport(
  api: Pick<ProcessApi, 'cluster' | 'token'>,
  token: string = api.token,
): Transport {
  const { cluster } = api;
  const caller = { authorization: `Bearer ${token}`, host: 'kubernetes.test' };
  const serve = (
    call: Pick<HttpCall, 'method' | 'path' | 'body' | 'contentType'>,
    openSink: () => WatchSink,
  ) => {
    const [path = '/', query = ''] = call.path.split('?', 2);
    const body = call.body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(call.body));
    const contentType = call.contentType ?? 'application/json';
    const request = { path, query: new URLSearchParams(query), body, contentType };
    const sender = { accept: 'application/json', userAgent, user: anonymous };
    try {
      return serveRequest(cluster, { ...request, ...sender, method: call.method }, { ...caller, openSink });
    } catch (thrown) {
      throw refused(`${call.method} ${path}`, thrown, cluster.clock.now());
    }
  };
  return {
    async call(call, signal) {
      signal.throwIfAborted();
      const answer = serve(call, () => {
        throw new OrreryError('INVARIANT', 'a call is no watch');
      });
      return JSON.parse(answer?.body ?? 'null');
    },
    stream: (request, onPiece, signal) =>
      streamed((openSink) => serve({ method: 'GET', path: request.path }, openSink), {
        ...{ request, onPiece, signal },
      }),
    close() {},
  };
}

type Streamed = Parameters<Transport['stream']>;

/** One watch, until either side ends it. */
function streamed(
  serve: (openSink: () => WatchSink) => unknown,
  parts: {
    readonly request: Streamed[0];
    readonly onPiece: Streamed[1];
    readonly signal: Streamed[2];
  },
): Promise<void> {
  const { request, onPiece, signal } = parts;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const closing: Array<() => void> = [];
    const fail = (reason: unknown) => {
      for (const fn of closing.splice(0)) fn();
      reject(reason);
    };
    const openSink = (): WatchSink => {
      request.onOpen?.();
      return {
        waitingBytes: 0,
        onClose: (fn) => void closing.push(fn),
        write(line) {
          try {
            onPiece(line);
          } catch (thrown) {
            fail(thrown);
          }
        },
        end: () => resolve(),
        cut: () => reject(new OrreryError('KUBE_UNREACHABLE', 'the API server cut the watch off')),
      };
    };
    signal.addEventListener('abort', () => fail(signal.reason), { once: true });
    try {
      serve(openSink);
    } catch (thrown) {
      reject(thrown);
    }
  });
}

function refused(request: string, thrown: unknown, now: number): Error {
  if (!(thrown instanceof ApiError)) return asError(thrown);
  const { code: status } = thrown;
  return refusalError({ request, status, body: thrown.status() }, now);
}
