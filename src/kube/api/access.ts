/**
 * The question whether a caller may read or drive Orrery: asked by the HTTP server, answered by the
 * Kubernetes side.
 */

/** The caller's intention: read (`get`) or send events (`update`). */
export type AccessVerb = 'get' | 'update';

export type Access =
  | { readonly granted: true; readonly user: string }
  /** 401: the token is unknown; 403: its owner lacks the permission. */
  | { readonly granted: false; readonly status: 401 | 403; readonly reason: string };

/**
 * @param token bearer token; null if the caller sent none
 * @throws OrreryError if the question could not be asked
 */
export type Authorize = (token: string | null, verb: AccessVerb, signal: AbortSignal) => Promise<Access>;

/** For `--inspector-auth none`, which is allowed only on a loopback address. */
export const everybodyMay: Authorize = async () => ({ granted: true, user: 'anybody on this machine' });
