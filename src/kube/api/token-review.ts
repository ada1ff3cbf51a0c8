/**
 * Answers who may look at the inspector by asking Kubernetes: whose token is it (TokenReview), and may its
 * owner `get` or `update` `inspector.orrery.dev` (SubjectAccessReview).
 *
 * Promises: answers are remembered for `limits.accessCacheMs` and for at most `limits.accessCacheEntries`
 * callers, under a hash of the token (the token itself is kept nowhere, I9); a question that Kubernetes did
 * not answer is an error and grants nothing.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import type { KubeObject, KubePort } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import type { Access, AccessVerb, Authorize } from './access.ts';
import { subjectAccessReviews, tokenReviews } from './resources.ts';

interface Remembered {
  readonly access: Access;
  readonly until: number;
}

/**
 * What tokens must be made for: one for another service, or for the API server itself, opens
 * nothing here.
 */
export const audience = 'orrery';

/** What Kubernetes says of a token's owner. */
interface Owner {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, unknown>>;
}

export function createKubeAuthorizer(kube: Pick<KubePort, 'create'>, clock: Clock): Authorize {
  const remembered = new Map<string, Remembered>();
  return async (token, verb, signal) => {
    if (token === null) return { granted: false, status: 401, reason: 'a bearer token is needed' };
    const key = `${verb} ${createHash('sha256').update(token).digest('base64url')}`;
    const known = remembered.get(key);
    if (known && known.until > clock.monotonic()) return known.access;
    const access = await review(kube, { token, now: clock.now() }, verb, signal);
    remembered.delete(key);
    const oldest = remembered.keys().next();
    if (remembered.size >= limits.accessCacheEntries && !oldest.done) remembered.delete(oldest.value);
    remembered.set(key, { access, until: clock.monotonic() + limits.accessCacheMs });
    return access;
  };
}

async function review(
  kube: Pick<KubePort, 'create'>,
  { token, now }: { readonly token: string; readonly now: number },
  verb: AccessVerb,
  signal: AbortSignal,
): Promise<Access> {
  const owner = ownerOf(
    await kube.create(
      tokenReviews,
      reviewOf('authentication', 'TokenReview', { token, audiences: [audience] }),
      signal,
    ),
  );
  if (owner === undefined)
    return {
      granted: false,
      status: 401,
      reason: `Kubernetes does not accept the token for the audience "${audience}"${tokenFault(token, now)} (orrery token prints one)`,
    };
  const spec = {
    user: owner.username,
    uid: owner.uid,
    groups: owner.groups,
    extra: owner.extra,
    resourceAttributes: { group: 'orrery.dev', resource: 'inspector', verb },
  };
  const answer = await kube.create(
    subjectAccessReviews,
    reviewOf('authorization', 'SubjectAccessReview', spec),
    signal,
  );
  if (fields(answer.status).allowed === true) return { granted: true, user: owner.username };
  return { granted: false, status: 403, reason: `${owner.username} may not ${verb} inspector.orrery.dev` };
}

/** Reviews have no name: nothing is stored. */
function reviewOf(group: string, kind: string, spec: unknown): KubeObject {
  return { apiVersion: `${group}.k8s.io/v1`, kind, metadata: { name: '' }, spec };
}

function ownerOf(answer: KubeObject): Owner | undefined {
  const { authenticated, user, audiences } = fields(answer.status);
  const { username, uid, groups, extra } = fields(user);
  if (authenticated !== true || typeof username !== 'string') return undefined;
  // One who knows nothing of audiences has not looked at them.
  if (!Array.isArray(audiences) || !audiences.includes(audience)) return undefined;
  return {
    username,
    uid: typeof uid === 'string' ? uid : '',
    groups: Array.isArray(groups) ? groups.map(String) : [],
    extra: fields(extra),
  };
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * What the caller's own token says of itself, where that is why nobody accepts it; nothing of it is believed,
 * and nothing of its secret part is told.
 */
export function tokenFault(token: string, now: number): string {
  const claims = claimsOf(token);
  if (claims === null) return ': it is not a Kubernetes token, which has three parts separated by dots';
  const { exp, aud } = claims;
  if (typeof exp === 'number' && exp * 1000 <= now)
    return `: it expired at ${new Date(exp * 1000).toISOString()}`;
  const audiences = [aud].flat().filter((one) => typeof one === 'string');
  if (audiences.length === 0 || audiences.includes(audience)) return '';
  return `: it is meant for ${audiences.map((one) => JSON.stringify(one)).join(', ')}`;
}

function claimsOf(token: string): { readonly exp?: unknown; readonly aud?: unknown } | null {
  const parts = token.split('.');
  if (parts.length !== 3) return null;
  return attempt(() => {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' ? claims : null;
  }, null);
}
