/** A request as the verbs see it, and what they answer. */
import type { User } from '../access/users.ts';
import type { Resource } from '../resources/resource.ts';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly contentType: string;
  /** Empty if the client says nothing. */
  readonly userAgent: string;
  readonly body: Buffer;
  readonly user: User;
}

/** What the path of a request leads to. */
export interface Target {
  readonly resource: Resource;
  /** undefined: the path names none. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Empty: the object itself. */
  readonly subresource: string;
}

export interface Answer {
  readonly code: number;
  readonly body: string;
  readonly contentType?: string;
  /** Told in `Warning` headers. */
  readonly warnings?: readonly string[];
}

/** Whether a query parameter that is a flag is set; Kubernetes takes everything but these words for true. */
export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}
