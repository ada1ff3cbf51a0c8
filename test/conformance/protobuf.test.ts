import { describe, expect } from 'vitest';
import { test } from './conformance.ts';

/** One field of a message; everything here is shorter than 128 bytes, and plain ASCII. */
function field(number: number, value: string | number): string {
  if (typeof value === 'number') return String.fromCharCode(number << 3, value);
  return String.fromCharCode((number << 3) | 2, value.length) + value;
}

/** An object as Kubernetes wraps it. */
function wrapped(apiVersion: string, kind: string, message: string): string {
  const typeMeta = field(1, apiVersion) + field(2, kind);
  return `k8s\0${field(1, typeMeta)}${field(2, message)}${field(3, '')}${field(4, '')}`;
}

const type = 'application/vnd.kubernetes.protobuf';

describe('a body in protobuf', () => {
  test('is an object like any other', async ({ api, core }) => {
    const entry = field(1, 'key') + field(2, 'value');
    const message = field(1, field(1, 'a')) + field(2, entry) + field(4, 0);
    const reply = await api.post(`${core}/configmaps`, wrapped('v1', 'ConfigMap', message), { type });
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { key: 'value' },
      immutable: false,
    });
  });

  test('may hold numbers, numbers or texts, and nested lists', async ({ api, core }) => {
    const targetPort = field(1, 1) + field(3, 'http');
    const port = field(1, 'web') + field(2, 'TCP') + field(3, 80) + field(4, targetPort) + field(5, 0);
    const selector = field(1, 'app') + field(2, 'a');
    const spec = field(1, port) + field(2, selector) + field(13, 1);
    const message = field(1, field(1, 's')) + field(2, spec);
    const reply = await api.post(`${core}/services`, wrapped('v1', 'Service', message), { type });
    expect(reply.body).toMatchObject({
      spec: {
        ports: [{ name: 'web', port: 80, protocol: 'TCP', targetPort: 'http' }],
        selector: { app: 'a' },
        publishNotReadyAddresses: true,
        type: 'ClusterIP',
      },
    });
  });

  test('may be the options of a deletion', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, { metadata: { name: 'a' } });
    const preconditions = field(2, field(1, 'another-uid'));
    const refused = await api.call(
      'DELETE',
      `${core}/configmaps/a`,
      wrapped('v1', 'DeleteOptions', preconditions),
      { type },
    );
    expect(refused.code).toBe(409);
    const done = await api.call('DELETE', `${core}/configmaps/a`, wrapped('v1', 'DeleteOptions', ''), {
      type,
    });
    expect(done.code).toBe(200);
  });

  test.for([
    ['something else', 'hello'],
    ['cut short', wrapped('v1', 'ConfigMap', field(1, field(1, 'a'))).slice(0, 24)],
  ] as const)('is refused with 400 if it is %s', async ([, body], { api, core }) => {
    expect((await api.post(`${core}/configmaps`, body, { type })).code).toBe(400);
  });
});
