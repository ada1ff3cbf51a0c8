/**
 * One HTTP request and its answer, over a given way.
 *
 * Promises: bounded in time and size; an answer that is not Orrery's is reported as what it is. Absent: where
 * Orrery is (the ways), what is requested (http-control.ts).
 */
import { asError, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { type Access, askOnce } from '../../kube/api/kube-http.ts';

/** The permission that the request needs: to read or to change. */
export type Right = 'get' | 'update';

export interface Way {
  /** For messages: `https://orrery.example.com`. */
  readonly name: string;
  /**
   * @param right that the token must have
   * @param refused the previous token was answered with 401
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

async function send(name: string, access: Access, question: HttpQuestion): Promise<HttpReplyText> {
  const call = { ...question, timeoutMs: limits.kubeRequestMs, repeatable: false };
  try {
    return await askOnce(access, call, AbortSignal.timeout(call.timeoutMs));
  } catch (thrown) {
    throw unreachable(name, asError(thrown));
  }
}

function unreachable(name: string, error: NodeJS.ErrnoException): OrreryError {
  const isLate = [error, error.cause].some((one) => one instanceof Error && one.name === 'TimeoutError');
  const why = isLate ? `no answer in ${limits.kubeRequestMs / 1_000} s` : error.message || error.code;
  const hint = /certificate|self.signed/i.test(String(why)) ? ' (--server-ca names its authority)' : '';
  return new OrreryError('SERVER_UNREACHABLE', `${name} cannot be reached: ${why}${hint}`, { cause: error });
}
