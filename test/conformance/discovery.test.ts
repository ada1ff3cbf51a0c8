import { describe, expect } from 'vitest';
import type { Client, JsonObject, Reply } from './client.ts';
import { test } from './conformance.ts';

function resource(reply: Reply, name: string): JsonObject | undefined {
  return ((reply.body.resources ?? []) as JsonObject[]).find((entry) => entry.name === name);
}

describe('discovery', () => {
  test('/api names the version of the core group', async ({ api }) => {
    const reply = await api.get('/api');
    expect(reply.code).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
  });

  test('/apis names every group with its preferred version', async ({ api }) => {
    const reply = await api.get('/apis');
    expect(reply.body.kind).toBe('APIGroupList');
    for (const name of [
      'apps',
      'discovery.k8s.io',
      'coordination.k8s.io',
      'events.k8s.io',
      'apiextensions.k8s.io',
    ])
      expect(reply.body.groups).toContainEqual({
        name,
        versions: [{ groupVersion: `${name}/v1`, version: 'v1' }],
        preferredVersion: { groupVersion: `${name}/v1`, version: 'v1' },
      });
  });

  test('/apis/<group> describes one group', async ({ api }) => {
    const reply = await api.get('/apis/apps');
    expect(reply.body).toMatchObject({ kind: 'APIGroup', name: 'apps' });
  });

  test.for([
    ['/api/v1', 'pods', 'Pod', 'po', true],
    ['/api/v1', 'services', 'Service', 'svc', true],
    ['/api/v1', 'configmaps', 'ConfigMap', 'cm', true],
    ['/api/v1', 'serviceaccounts', 'ServiceAccount', 'sa', true],
    ['/api/v1', 'namespaces', 'Namespace', 'ns', false],
    ['/api/v1', 'nodes', 'Node', 'no', false],
    ['/api/v1', 'events', 'Event', 'ev', true],
    ['/apis/events.k8s.io/v1', 'events', 'Event', 'ev', true],
    ['/apis/apps/v1', 'deployments', 'Deployment', 'deploy', true],
    ['/apis/apps/v1', 'statefulsets', 'StatefulSet', 'sts', true],
    ['/apis/apps/v1', 'replicasets', 'ReplicaSet', 'rs', true],
    ['/apis/apiextensions.k8s.io/v1', 'customresourcedefinitions', 'CustomResourceDefinition', 'crd', false],
  ] as const)(
    '%s lists %s with kind, short name and scope',
    async ([path, name, kind, short, namespaced], { api }) => {
      const reply = await api.get(path);
      expect(reply.body.kind).toBe('APIResourceList');
      const found = resource(reply, name);
      expect(found).toMatchObject({ kind, namespaced, singularName: kind.toLowerCase() });
      expect(found?.shortNames).toContain(short);
      for (const verb of ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'])
        expect(found?.verbs).toContain(verb);
    },
  );

  test.for([
    ['/api/v1', 'pods/status'],
    ['/api/v1', 'pods/binding'],
    ['/api/v1', 'nodes/status'],
    ['/apis/apps/v1', 'deployments/scale'],
    ['/apis/coordination.k8s.io/v1', 'leases'],
    ['/apis/discovery.k8s.io/v1', 'endpointslices'],
  ] as const)('%s lists %s', async ([path, name], { api }) => {
    expect(resource(await api.get(path), name)).toBeDefined();
  });
});

describe('aggregated discovery', () => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

  async function resourcesOf(
    api: Client,
    path: string,
    group: string,
    version: string,
  ): Promise<JsonObject[]> {
    const { body } = await api.get(path, { accept });
    expect(body).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' });
    const own = (body.items as JsonObject[]).find(
      (item) => ((item.metadata ?? {}) as JsonObject).name === (group === '' ? undefined : group),
    );
    const found = ((own?.versions ?? []) as JsonObject[]).find((entry) => entry.version === version);
    expect(found?.freshness).toBe('Current');
    return (found?.resources ?? []) as JsonObject[];
  }

  test.for([
    ['/api', '', 'pods', 'Pod', 'Namespaced', ['po'], ['all']],
    ['/api', '', 'namespaces', 'Namespace', 'Cluster', ['ns'], undefined],
    ['/apis', 'apps', 'statefulsets', 'StatefulSet', 'Namespaced', ['sts'], ['all']],
    ['/apis', 'coordination.k8s.io', 'leases', 'Lease', 'Namespaced', undefined, undefined],
  ] as const)(
    '%s tells of %s %s',
    async ([path, group, resource, kind, scope, shortNames, categories], { api }) => {
      const found = (await resourcesOf(api, path, group, 'v1')).find((entry) => entry.resource === resource);
      expect(found).toEqual({
        resource,
        responseKind: { group: '', version: '', kind },
        scope,
        singularResource: kind.toLowerCase(),
        verbs: expect.arrayContaining(['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']),
        ...(shortNames === undefined ? {} : { shortNames }),
        ...(categories === undefined ? {} : { categories }),
        ...(resource === 'leases' ? {} : { subresources: expect.any(Array) }),
      });
    },
  );

  test('tells of the parts of a resource', async ({ api }) => {
    const found = await resourcesOf(api, '/apis', 'apps', 'v1');
    const deployments = found.find(({ resource }) => resource === 'deployments');
    expect(deployments?.subresources).toEqual(
      expect.arrayContaining([
        {
          subresource: 'scale',
          responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          verbs: ['get', 'patch', 'update'],
        },
      ]),
    );
  });

  test.for(['application/json', '*/*'])('%s still gets the old form', async (old, { api }) => {
    expect((await api.get('/apis', { accept: old })).body.kind).toBe('APIGroupList');
    expect((await api.get('/api', { accept: old })).body.kind).toBe('APIVersions');
  });
});

describe('paths that lead nowhere', () => {
  test.for(['/api/v1/nothings', '/apis/apps/v1/nothings', '/api/v1/pods/without-namespace'])(
    '%s is answered 404 with a Status',
    async (path, { api }) => {
      const reply = await api.get(path);
      expect(reply.code).toBe(404);
      expect(reply.body).toMatchObject({
        kind: 'Status',
        reason: 'NotFound',
        message: 'the server could not find the requested resource',
      });
    },
  );

  test.for(['/nothing', '/apis/nothing.example.com', '/apis/nothing.example.com/v1'])(
    '%s is answered 404',
    async (path, { api }) => {
      expect((await api.get(path)).code).toBe(404);
    },
  );

  test.for([
    ['PUT', '/api/v1/namespaces/default/pods'],
    ['POST', '/api/v1/namespaces/default/pods/x'],
    ['POST', '/api/v1/pods'],
    ['DELETE', '/api/v1/namespaces'],
    ['POST', '/api/v1/namespaces/default/pods/x/status'],
  ] as const)('%s %s is answered 405', async ([method, path], { api }) => {
    const reply = await api.call(method, path, {});
    expect(reply.code).toBe(405);
    expect(reply.body.reason).toBe('MethodNotAllowed');
  });
});
