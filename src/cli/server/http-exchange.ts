/**
 * One question over HTTP and its answer, on a way that somebody else knows.
 *
 * Promises: bounded in time and size; what is not an answer of Orrery's is told as what it is. Absent: where
 * Orrery is (the ways), what is asked (http-control.ts).
 */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { asError, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Access } from '../../kube/api/kube-http.ts';

/** What is asked needs the right to look, or the right to change. */
export type Right = 'get' | 'update';

/** How Orrery's HTTP is reached. */
export interface Way {
  /** For messages: `https://orrery.example.com`. */
  readonly name: string;
  /**
   * @param right of the token that is shown
   * @param refused the token that was shown last was answered with 401
   */
  access(right: Right, refused: boolean): Promise<Access>;
  close(): void;
}

export interface HttpQuestion {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly body?: unknown;
}

export interface HttpReplyText {
  readonly status: number;
  readonly text: string;
}

/** @throws OrreryError SERVER_UNREACHABLE */
export async function exchange(way: Way, question: HttpQuestion): Promise<HttpReplyText> {
  const right: Right = question.method === 'GET' ? 'get' : 'update';
  const answer = await send(way.name, await way.access(right, false), question);
  return answer.status === 401 ? send(way.name, await way.access(right, true), question) : answer;
}

function send(name: string, access: Access, question: HttpQuestion): Promise<HttpReplyText> {
  const { method, path, body } = question;
  const url = new URL(access.server + path);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type = text === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const fail = (thrown: unknown) => reject(unreachable(name, asError(thrown)));
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      ...access.tls,
      method,
      headers: { ...access.headers, accept: 'application/json', ...type },
      agent: access.proxy ?? false,
      signal: AbortSignal.timeout(limits.kubeRequestMs),
    });
    request.on('error', fail);
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > limits.kubeAnswerBytes) request.destroy(new Error('the answer is too long'));
        pieces.push(piece);
      });
      response.on('error', fail);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }),
      );
    });
    request.end(text);
  });
}

function unreachable(name: string, error: NodeJS.ErrnoException): OrreryError {
  const isLate = error.name === 'TimeoutError' || error.name === 'AbortError';
  const why = isLate ? `no answer in ${limits.kubeRequestMs / 1_000} s` : error.message || error.code;
  const hint = /certificate|self.signed/i.test(String(why)) ? ' (--server-ca names its authority)' : '';
  return new OrreryError('SERVER_UNREACHABLE', `${name} cannot be reached: ${why}${hint}`, { cause: error });
}
