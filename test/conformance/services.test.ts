import { describe, expect } from 'vitest';
import type { JsonObject, Reply } from './client.ts';
import { causeFields, test } from './conformance.ts';

const service = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

const specOf = (reply: Reply) => reply.body.spec as JsonObject;

describe('Services', () => {
  test('get an address, and what they left out', async ({ api, core }) => {
    const reply = await api.post(`${core}/services`, service('a', { selector: { app: 'a' } }));
    const { clusterIP } = specOf(reply);
    expect(clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(reply.body).toMatchObject({
      spec: {
        type: 'ClusterIP',
        clusterIPs: [clusterIP],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
        sessionAffinity: 'None',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      },
      status: { loadBalancer: {} },
    });
  });

  test('have addresses of their own', async ({ api, core }) => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => api.post(`${core}/services`, service(`s${index}`))),
    );
    expect(new Set(replies.map((reply) => specOf(reply).clusterIP)).size).toBe(20);
  });

  test('an address can be asked for, and had by one only', async ({ api, core }) => {
    const free = specOf(await api.post(`${core}/services`, service('free'))).clusterIP as string;
    await api.delete(`${core}/services/free`);
    const first = await api.post(`${core}/services`, service('a', { clusterIP: free }));
    expect(specOf(first).clusterIP).toBe(free);
    const second = await api.post(`${core}/services`, service('b', { clusterIP: free }));
    expect(second.code).toBe(422);
    expect(causeFields(second)).toEqual(['spec.clusterIPs']);
    expect(String(second.body.message)).toContain(
      `failed to allocate IP ${free}: provided IP is already allocated`,
    );
  });

  test('an address outside the range is refused', async ({ api, core }) => {
    const reply = await api.post(`${core}/services`, service('a', { clusterIP: '203.0.113.1' }));
    expect(reply.code).toBe(422);
    expect(String(reply.body.message)).toContain('the provided network does not match the current range');
  });

  test('an address cannot be changed', async ({ api, core }) => {
    await api.post(`${core}/services`, service('a'));
    const reply = await api.patch(`${core}/services/a`, 'merge', { spec: { clusterIP: '203.0.113.1' } });
    expect(reply.code).toBe(422);
    expect(String(reply.body.message)).toContain(
      'spec.clusterIPs[0]: Invalid value: ["203.0.113.1"]: may not change once set',
    );
  });

  test('a replacement that leaves the address out keeps it', async ({ api, core }) => {
    const old = await api.post(`${core}/services`, service('a'));
    const reply = await api.put(`${core}/services/a`, service('a', { ports: [{ port: 81 }] }));
    expect(specOf(reply).clusterIP).toBe(specOf(old).clusterIP);
    expect(specOf(reply).ports).toEqual([{ port: 81, protocol: 'TCP', targetPort: 81 }]);
  });

  test('without an address ("None") are headless and may have no ports', async ({ api, core }) => {
    const reply = await api.post(`${core}/services`, {
      metadata: { name: 'a' },
      spec: { clusterIP: 'None', selector: { app: 'a' } },
    });
    expect(reply.code).toBe(201);
    expect(specOf(reply)).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'] });
    expect(specOf(reply).ports).toBeUndefined();
  });

  test('headless and without a selector are of both families', async ({ api, core }) => {
    const reply = await api.post(`${core}/services`, {
      metadata: { name: 'a' },
      spec: { clusterIP: 'None' },
    });
    expect(specOf(reply)).toMatchObject({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' });
  });

  test('of type ExternalName have no address', async ({ api, core }) => {
    const reply = await api.post(`${core}/services`, {
      metadata: { name: 'a' },
      spec: { type: 'ExternalName', externalName: 'example.com' },
    });
    expect(specOf(reply)).toEqual({
      type: 'ExternalName',
      externalName: 'example.com',
      sessionAffinity: 'None',
    });
  });

  test('that become ExternalName lose their address, and get one when they come back', async ({
    api,
    core,
  }) => {
    await api.post(`${core}/services`, service('a'));
    const away = await api.patch(`${core}/services/a`, 'merge', {
      spec: { type: 'ExternalName', externalName: 'example.com' },
    });
    expect(specOf(away).clusterIP).toBeUndefined();
    const back = await api.patch(`${core}/services/a`, 'merge', {
      spec: { type: 'ClusterIP', externalName: null },
    });
    expect(specOf(back).clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
  });

  test('of type NodePort get a port of every node', async ({ api, core }) => {
    const reply = await api.post(`${core}/services`, service('a', { type: 'NodePort' }));
    const [port] = specOf(reply).ports as JsonObject[];
    expect(port?.nodePort).toBeGreaterThanOrEqual(30_000);
    expect(port?.nodePort).toBeLessThanOrEqual(32_767);
    expect(specOf(reply).externalTrafficPolicy).toBe('Cluster');
  });

  test.for([
    ['no port', { ports: [] }, ['spec.ports']],
    [
      'two ports without names',
      { ports: [{ port: 1 }, { port: 2 }] },
      ['spec.ports[0].name', 'spec.ports[1].name'],
    ],
    [
      'a name twice',
      {
        ports: [
          { name: 'x', port: 1 },
          { name: 'x', port: 2 },
        ],
      },
      ['spec.ports[1].name'],
    ],
    [
      'a port twice',
      {
        ports: [
          { name: 'x', port: 1 },
          { name: 'y', port: 1 },
        ],
      },
      ['spec.ports[1]'],
    ],
    ['a name that is no label', { ports: [{ name: 'X_', port: 1 }] }, ['spec.ports[0].name']],
    ['port 0', { ports: [{ port: 0 }] }, ['spec.ports[0].port', 'spec.ports[0].targetPort']],
    ['port 65536', { ports: [{ port: 65_536, targetPort: 1 }] }, ['spec.ports[0].port']],
    ['an unknown protocol', { ports: [{ port: 1, protocol: 'ICMP' }] }, ['spec.ports[0].protocol']],
    ['an unknown type', { type: 'Magic' }, ['spec.type']],
    ['a selector that is none', { selector: { 'a b': 'c' } }, ['spec.selector']],
  ] as const)('with %s are refused', async ([, spec, fields], { api, core }) => {
    const reply = await api.post(`${core}/services`, service('a', spec as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual([...fields]);
  });

  test('one port of each protocol may have the same number', async ({ api, core }) => {
    const ports = [
      { name: 'tcp', port: 53, protocol: 'TCP' },
      { name: 'udp', port: 53, protocol: 'UDP' },
    ];
    expect((await api.post(`${core}/services`, service('a', { ports }))).code).toBe(201);
  });

  test('names are DNS labels', async ({ api, core }) => {
    expect((await api.post(`${core}/services`, service('with.dot'))).code).toBe(422);
    expect((await api.post(`${core}/services`, service('1-starts-with-digit'))).code).toBe(201);
  });

  test('only one of type LoadBalancer may have an ingress', async ({ api, core }) => {
    await api.post(`${core}/services`, service('a'));
    const status = { status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } } };
    expect((await api.patch(`${core}/services/a/status`, 'merge', status)).code).toBe(422);
    await api.post(`${core}/services`, service('b', { type: 'LoadBalancer' }));
    const reply = await api.patch(`${core}/services/b/status`, 'merge', status);
    expect(reply.body.status).toMatchObject(status.status);
  });
});
