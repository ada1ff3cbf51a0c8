/** Who may look: the questions put to Kubernetes, and how long an answer holds. */
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { limits } from '../../../src/base/limits.ts';
import { createKubeAuthorizer, tokenFault } from '../../../src/kube/api/token-review.ts';

const { signal } = new AbortController();

/** Knows the token `ann-token`, whose owner may `get` and nothing else. */
function setUp(audiences: readonly string[] | undefined = ['orrery'], username = 'ann') {
  let now = 0;
  const asked: KubeObject[] = [];
  const clock: Clock = { now: () => now, monotonic: () => now, after: () => ({ cancel: () => {} }) };
  const create: KubePort['create'] = async (resource, object) => {
    asked.push(object);
    const spec = object.spec as { token?: string; resourceAttributes?: { verb: string } };
    if (resource.plural === 'subjectaccessreviews') {
      return { ...object, status: { allowed: spec.resourceAttributes?.verb === 'get' } };
    }
    const authenticated = spec.token === 'ann-token';
    return {
      ...object,
      status: authenticated ? { authenticated, audiences, user: { username, groups: ['dev'] } } : {},
    };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { asked, pass, create, clock, authorize: createKubeAuthorizer({ create }, clock) };
}

test('an owner who may is let in; the review names group, resource and verb', async () => {
  const { authorize, asked } = setUp();
  expect(await authorize('ann-token', 'get', signal)).toEqual({ granted: true, user: 'ann' });
  expect(asked[0]?.spec).toEqual({ token: 'ann-token', audiences: ['orrery'] });
  expect(asked[1]?.spec).toMatchObject({
    user: 'ann',
    groups: ['dev'],
    resourceAttributes: { group: 'orrery.dev', resource: 'inspector', verb: 'get' },
  });
});

test.each([[['https://kubernetes.default.svc']], [[]]])(
  'a token that is good for %j opens nothing',
  async (audiences) => {
    const { authorize, asked } = setUp(audiences);
    expect(await authorize('ann-token', 'get', signal)).toMatchObject({ granted: false, status: 401 });
    expect(asked).toHaveLength(1);
  },
);

test('no token and an unknown token are 401, an owner who may not is 403', async () => {
  const { authorize } = setUp();
  expect(await authorize(null, 'get', signal)).toMatchObject({ granted: false, status: 401 });
  expect(await authorize('stolen', 'get', signal)).toMatchObject({ granted: false, status: 401 });
  expect(await authorize('ann-token', 'update', signal)).toEqual({
    ...{ granted: false, status: 403 },
    reason:
      'ann may not update inspector.orrery.dev (the ClusterRole orrery-inspector-operate allows it, once it is bound to ann: kubectl create clusterrolebinding orrery-inspector-operate-ann --clusterrole orrery-inspector-operate --user ann)',
  });
});

test.each([
  ['system:serviceaccount:shop:ci', 'operate-shop-ci', '--serviceaccount shop:ci'],
  ["https://id.example#o'neil", 'operate-https-id-example-o-neil', "--user 'https://id.example#o'\\''neil'"],
])('%s, who may not, is told the command that grants it', async (username, binding, subject) => {
  const { authorize } = setUp(undefined, username);
  const command = `kubectl create clusterrolebinding orrery-inspector-${binding} --clusterrole orrery-inspector-operate ${subject})`;
  expect(await authorize('ann-token', 'update', signal)).toMatchObject({
    reason: expect.stringContaining(command),
  });
});

test('an answer is remembered for ten seconds, for each verb by itself', async () => {
  const { authorize, asked, pass } = setUp();
  await authorize('ann-token', 'get', signal);
  await authorize('ann-token', 'get', signal);
  expect(asked).toHaveLength(2);
  await authorize('ann-token', 'update', signal);
  expect(asked).toHaveLength(4);
  pass(limits.accessCacheMs);
  await authorize('ann-token', 'get', signal);
  expect(asked).toHaveLength(6);
});

test('at the bound the oldest answer is forgotten', async () => {
  const { authorize, asked } = setUp();
  await authorize('ann-token', 'get', signal);
  for (let caller = 0; caller < limits.accessCacheEntries; caller++)
    await authorize(`caller-${caller}`, 'get', signal);
  const before = asked.length;
  await authorize(`caller-${limits.accessCacheEntries - 1}`, 'get', signal);
  expect(asked).toHaveLength(before);
  await authorize('ann-token', 'get', signal);
  expect(asked).toHaveLength(before + 2);
});

test('a flood of tokens asks few questions at once, and everybody is answered', async () => {
  const { create, clock } = setUp();
  let [now, most, all] = [0, 0, 0];
  const slow: KubePort['create'] = async (...args) => {
    most = Math.max(most, ++now);
    all++;
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    return create(...args);
  };
  const authorize = createKubeAuthorizer({ create: slow }, clock);
  const flood = Array.from({ length: 200 }, (_, n) => authorize(`unknown-${n}`, 'get', signal));
  const known = Array.from({ length: 50 }, () => authorize('ann-token', 'get', signal));
  expect((await Promise.all(known)).every(({ granted }) => granted)).toBe(true);
  expect((await Promise.all(flood)).some(({ granted }) => granted)).toBe(false);
  expect(most).toBe(limits.accessReviews);
  expect(all).toBe(200 + 2);
});

test('a question that Kubernetes did not answer grants nothing and is not remembered', async () => {
  const { create, clock } = setUp();
  let away = true;
  const flaky: KubePort['create'] = (...args) =>
    away ? Promise.reject(new OrreryError('KUBE_UNREACHABLE', 'no answer')) : create(...args);
  const authorize = createKubeAuthorizer({ create: flaky }, clock);
  await expect(authorize('ann-token', 'get', signal)).rejects.toThrow('no answer');
  away = false;
  expect(await authorize('ann-token', 'get', signal)).toMatchObject({ granted: true });
});

describe('a refused token says what is wrong with it', () => {
  const encoded = (claims: unknown) => Buffer.from(JSON.stringify(claims)).toString('base64url');
  const token = (claims: unknown) => `${encoded({ alg: 'RS256' })}.${encoded(claims)}.signature`;
  const now = Date.UTC(2026, 10, 22);

  test.each([
    ['s3cret', ': it is not a Kubernetes token'],
    ['a.b.c', ': it is not a Kubernetes token'],
    [token(null), ''],
    [token({ exp: now / 1000 - 60, aud: ['orrery'] }), ': it expired at 2026-11-21T23:59:00.000Z'],
    [token({ exp: now / 1000 + 60, aud: ['vault', 'x"'] }), ': it is meant for "vault", "x\\""'],
    [token({ exp: now / 1000 + 60, aud: 'orrery' }), ''],
    [token({ exp: 'never', aud: 7 }), ''],
  ])('%s', (text, fault) => {
    const said = tokenFault(text, now);
    expect(said.startsWith(fault)).toBe(true);
    if (fault === '') expect(said === '' || said.startsWith(': it is not a')).toBe(true);
    expect(said).not.toContain('s3cret');
  });

  test('in the reason that its owner gets', async () => {
    const access = await setUp().authorize('s3cret', 'get', signal);
    expect(access).toMatchObject({
      reason: expect.stringMatching(/it is not a Kubernetes token.*orrery token/),
    });
  });
});
