import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { causeFields, isDevelopmentServer, metaOf, test } from './conformance.ts';

const slice = (name: string, more: JsonObject = {}): JsonObject => ({
  metadata: { name, labels: { 'kubernetes.io/service-name': 'a' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
  ports: [{ name: 'http', port: 80 }],
  ...more,
});

const path = (namespace: string) => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;

describe('EndpointSlices', () => {
  test('keep what they are given, with defaults of their ports', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace), slice('a', { ports: [{ port: 80 }] }));
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
      ports: [{ name: '', protocol: 'TCP', port: 80 }],
    });
  });

  test('what is false is kept, what is not said stays unsaid', async ({ api, namespace }) => {
    const endpoints = [
      { addresses: ['10.1.2.3'], conditions: { ready: false } },
      { addresses: ['10.1.2.4'] },
    ];
    const reply = await api.post(path(namespace), slice('a', { endpoints }));
    expect(reply.body.endpoints).toEqual([
      { addresses: ['10.1.2.3'], conditions: { ready: false } },
      { addresses: ['10.1.2.4'], conditions: {} },
    ]);
  });

  test('without endpoints and ports have null there', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace), { metadata: { name: 'a' }, addressType: 'IPv4' });
    expect(reply.body.endpoints).toBeNull();
    expect(reply.body.ports).toBeNull();
    await api.post(path(namespace), slice('b'));
    const emptied = await api.patch(`${path(namespace)}/b`, 'merge', { endpoints: [] });
    expect(emptied.body.endpoints).toBeNull();
  });

  test('count generations: content and labels, not annotations', async ({ api, namespace }) => {
    const made = await api.post(path(namespace), slice('a'));
    const patch = async (body: JsonObject) =>
      metaOf(await api.patch(`${path(namespace)}/a`, 'merge', body)).generation;
    expect(metaOf(made).generation).toBe(1);
    expect(await patch({ metadata: { annotations: { k: 'v' } } })).toBe(1);
    expect(await patch({ metadata: { labels: { k: 'v' } } })).toBe(2);
    expect(await patch({ endpoints: [{ addresses: ['10.1.2.4'] }] })).toBe(3);
  });

  test('the address type cannot change', async ({ api, namespace }) => {
    await api.post(path(namespace), slice('a'));
    const reply = await api.patch(`${path(namespace)}/a`, 'merge', { addressType: 'FQDN' });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toContain('addressType');
  });

  test.for([
    ['IPv4', '10.0.0.01', 'must not have leading 0s'],
    ['IPv4', 'fd00::1', 'must be an IPv4 address'],
    ['IPv4', 'example.com', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ['IPv4', '0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['IPv4', '169.254.1.1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ['IPv4', '224.0.0.1', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
    ['IPv6', 'FD00::1', 'must be in canonical form ("fd00::1")'],
    ['IPv6', 'fd00:0::1', 'must be in canonical form ("fd00::1")'],
    ['IPv6', '::ffff:1.2.3.4', 'must not be an IPv4-mapped IPv6 address'],
    ['IPv6', '10.0.0.1', 'must be an IPv6 address'],
    ['IPv6', 'fe80::1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ] as const)('of type %s refuse the address %s', async ([addressType, address, why], { api, namespace }) => {
    const reply = await api.post(
      path(namespace),
      slice('a', { addressType, endpoints: [{ addresses: [address] }] }),
    );
    expect(reply.code).toBe(422);
    expect(String(reply.body.message)).toContain(why);
  });

  test('take canonical IPv6 addresses', async ({ api, namespace }) => {
    const endpoints = [{ addresses: ['fd00::1', '2001:db8::ff'] }];
    const reply = await api.post(path(namespace), slice('a', { addressType: 'IPv6', endpoints }));
    expect(reply.code).toBe(201);
  });

  // docs/development-cluster.md: Pods of the development cluster live on 127.x addresses.
  test('refuse loopback addresses, but for the development server', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace), slice('a', { endpoints: [{ addresses: ['127.80.0.1'] }] }));
    expect(reply.code).toBe(isDevelopmentServer ? 201 : 422);
  });

  test.for([
    ['no address type', { addressType: '' }, ['addressType']],
    ['an unknown address type', { addressType: 'IPX' }, ['addressType']],
    ['an endpoint without address', { endpoints: [{ addresses: [] }] }, ['endpoints[0].addresses']],
    [
      'a port name twice',
      {
        ports: [
          { name: 'x', port: 1 },
          { name: 'x', port: 2 },
        ],
      },
      ['ports[1].name'],
    ],
    ['an unknown protocol', { ports: [{ name: 'x', port: 1, protocol: 'ICMP' }] }, ['ports[0].protocol']],
    [
      'a host name that is no label',
      { endpoints: [{ addresses: ['10.0.0.1'], hostname: 'A.b' }] },
      ['endpoints[0].hostname'],
    ],
  ] as const)('with %s are refused', async ([, more, fields], { api, namespace }) => {
    const reply = await api.post(path(namespace), slice('a', more as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual([...fields]);
  });

  test('hold a thousand endpoints and no more', async ({ api, namespace }) => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ addresses: [`10.2.${index >> 8}.${index & 255}`] }));
    const full = await api.post(path(namespace), slice('a', { endpoints: many(1000) }));
    expect(full.code).toBe(201);
    const more = await api.post(path(namespace), slice('b', { endpoints: many(1001) }));
    expect(more.code).toBe(422);
    expect(String(more.body.message)).toContain('endpoints: Too many: 1001: must have at most 1000 items');
  });
});
