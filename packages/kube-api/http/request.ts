/** A request as the verbs see it, and what they answer. */
import type { User } from '../access/users.ts';
import type { Resource } from '../resources/resource.ts';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly contentType: string;
  /** Empty if the client sends none. */
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
  /** Sent in `Warning` headers. */
  readonly warnings?: readonly string[];
}

/** Whether a query flag is set; Kubernetes counts everything but these words as true. */
export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}
