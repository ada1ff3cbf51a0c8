/**
 * The question "may this caller look at, or drive, Orrery?", which the HTTP server asks and the Kubernetes side answers.
 */

/** What a caller wants: look (`get`) or send events (`update`). */
export type AccessVerb = 'get' | 'update';

export type Access =
  | { readonly granted: true; readonly user: string }
  /** 401: nobody knows the token; 403: its owner may not. */
  | { readonly granted: false; readonly status: 401 | 403; readonly reason: string };

/** @param token bearer token; null if the caller gave none. @throws OrreryError if the question could not be asked */
export type Authorize = (token: string | null, verb: AccessVerb, signal: AbortSignal) => Promise<Access>;

/** For `--inspector-auth none`, which is allowed on a loopback address alone. */
export const everybodyMay: Authorize = async () => ({ granted: true, user: 'anybody on this machine' });
