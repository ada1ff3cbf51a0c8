import { describe, expect } from 'vitest';
import { test } from './conformance.ts';

describe('who may ask', () => {
  test('a request with a wrong token is answered 401 with a Status', async ({ api }) => {
    const reply = await api.get('/api/v1/namespaces', { token: 'wrong' });
    expect(reply.code).toBe(401);
    expect(reply.body).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'Unauthorized',
      message: 'Unauthorized',
      code: 401,
    });
  });

  test('a request without a token learns nothing', async ({ api }) => {
    const reply = await api.get('/api/v1/namespaces', { token: null });
    expect([401, 403]).toContain(reply.code);
    expect(reply.body.items).toBeUndefined();
  });

  test.for(['/healthz', '/livez', '/readyz'])('%s answers ok to anybody', async (path, { api }) => {
    const reply = await api.get(path, { token: null });
    expect(reply.code).toBe(200);
    expect(reply.text).toBe('ok');
  });

  test('/version tells the release to anybody', async ({ api }) => {
    const reply = await api.get('/version', { token: null });
    expect(reply.code).toBe(200);
    expect(reply.body.major).toBe('1');
    expect(String(reply.body.gitVersion)).toMatch(/^v1\.\d+\.\d+/);
  });
});

describe('what is spoken', () => {
  test('a client that takes no JSON is answered 406', async ({ api }) => {
    const reply = await api.get('/api/v1/namespaces', { accept: 'text/html' });
    expect(reply.code).toBe(406);
    expect(reply.body).toMatchObject({ reason: 'NotAcceptable', code: 406 });
    expect(String(reply.body.message)).toContain('application/json');
  });

  test('a client that also takes JSON gets JSON', async ({ api }) => {
    const reply = await api.get('/api/v1/namespaces/default', { accept: 'application/json;q=0.5,text/html' });
    expect(reply.code).toBe(200);
  });

  test('a body in an unknown media type is refused with 415', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, 'a: b', { type: 'text/plain' });
    expect(reply.code).toBe(415);
    expect(reply.body).toMatchObject({ reason: 'UnsupportedMediaType' });
    expect(String(reply.body.message)).toMatch(
      /^the body of the request was in an unknown format - accepted media types include: application\/json/,
    );
  });

  test('a body that is no JSON is refused with 400', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, '{"metadata":{"name":"a"}');
    expect(reply.code).toBe(400);
    expect(reply.body.reason).toBe('BadRequest');
    expect(String(reply.body.message)).toContain(
      'the object provided is unrecognized (must be of type ConfigMap)',
    );
  });

  test('a YAML body is understood', async ({ api, core }) => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: b}\n';
    const reply = await api.post(`${core}/configmaps`, text, { type: 'application/yaml' });
    expect(reply.code).toBe(201);
    expect(reply.body.data).toEqual({ a: 'b' });
  });
});
