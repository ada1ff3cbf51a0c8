import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startKubeApi } from '../../packages/kube-api/server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { until } from '../until.ts';
import { memoryCluster, secrets } from './memory-cluster.ts';

describe('the development API server', () => {
  test('listens on 127.0.0.1, and its kubeconfig leads there', async () => {
    await using cluster = await memoryCluster();
    expect(cluster.server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const config = parse(cluster.server.kubeconfig());
    expect(config).toMatchObject({
      kind: 'Config',
      'current-context': 'orrery-dev',
      clusters: [
        {
          cluster: {
            server: cluster.server.url,
            'certificate-authority-data': Buffer.from(cluster.server.ca).toString('base64'),
          },
        },
      ],
      users: [{ user: { token: cluster.server.token } }],
    });
    expect((await cluster.api.get('/api/v1/namespaces')).code).toBe(200);
  });

  test('each server has an authority of its own, which vouches for loopback alone', async () => {
    await using one = await memoryCluster();
    await using two = await memoryCluster();
    const shown = await new Promise<X509Certificate | undefined>((resolve, reject) => {
      const { ca, url } = one.server;
      const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', ca }, () => {
        resolve(socket.getPeerX509Certificate());
        socket.destroy();
      });
      socket.once('error', reject);
    });
    expect(shown?.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(shown?.checkHost('localhost')).toBe('localhost');
    expect(shown?.checkHost('orrery.dev')).toBeUndefined();
    expect(shown?.verify(new X509Certificate(one.server.ca).publicKey)).toBe(true);
    expect(shown?.verify(new X509Certificate(two.server.ca).publicKey)).toBe(false);
  });

  test('takes the token it is given, and makes a new one otherwise', async () => {
    await using given = await memoryCluster({ token: 'known-token' });
    expect(given.server.token).toBe('known-token');
    await using one = await memoryCluster({ random: systemRandom });
    await using two = await memoryCluster({ random: systemRandom });
    expect(one.server.token).not.toBe(two.server.token);
  });

  test('a port that is taken is an error of the start', async () => {
    await using cluster = await memoryCluster();
    const port = Number(new URL(cluster.server.url).port);
    await expect(startKubeApi({ clock: systemClock, random: systemRandom, port })).rejects.toThrow(
      /EADDRINUSE/,
    );
  });

  test('a service network that is none is an error of the start', async () => {
    await expect(memoryCluster({ serviceCidr: 'somewhere' })).rejects.toThrow(/somewhere/);
  });

  test('cluster IPs come from the network it is given', async () => {
    await using cluster = await memoryCluster({ serviceCidr: '127.90.0.0/24' });
    const { body } = await cluster.api.post('/api/v1/namespaces/default/services', {
      metadata: { name: 'a' },
      spec: { ports: [{ port: 80 }] },
    });
    expect(body).toMatchObject({ spec: { clusterIP: expect.stringMatching(/^127\.90\.0\.\d+$/) } });
  });

  test('a network without a free address is told as such', async () => {
    await using cluster = await memoryCluster({ serviceCidr: '127.90.0.0/30' });
    const create = (name: string) =>
      cluster.api.post('/api/v1/namespaces/default/services', {
        metadata: { name },
        spec: { ports: [{ port: 80 }] },
      });
    expect((await create('a')).code).toBe(201);
    const full = await create('b');
    expect(full.code).toBe(422);
    expect(String(full.body.message)).toContain('range is full');
  });

  test('two of them do not know each other', async () => {
    await using one = await memoryCluster();
    await using two = await memoryCluster();
    await one.api.post(secrets, { metadata: { name: 'a' } });
    expect((await two.api.get(`${secrets}/a`)).code).toBe(404);
  });

  test('stopping it ends its watches', async () => {
    const cluster = await memoryCluster();
    const watch = await cluster.api.watch(secrets);
    await cluster.server.stop();
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    cluster.api.close();
  });

  test('a watch in the old form of the path is one', async () => {
    await using cluster = await memoryCluster();
    await cluster.api.post(secrets, { metadata: { name: 'a' } });
    const watch = await cluster.api.watch('/api/v1/watch/namespaces/default/secrets');
    await until(() => watch.events.length > 0, { what: 'an event' });
    expect(watch.events[0]).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
    watch.close();
  });

  test('a path that is no valid text is answered 404, and the server lives', async () => {
    await using cluster = await memoryCluster();
    expect((await cluster.api.get('/api/v1/namespaces/%zz/pods')).code).toBe(404);
    expect((await cluster.api.get('/healthz')).code).toBe(200);
  });

  test('a client that leaves in the middle of its request does no harm', async () => {
    await using cluster = await memoryCluster();
    const { hostname, port } = new URL(cluster.server.url);
    const { ca } = cluster.server;
    for (const length of [10, 1_000_000]) {
      const socket = connect({ port: Number(port), host: hostname, ca });
      const head = `POST ${secrets} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${cluster.server.token}\r\n`;
      await new Promise((resolve) => socket.write(`${head}Content-Length: ${length}\r\n\r\n{"meta`, resolve));
      socket.destroy();
    }
    const watch = await cluster.api.watch(secrets);
    watch.close();
    for (const name of ['a', 'b', 'c'])
      expect((await cluster.api.post(secrets, { metadata: { name } })).code).toBe(201);
  });

  test('fields that are called like parts of JavaScript are data', async () => {
    await using cluster = await memoryCluster();
    const data = '{"metadata":{"name":"a"},"data":{"__proto__":"eA==","constructor":"eA=="}}';
    const reply = await cluster.api.post(secrets, data);
    expect(reply.code).toBe(201);
    expect(JSON.parse(reply.text).data).toEqual(JSON.parse('{"__proto__":"eA==","constructor":"eA=="}'));
    const patched = await cluster.api.patch(`${secrets}/a`, 'merge', '{"data":{"__proto__":null}}');
    expect(JSON.parse(patched.text).data).toEqual({ constructor: 'eA==' });
  });
});
