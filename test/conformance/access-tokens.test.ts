/** Tokens of ServiceAccounts, and who a token speaks for. */
import { describe, expect } from 'vitest';
import type { Client, JsonObject, Reply } from './client.ts';
import { test as base, uidOf } from './conformance.ts';

const path = '/apis/authentication.k8s.io/v1';

const test = base.extend<{ account: { path: string; uid: string } }>({
  account: async ({ api, core }, use) => {
    const made = await api.post(`${core}/serviceaccounts`, { metadata: { name: 'robot' } });
    await use({ path: `${core}/serviceaccounts/robot`, uid: uidOf(made) });
  },
});

const tokenOf = (reply: Reply) => String((reply.body.status as JsonObject).token);
const review = async (api: Client, spec: JsonObject) =>
  (await api.post(`${path}/tokenreviews`, { spec })).body.status as JsonObject;

describe('a token of a ServiceAccount', () => {
  test('is made for an hour, for the API server', async ({ api, account, namespace }) => {
    const reply = await api.post(`${account.path}/token`, { spec: {} });
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name: 'robot', namespace },
      spec: { expirationSeconds: 3600, boundObjectRef: null },
    });
    const { creationTimestamp } = reply.body.metadata as JsonObject;
    const { expirationTimestamp } = reply.body.status as JsonObject;
    const seconds = (Date.parse(String(expirationTimestamp)) - Date.parse(String(creationTimestamp))) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(3599);
    expect(seconds).toBeLessThanOrEqual(3601);
  });

  test('speaks for the account', async ({ api, account, namespace }) => {
    const token = tokenOf(await api.post(`${account.path}/token`, { spec: { expirationSeconds: 700 } }));
    const user = {
      username: `system:serviceaccount:${namespace}:robot`,
      uid: account.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    };
    expect(await review(api, { token })).toMatchObject({ authenticated: true, user });
    const self = await api.post(`${path}/selfsubjectreviews`, {}, { token });
    expect(self.code).toBe(201);
    expect(self.body.status).toMatchObject({ userInfo: user });
  });

  test('for somebody else says nothing to the API server', async ({ api, account, core }) => {
    const token = tokenOf(await api.post(`${account.path}/token`, { spec: { audiences: ['vault'] } }));
    expect((await api.get(`${core}/configmaps`, { token })).code).toBe(401);
    expect(await review(api, { token, audiences: ['vault', 'other'] })).toMatchObject({
      authenticated: true,
      audiences: ['vault'],
    });
    expect((await review(api, { token })).authenticated).toBeUndefined();
  });

  test('lives ten minutes at least', async ({ api, account }) => {
    const reply = await api.post(`${account.path}/token`, { spec: { expirationSeconds: 5 } });
    expect(reply.code).toBe(422);
    expect(reply.body.message).toBe(
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
    );
  });

  test('is made only for an account that is there, and by POST', async ({ api, account, core }) => {
    const reply = await api.post(`${core}/serviceaccounts/nobody/token`, { spec: {} });
    expect(reply.code).toBe(404);
    expect(reply.body.message).toBe('serviceaccounts "nobody" not found');
    expect((await api.get(`${account.path}/token`)).code).toBe(405);
  });
});

describe('a TokenReview', () => {
  test('knows no other tokens', async ({ api }) => {
    expect(await review(api, { token: 'wrong' })).toEqual({ user: {}, error: 'invalid bearer token' });
  });

  test('needs a token', async ({ api }) => {
    const reply = await api.post(`${path}/tokenreviews`, { spec: {} });
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe('token is required for TokenReview in authentication');
  });

  test('is not for everybody to ask', async ({ api, account, namespace }) => {
    const token = tokenOf(await api.post(`${account.path}/token`, { spec: {} }));
    const reply = await api.post(`${path}/tokenreviews`, { spec: { token } }, { token });
    expect(reply.code).toBe(403);
    expect(reply.body.message).toBe(
      `tokenreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:${namespace}:robot" cannot create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope`,
    );
  });
});

describe('who asks', () => {
  test('is told who he is', async ({ api }) => {
    const reply = await api.post(`${path}/selfsubjectreviews`, {});
    expect(reply.body).toMatchObject({
      kind: 'SelfSubjectReview',
      metadata: { creationTimestamp: expect.any(String) },
    });
    const { userInfo } = reply.body.status as { userInfo: JsonObject };
    expect(userInfo.groups).toContain('system:masters');
  });
});
