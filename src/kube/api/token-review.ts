/**
 * Decides who may use the inspector by asking Kubernetes: whose token it is (TokenReview), and whether its
 * owner may `get` or `update` `inspector.orrery.dev` (SubjectAccessReview).
 *
 * Promises: answers are cached for `limits.accessCacheMs` and for at most `limits.accessCacheEntries`
 * callers, under a hash of the token (the token itself is stored nowhere, I9); a question without an answer
 * is an error and grants nothing; few questions are asked at once, and each once, however many wait for it.
 */
import { createHash } from 'node:crypto';
import { createTurnstile } from '../../actors/host/turnstile.ts';
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
 * The required audience of tokens: a token for another service, or for the API server itself, grants nothing
 * here.
 */
export const audience = 'orrery';

/** What Kubernetes says about a token's owner. */
interface Owner {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, unknown>>;
}

export function createKubeAuthorizer(kube: Pick<KubePort, 'create'>, clock: Clock): Authorize {
  const remembered = new Map<string, Remembered>();
  const asked = new Map<string, Promise<Access>>();
  const turnstile = createTurnstile(limits.accessReviews);
  const ask = async (token: string, verb: AccessVerb, signal: AbortSignal): Promise<Access> => {
    await turnstile.enter();
    try {
      return await review(kube, { token, now: clock.now() }, verb, signal);
    } finally {
      turnstile.leave();
    }
  };
  return async (token, verb, signal) => {
    if (token === null) return { granted: false, status: 401, reason: 'a bearer token is needed' };
    const key = `${verb} ${createHash('sha256').update(token).digest('base64url')}`;
    const known = remembered.get(key);
    if (known && known.until > clock.monotonic()) return known.access;
    const asking = asked.get(key) ?? ask(token, verb, signal).finally(() => asked.delete(key));
    asked.set(key, asking);
    const access = await asking;
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
      reason: `Kubernetes does not accept the token for the audience "${audience}"${tokenFault(token, now)} (orrery token prints one; so does kubectl create token NAME --audience ${audience})`,
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
  return { granted: false, status: 403, reason: refusalText(owner.username, verb) };
}

/** With the role that the chart and `deploy/base` have for it: whoever reads this has to ask for it. */
function refusalText(username: string, verb: AccessVerb): string {
  const role = `orrery-inspector-${verb === 'get' ? 'view' : 'operate'}`;
  return `${username} may not ${verb} inspector.orrery.dev (the ClusterRole ${role} allows it, once it is bound to ${username}: ${bindingCommand(role, username)})`;
}

/** For somebody who may grant it. */
function bindingCommand(role: string, username: string): string {
  const [, account] = /^system:serviceaccount:([a-z0-9.-]+:[a-z0-9.-]+)$/.exec(username) ?? [];
  const plain = /^[\w@.:/+-]+$/.test(username) ? username : `'${username.replaceAll("'", "'\\''")}'`;
  const name = `${role}-${(account ?? username).toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
  const subject = account === undefined ? `--user ${plain}` : `--serviceaccount ${account}`;
  return `kubectl create clusterrolebinding ${name} --clusterrole ${role} ${subject}`;
}

/** Reviews have no name, because nothing is stored. */
function reviewOf(group: string, kind: string, spec: unknown): KubeObject {
  return { apiVersion: `${group}.k8s.io/v1`, kind, metadata: { name: '' }, spec };
}

function ownerOf(answer: KubeObject): Owner | undefined {
  const { authenticated, user, audiences } = fields(answer.status);
  const { username, uid, groups, extra } = fields(user);
  if (authenticated !== true || typeof username !== 'string') return undefined;
  // A server that does not know audiences has not checked them.
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
 * Why a token is refused, as far as its own claims explain it. They are not trusted, and nothing of its
 * secret part is reported.
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
