/** One path of a replica's HTTP: what is asked and who answers. Values in, values out. */
import type { IncomingHttpHeaders } from 'node:http';
import type { AccessVerb } from '../../kube/api/access.ts';
import type { HttpAnswer } from './http-answer.ts';

export interface HttpRequest {
  readonly headers: IncomingHttpHeaders;
  /** As JSON gave it; undefined if there is none. */
  readonly body: unknown;
  readonly token: string | null;
  /** Whose token it is, where that was asked. */
  readonly user: string;
  /** Why the caller may not look; only `shell` paths are asked all the same. */
  readonly refusal: HttpAnswer | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export interface Route {
  readonly path: string;
  /** What is there, for docs/reference/http.md. */
  readonly about: string;
  /** Absent: GET, and HEAD with it. */
  readonly method?: 'POST' | 'DELETE';
  /**
   * Answered without asking who calls; `shell`: it is asked, and the path answers those too who may not look.
   */
  readonly open: boolean | 'shell';
  /** What the caller must be allowed to do; absent: `get`. */
  readonly verb?: AccessVerb;
  readonly answer: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;
}
