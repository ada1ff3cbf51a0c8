/** HTTP answers as values, and the status of each error. Pure. */
import { asError, type ErrorCode, OrreryError } from '../../base/errors.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return { status, contentType: 'application/json', headers: {}, body: JSON.stringify(value) };
}

/** The one form of an error: `{"error": {"code", "message"}}`. */
export function problem(status: number, code: string, message: string): HttpAnswer {
  return jsonAnswer(status, { error: { code, message } });
}

/** Codes whose status says more than "the server failed". */
const statuses: Partial<Record<ErrorCode, number>> = {
  USAGE: 400,
  MESSAGE_UNKNOWN_KIND: 400,
  ACTOR_MISSING: 404,
  KUBE_THROTTLED: 503,
  NOT_OWNER: 503,
};

/** The answer for an exception; the details of an unexpected error are not sent to the caller. */
export function failure(thrown: unknown): HttpAnswer {
  const error = asError(thrown);
  if (error instanceof OrreryError) {
    const status = statuses[error.code] ?? (error.kind === 'transient' ? 503 : 500);
    return problem(status, error.code, error.kind === 'invariant' ? 'this is a bug' : error.message);
  }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status < 500) return problem(status, 'BAD_REQUEST', error.message);
  return problem(500, 'INTERNAL', 'something unexpected happened; see the log of the replica');
}
