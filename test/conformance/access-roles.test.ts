/** Who may do what: roles, their bindings, refusals, and reviews of access. */
import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { Client, Json, JsonObject, Reply } from './client.ts';
import { test as base, configMap, uniqueName } from './conformance.ts';

const group = 'rbac.authorization.k8s.io';
const roles = `/apis/${group}/v1`;
const reviews = '/apis/authorization.k8s.io/v1';

interface Stranger {
  /** The user's name. */
  readonly name: string;
  readonly token: string;
  get(path: string): Promise<Reply>;
}

/** A ServiceAccount of the test's namespace, with a token. */
async function strangerIn(api: Client, namespace: string): Promise<Stranger> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await api.post(accounts, { metadata: { name: 'stranger' } });
  const reply = await api.post(`${accounts}/stranger/token`, { spec: {} });
  const token = String((reply.body.status as JsonObject).token);
  return {
    name: `system:serviceaccount:${namespace}:stranger`,
    token,
    get: (path) => api.get(path, { token }),
  };
}

const test = base.extend<{ stranger: Stranger; inside: string }>({
  stranger: async ({ api, namespace }, use) => {
    await use(await strangerIn(api, namespace));
  },
  inside: async ({ namespace }, use) => {
    await use(`${roles}/namespaces/${namespace}`);
  },
});

const causesOf = (reply: Reply) =>
  (((reply.body.details ?? {}) as { causes?: JsonObject[] }).causes ?? []).map(
    ({ field, message }) => `${field}: ${message}`,
  );

describe('who has no role', () => {
  test.for<[string, string, string, (user: string, ns: string) => string]>([
    [
      'GET',
      '/configmaps/x',
      'an object',
      (user, ns) =>
        `configmaps "x" is forbidden: User "${user}" cannot get resource "configmaps" in API group "" in the namespace "${ns}"`,
    ],
    [
      'GET',
      '/configmaps',
      'a list',
      (user, ns) =>
        `configmaps is forbidden: User "${user}" cannot list resource "configmaps" in API group "" in the namespace "${ns}"`,
    ],
    [
      'GET',
      '/configmaps?watch=1',
      'a watch',
      (user, ns) =>
        `configmaps is forbidden: User "${user}" cannot watch resource "configmaps" in API group "" in the namespace "${ns}"`,
    ],
    [
      'POST',
      '/configmaps',
      'a creation',
      (user, ns) =>
        `configmaps is forbidden: User "${user}" cannot create resource "configmaps" in API group "" in the namespace "${ns}"`,
    ],
    [
      'PATCH',
      '/pods/x/status',
      'a part',
      (user, ns) =>
        `pods "x" is forbidden: User "${user}" cannot patch resource "pods/status" in API group "" in the namespace "${ns}"`,
    ],
    [
      'DELETE',
      '/configmaps',
      'the end of a collection',
      (user, ns) =>
        `configmaps is forbidden: User "${user}" cannot deletecollection resource "configmaps" in API group "" in the namespace "${ns}"`,
    ],
    [
      'GET',
      '',
      'the namespace',
      (user, ns) =>
        `namespaces "${ns}" is forbidden: User "${user}" cannot get resource "namespaces" in API group "" in the namespace "${ns}"`,
    ],
  ])('is refused %s %s', async ([method, path, , text], { api, core, namespace, stranger }) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : configMap('x');
    const reply = await api.call(method, `${core}${path}`, body, {
      token: stranger.token,
      ...(method === 'PATCH' ? { type: 'application/merge-patch+json' } : {}),
    });
    expect(reply.code).toBe(403);
    expect(reply.body).toMatchObject({ reason: 'Forbidden', status: 'Failure', code: 403 });
    expect(reply.body.message).toBe(text(stranger.name, namespace));
  });

  test('is refused what is of the whole cluster, of other groups, and what there is not', async ({
    stranger,
  }) => {
    const user = `User "${stranger.name}"`;
    const refusals: ReadonlyArray<[string, string]> = [
      [
        '/api/v1/nodes/x',
        `nodes "x" is forbidden: ${user} cannot get resource "nodes" in API group "" at the cluster scope`,
      ],
      [
        '/apis/apps/v1/deployments',
        `deployments.apps is forbidden: ${user} cannot list resource "deployments" in API group "apps" at the cluster scope`,
      ],
      [
        '/apis/nope.example.com/v1/foos',
        `foos.nope.example.com is forbidden: ${user} cannot list resource "foos" in API group "nope.example.com" at the cluster scope`,
      ],
      ['/nope', `forbidden: ${user} cannot get path "/nope"`],
    ];
    for (const [path, text] of refusals) expect((await stranger.get(path)).body.message).toBe(text);
  });

  test.for(['/api', '/api/v1', '/apis', '/apis/apps/v1', '/version'])(
    'may see %s',
    async (path, { stranger }) => {
      expect((await stranger.get(path)).code).toBe(200);
    },
  );

  test('is told apart from who is not known', async ({ api, core }) => {
    const reply = await api.get(`${core}/configmaps`, { token: null });
    expect([401, 403]).toContain(reply.code);
    if (reply.code === 403)
      expect(String(reply.body.message)).toContain('User "system:anonymous" cannot list');
  });
});

