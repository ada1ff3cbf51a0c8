/** One path of a replica's HTTP: the request, and its handler. Values in, values out. */
import type { IncomingHttpHeaders } from 'node:http';
import type { AccessVerb } from '../../kube/api/access.ts';
import type { HttpAnswer } from './http-answer.ts';

export interface HttpRequest {
  readonly headers: IncomingHttpHeaders;
  /** As parsed from JSON; undefined if there is none. */
  readonly body: unknown;
  readonly token: string | null;
  /** The owner of the token, if it was checked. */
  readonly user: string;
  /** Why the caller may not read; only `shell` paths are called nevertheless. */
  readonly refusal: HttpAnswer | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export interface Route {
  readonly path: string;
  /** Its purpose, for docs/reference/http.md. */
  readonly about: string;
  /** Default: GET, which includes HEAD. */
  readonly method?: 'POST' | 'DELETE';
  /**
   * Answered without authentication; `shell`: authenticated, but also answered for callers without
   * permission.
   */
  readonly open: boolean | 'shell';
  /** The permission that the caller needs; default: `get`. */
  readonly verb?: AccessVerb;
  readonly answer: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;
}
