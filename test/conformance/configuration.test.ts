import { describe, expect } from 'vitest';
import { causeFields, configMap, test } from './conformance.ts';

describe('Secrets', () => {
  test('take text and keep it in base64', async ({ api, core }) => {
    const reply = await api.post(`${core}/secrets`, {
      metadata: { name: 'a' },
      stringData: { plain: 'text' },
      data: { coded: 'Y29kZWQ=' },
    });
    expect(reply.body).toMatchObject({ type: 'Opaque', data: { plain: 'dGV4dA==', coded: 'Y29kZWQ=' } });
    expect(reply.body.stringData).toBeUndefined();
  });

  test('refuse what is no base64 with 400', async ({ api, core }) => {
    const reply = await api.post(`${core}/secrets`, { metadata: { name: 'a' }, data: { k: '!' } });
    expect(reply.code).toBe(400);
    expect(String(reply.body.message)).toContain('illegal base64 data at input byte 0');
  });

  test('of type kubernetes.io/tls need certificate and key', async ({ api, core }) => {
    const reply = await api.post(`${core}/secrets`, { metadata: { name: 'a' }, type: 'kubernetes.io/tls' });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['data[tls.crt]', 'data[tls.key]']);
    const data = { 'tls.crt': 'eA==', 'tls.key': 'eA==' };
    const whole = await api.post(`${core}/secrets`, {
      metadata: { name: 'a' },
      type: 'kubernetes.io/tls',
      data,
    });
    expect(whole.code).toBe(201);
  });

  test('keep their type for ever', async ({ api, core }) => {
    await api.post(`${core}/secrets`, { metadata: { name: 'a' } });
    const reply = await api.patch(`${core}/secrets/a`, 'merge', { type: 'example.com/other' });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['type']);
  });
});

describe('ConfigMaps', () => {
  test('that are immutable do not change and stay so', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, { ...configMap('a', {}, { k: 'v' }), immutable: true });
    const data = await api.patch(`${core}/configmaps/a`, 'merge', { data: { k: 'w' } });
    expect(causeFields(data)).toEqual(['data']);
    const flag = await api.patch(`${core}/configmaps/a`, 'merge', { immutable: false });
    expect(causeFields(flag)).toEqual(['immutable']);
    const label = await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { labels: { l: 'v' } } });
    expect(label.code).toBe(200);
  });

  test('refuse keys that are no file names', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, configMap('a', {}, { 'no spaces': 'v' }));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['data[no spaces]']);
  });

  test('hold a mebibyte and no more', async ({ api, core }) => {
    const reply = await api.post(
      `${core}/configmaps`,
      configMap('a', {}, { k: 'x'.repeat(1024 * 1024 + 1) }),
    );
    expect(reply.code).toBe(422);
    expect(String(reply.body.message)).toContain('Too long: may not be more than 1048576 bytes');
  });

  test('of nothing show no data', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, configMap('a'));
    expect(reply.body.data).toBeUndefined();
  });
});