describe('a role', () => {
  const rule = (resources: string[], verbs: string[], more: JsonObject = {}): JsonObject => ({
    apiGroups: [''],
    resources,
    verbs,
    ...more,
  });

  async function grant(api: Client, inside: string, rules: Json[], subjects?: JsonObject[]): Promise<Reply> {
    await api.post(`${inside}/roles`, { metadata: { name: 'r' }, rules });
    return api.post(`${inside}/rolebindings`, {
      metadata: { name: 'b' },
      subjects: subjects ?? [{ kind: 'ServiceAccount', name: 'stranger' }],
      roleRef: { kind: 'Role', name: 'r' },
    });
  }
  const allowed = (stranger: Stranger, path: string) =>
    until(async () => (await stranger.get(path)).code !== 403, { what: `${path} is allowed` });

  test('that is bound allows what it says, where it says it', async ({ api, core, inside, stranger }) => {
    const bound = await grant(api, inside, [rule(['configmaps'], ['get', 'list'])]);
    expect(bound.body).toMatchObject({ roleRef: { apiGroup: group, kind: 'Role', name: 'r' } });
    await allowed(stranger, `${core}/configmaps`);
    expect((await stranger.get(`${core}/configmaps/x`)).code).toBe(404);
    expect((await stranger.get(`${core}/configmaps?watch=1`)).code).toBe(403);
    expect((await stranger.get(`${core}/secrets`)).code).toBe(403);
    expect((await stranger.get('/api/v1/configmaps')).code).toBe(403);
    await api.delete(`${inside}/rolebindings/b`);
    await until(async () => (await stranger.get(`${core}/configmaps`)).code === 403, {
      what: 'the role is gone',
    });
  });

  test('may be for some names only', async ({ api, core, inside, stranger }) => {
    await grant(api, inside, [rule(['configmaps'], ['*'], { resourceNames: ['a'] })]);
    await allowed(stranger, `${core}/configmaps/a`);
    expect((await stranger.get(`${core}/configmaps/b`)).code).toBe(403);
    expect((await stranger.get(`${core}/configmaps`)).code).toBe(403);
    expect((await stranger.get(`${core}/configmaps?fieldSelector=metadata.name%3Da`)).code).toBe(200);
  });

  test('says parts by themselves', async ({ api, core, inside, stranger }) => {
    await grant(api, inside, [rule(['pods/status', '*/scale'], ['get'])]);
    await allowed(stranger, `${core}/pods/x/status`);
    expect((await stranger.get(`${core}/pods/x`)).code).toBe(403);
  });

  test('may be bound to a group', async ({ api, core, inside, namespace, stranger }) => {
    const subjects = [{ kind: 'Group', name: `system:serviceaccounts:${namespace}` }];
    const bound = await grant(api, inside, [rule(['*'], ['get'])], subjects);
    expect((bound.body.subjects as JsonObject[])[0]?.apiGroup).toBe(group);
    await allowed(stranger, `${core}/configmaps/x`);
  });

  test('of the cluster is bound for everything, paths included', async ({ api, stranger, namespace }) => {
    const name = uniqueName('conf');
    const rules = [{ nonResourceURLs: ['/conf/*'], verbs: ['get'] }, rule(['nodes'], ['list'])];
    expect((await api.post(`${roles}/clusterroles`, { metadata: { name }, rules })).code).toBe(201);
    await api.post(`${roles}/clusterrolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'ServiceAccount', name: 'stranger', namespace }],
      roleRef: { kind: 'ClusterRole', name },
    });
    await allowed(stranger, '/api/v1/nodes');
    expect((await stranger.get('/conf/x')).code).toBe(404);
    expect((await stranger.get('/other')).code).toBe(403);
    await api.delete(`${roles}/clusterrolebindings/${name}`);
    await api.delete(`${roles}/clusterroles/${name}`);
  });

  test('must have verbs, groups and resources', async ({ api, inside }) => {
    const rules = [
      { apiGroups: [''], verbs: [] },
      { nonResourceURLs: ['/x'], verbs: ['get'] },
      { resources: ['x'], verbs: ['get'] },
    ];
    const reply = await api.post(`${inside}/roles`, { metadata: { name: 'bad' }, rules });
    expect(reply.code).toBe(422);
    expect(causesOf(reply)).toEqual([
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
      'rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
      'rules[2].apiGroups: Required value: resource rules must supply at least one api group',
    ]);
  });

  test('is bound to subjects that can be, and for good', async ({ api, inside }) => {
    const bad = await api.post(`${inside}/rolebindings`, {
      metadata: { name: 'bad' },
      subjects: [
        { kind: 'Foo', name: 'x' },
        { kind: 'ServiceAccount', name: '' },
        { kind: 'User', name: 'u', apiGroup: 'x' },
      ],
      roleRef: { kind: 'Nope', name: 'r' },
    });
    expect(causesOf(bad)).toEqual([
      'roleRef.kind: Unsupported value: "Nope": supported values: "Role", "ClusterRole"',
      'subjects[0].kind: Unsupported value: "Foo": supported values: "ServiceAccount", "User", "Group"',
      'subjects[1].name: Required value',
      `subjects[2].apiGroup: Unsupported value: "x": supported values: "${group}"`,
    ]);
    await grant(api, inside, []);
    const changed = await api.patch(`${inside}/rolebindings/b`, 'merge', { roleRef: { name: 'other' } });
    expect(causesOf(changed)).toEqual([
      `roleRef: Invalid value: {"APIGroup":"${group}","Kind":"Role","Name":"other"}: cannot change roleRef`,
    ]);
  });
});

describe('a review', () => {
  const about = (namespace: string): JsonObject => ({ namespace, verb: 'get', resource: 'configmaps' });

  test('tells somebody what he may do', async ({ api, inside, namespace, stranger }) => {
    const ask = async () => {
      const spec = { resourceAttributes: about(namespace) };
      const reply = await api.post(
        `${reviews}/selfsubjectaccessreviews`,
        { spec },
        { token: stranger.token },
      );
      expect(reply.code).toBe(201);
      return reply.body.status as JsonObject;
    };
    expect(await ask()).toEqual({ allowed: false });
    await api.post(`${inside}/roles`, {
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    });
    await api.post(`${inside}/rolebindings`, {
      metadata: { name: 'b' },
      subjects: [{ kind: 'ServiceAccount', name: 'stranger' }],
      roleRef: { kind: 'Role', name: 'r' },
    });
    await until(async () => (await ask()).allowed === true, { what: 'the role counts' });
    expect(await ask()).toEqual({
      allowed: true,
      reason: `RBAC: allowed by RoleBinding "b/${namespace}" of Role "r" to ServiceAccount "stranger/${namespace}"`,
    });
    const other = { user: stranger.name, resourceAttributes: about(namespace) };
    const asked = await api.post(`${reviews}/subjectaccessreviews`, { spec: other });
    expect(asked.body.status).toMatchObject({ allowed: true });
    const local = `${reviews}/namespaces/${namespace}/localsubjectaccessreviews`;
    expect((await api.post(local, { spec: { ...other, user: 'jane' } })).body.status).toEqual({
      allowed: false,
    });
  });

  test('tells somebody all that he may do in a namespace', async ({ api, inside, namespace, stranger }) => {
    const rule = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] };
    await api.post(`${inside}/roles`, { metadata: { name: 'r' }, rules: [rule] });
    await api.post(`${inside}/rolebindings`, {
      metadata: { name: 'b' },
      subjects: [{ kind: 'ServiceAccount', name: 'stranger' }],
      roleRef: { kind: 'Role', name: 'r' },
    });
    await until(
      async () => {
        const spec = { namespace };
        const reply = await api.post(
          `${reviews}/selfsubjectrulesreviews`,
          { spec },
          { token: stranger.token },
        );
        const { resourceRules = [] } = reply.body.status as { resourceRules?: JsonObject[] };
        return resourceRules.some(({ resources }) => JSON.stringify(resources) === '["configmaps"]');
      },
      { what: 'the rule is told' },
    );
  });

  test('of an administrator allows everything', async ({ api, namespace }) => {
    const spec = { user: 'jane', groups: ['system:masters'], resourceAttributes: about(namespace) };
    expect((await api.post(`${reviews}/subjectaccessreviews`, { spec })).body.status).toEqual({
      allowed: true,
    });
  });

  test.for<[string, JsonObject, string]>([
    [
      'selfsubjectaccessreviews',
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'selfsubjectaccessreviews',
      { resourceAttributes: { verb: 'get' }, nonResourceAttributes: { path: '/x', verb: 'get' } },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      'subjectaccessreviews',
      { resourceAttributes: { verb: 'get' } },
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
  ])('must say what it is about: %s %j', async ([plural, spec, problem], { api }) => {
    const reply = await api.post(`${reviews}/${plural}`, { spec });
    expect(reply.code).toBe(422);
    expect(reply.body.message).toBe(`.authorization.k8s.io "" is invalid: ${problem}`);
  });
});
