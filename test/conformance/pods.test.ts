import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { causeFields, metaOf, pod, test, versionOf } from './conformance.ts';

const statusOf = (body: JsonObject) => body.status as JsonObject;

describe('Pods', () => {
  test('begin pending, with what they left out filled in', async ({ api, core }) => {
    const reply = await api.post(`${core}/pods`, {
      ...pod('a'),
      status: { phase: 'Running', podIP: '10.0.0.1' },
    });
    expect(reply.body.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    expect(reply.body.spec).toMatchObject({
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      terminationGracePeriodSeconds: 30,
      enableServiceLinks: true,
      containers: [
        {
          name: 'main',
          image: 'example.com/app:1',
          imagePullPolicy: 'IfNotPresent',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
    });
  });

  test('pull what has no tag or the latest one always', async ({ api, core }) => {
    const containers = ['app', 'app:latest', 'registry:5000/app', 'app:1', 'app@sha256:aa'].map(
      (image, index) => ({
        name: `c${index}`,
        image,
      }),
    );
    const reply = await api.post(`${core}/pods`, pod('a', {}, { containers }));
    const policies = ((reply.body.spec as JsonObject).containers as JsonObject[]).map(
      (container) => container.imagePullPolicy,
    );
    expect(policies).toEqual(['Always', 'Always', 'Always', 'IfNotPresent', 'IfNotPresent']);
  });

  test('have probes with defaults', async ({ api, core }) => {
    const containers = [{ name: 'c', image: 'i:1', readinessProbe: { httpGet: { port: 80 } } }];
    const reply = await api.post(`${core}/pods`, pod('a', {}, { containers }));
    const [container] = (reply.body.spec as JsonObject).containers as JsonObject[];
    expect(container?.readinessProbe).toEqual({
      httpGet: { path: '/', port: 80, scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
  });

  test('podIP and podIPs are one fact', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const set = async (status: JsonObject) =>
      statusOf((await api.patch(`${core}/pods/a/status`, 'merge', { status })).body);
    expect(await set({ podIP: '10.0.0.1' })).toMatchObject({
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }],
    });
    expect(await set({ podIP: null, podIPs: [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }] })).toMatchObject({
      podIP: '10.0.0.2',
      podIPs: [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }],
    });
    expect(await set({ podIP: '10.0.0.3' })).toMatchObject({
      podIP: '10.0.0.3',
      podIPs: [{ ip: '10.0.0.3' }],
    });
  });

  test('an address that is none is refused', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const reply = await api.patch(`${core}/pods/a/status`, 'merge', {
      status: { podIPs: [{ ip: 'nonsense' }] },
    });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['status.podIPs[0]']);
  });

  test('conditions carry null for times that nobody said', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const reply = await api.patch(`${core}/pods/a/status`, 'strategic', {
      status: { conditions: [{ type: 'example.com/gate', status: 'True' }] },
    });
    expect(statusOf(reply.body).conditions).toEqual([
      { type: 'example.com/gate', status: 'True', lastProbeTime: null, lastTransitionTime: null },
    ]);
  });

  test('readiness gates, commands and volumes cannot change', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a', {}, { readinessGates: [{ conditionType: 'example.com/gate' }] }));
    for (const spec of [
      { readinessGates: null },
      { containers: [{ name: 'main', command: ['x'] }] },
      { nodeName: 'n' },
    ]) {
      const reply = await api.patch(`${core}/pods/a`, 'strategic', { spec } as unknown as JsonObject);
      expect(reply.code).toBe(422);
      expect(causeFields(reply)).toEqual(['spec']);
      expect(String(reply.body.message)).toContain('Forbidden: pod updates may not change fields other than');
    }
  });

  test('the image can change, and that is a new generation; a status is not', async ({ api, core }) => {
    const made = await api.post(`${core}/pods`, pod('a'));
    expect(metaOf(made).generation).toBe(1);
    const status = await api.patch(`${core}/pods/a/status`, 'merge', { status: { phase: 'Running' } });
    expect(metaOf(status).generation).toBe(1);
    const image = await api.patch(`${core}/pods/a`, 'strategic', {
      spec: { containers: [{ name: 'main', image: 'example.com/app:2' }] },
    });
    expect(metaOf(image).generation).toBe(2);
  });

  test('the owner references cannot be changed through the status', async ({ api, core }) => {
    // Owners of a kind that no server knows are never collected.
    const ownerReferences = [{ apiVersion: 'nobody.example.com/v1', kind: 'Nobody', name: 'n', uid: 'u' }];
    await api.post(`${core}/pods`, pod('a', { ownerReferences }));
    const reply = await api.patch(`${core}/pods/a/status`, 'merge', { metadata: { ownerReferences: [] } });
    expect(metaOf(reply).ownerReferences).toEqual(ownerReferences);
  });

  test.for([
    ['no container', { containers: [] }, ['spec.containers']],
    [
      'a container without name and image',
      { containers: [{}] },
      ['spec.containers[0].image', 'spec.containers[0].name'],
    ],
    [
      'a name twice',
      {
        containers: [
          { name: 'a', image: 'i' },
          { name: 'a', image: 'i' },
        ],
      },
      ['spec.containers[1].name'],
    ],
    [
      'a port out of range',
      { containers: [{ name: 'a', image: 'i', ports: [{ containerPort: 70_000 }] }] },
      ['spec.containers[0].ports[0].containerPort'],
    ],
    [
      'a readiness gate that is none',
      { readinessGates: [{ conditionType: 'a b' }] },
      ['spec.readinessGates[0].conditionType'],
    ],
    [
      'a mount of no volume',
      { containers: [{ name: 'a', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/v' }] }] },
      ['spec.containers[0].volumeMounts[0].name'],
    ],
    ['another restart policy', { restartPolicy: 'Sometimes' }, ['spec.restartPolicy']],
  ] as const)('with %s are refused', async ([, spec, fields], { api, core }) => {
    const reply = await api.post(`${core}/pods`, pod('a', {}, spec as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual([...fields]);
  });
});

describe('binding', () => {
  const binding = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name },
    target: { apiVersion: 'v1', kind: 'Node', name: 'node-of-nobody' },
  });

  test('puts a Pod on a node, once', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const reply = await api.post(`${core}/pods/a/binding`, binding('a'));
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Success' });
    const bound = await api.get(`${core}/pods/a`);
    expect((bound.body.spec as JsonObject).nodeName).toBe('node-of-nobody');
    expect(statusOf(bound.body).conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
    const again = await api.post(`${core}/bindings`, binding('a'));
    expect(again.code).toBe(409);
    expect(again.body.message).toBe(
      'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-of-nobody"',
    );
    await api.delete(`${core}/pods/a`, { gracePeriodSeconds: 0 });
  });

  test('of a Pod that is not there is answered 404', async ({ api, core }) => {
    expect((await api.post(`${core}/bindings`, binding('none'))).code).toBe(404);
  });
});

describe('Nodes', () => {
  test('keep addresses, conditions and capacity in their status', async ({ api, namespace }) => {
    const name = `node-${namespace}`;
    const made = await api.post('/api/v1/nodes', { metadata: { name } });
    expect(made.code).toBe(201);
    const reply = await api.patch(`/api/v1/nodes/${name}/status`, 'strategic', {
      status: {
        capacity: { cpu: '2', pods: 110 },
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    expect(reply.body.status).toMatchObject({
      capacity: { cpu: '2', pods: '110' },
      allocatable: { cpu: '2', pods: '110' },
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    expect(Number(versionOf(reply))).toBeGreaterThan(Number(versionOf(made)));
    await api.delete(`/api/v1/nodes/${name}`);
    expect((await api.get(`/api/v1/nodes/${name}`)).code).toBe(404);
  });
});
