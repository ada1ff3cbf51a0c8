/** Calls to authorities through the proxy that the environment names: a real proxy, real TLS. */
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createCertificates } from '../../../packages/kube-api/http/server-certificate.ts';
import { createHttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import { proxyEnvOf, unusableProxies } from '../../../src/features/certificates/acme/proxy-env.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An authority under a certificate of its own, whose answers begin with a byte order mark. */
async function authority() {
  const { ca, cert, key } = createCertificates();
  const place = await listen(
    createTlsServer({ cert, key }, (request, response) => response.end(`\ufeff${request.url}`)),
  );
  return { caBundle: ca, place };
}

/** A proxy that lets nobody through without the password. */
async function proxy(password: string) {
  const asked: string[] = [];
  const server = createServer();
  server.on('connect', ({ url = '', headers }, socket) => {
    asked.push(url);
    const [, given = ''] = (headers['proxy-authorization'] ?? '').split(' ');
    if (Buffer.from(given, 'base64').toString() !== `orrery:${password}`)
      return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const [host = '', port] = url.split(':');
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    through.on('error', () => socket.destroy());
    socket.on('error', () => through.destroy());
  });
  return { asked, place: await listen(server) };
}

const get = (
  { caBundle, place }: { readonly caBundle: string; readonly place: string },
  env: NodeJS.ProcessEnv,
) =>
  createHttpClient(proxyEnvOf(env))(
    { method: 'GET', url: `https://${place}/directory`, caBundle },
    new AbortController().signal,
  );

test('an authority is reached through the proxy, under its own certificate', async () => {
  const [one, between] = [await authority(), await proxy('sesame')];
  const answer = await get(one, { HTTPS_PROXY: `http://orrery:sesame@${between.place}` });
  expect([answer.status, answer.body]).toEqual([200, '/directory']);
  expect(between.asked).toEqual([one.place]);
  // Without a scheme, and in lower case, which comes first.
  const env = { https_proxy: `orrery:sesame@${between.place}`, HTTPS_PROXY: 'http://127.0.0.1:1' };
  expect((await get(one, env)).status).toBe(200);
});

test('NO_PROXY, and an environment without proxies, lead there directly', async () => {
  const [one, between] = [await authority(), await proxy('sesame')];
  expect((await get(one, { HTTPS_PROXY: `http://${between.place}`, NO_PROXY: '127.0.0.1' })).status).toBe(
    200,
  );
  expect((await get(one, {})).status).toBe(200);
  expect(between.asked).toEqual([]);
});

test('a proxy that refuses is told, without its password', async () => {
  const [one, between] = [await authority(), await proxy('sesame')];
  const refusal = get(one, { HTTPS_PROXY: `http://orrery:open@${between.place}` });
  await expect(refusal).rejects.toMatchObject({
    code: 'ACME_UNREACHABLE',
    message: expect.stringMatching(/407 Proxy Authentication Required \(the environment names a proxy: /),
  });
  await expect(refusal).rejects.not.toThrow('orrery:open');
});

test('a proxy that Node.js would leave out silently is found', () => {
  const env = { HTTPS_PROXY: 'socks5://127.0.0.1:1080', HTTP_PROXY: 'proxy:3128' };
  expect(unusableProxies(proxyEnvOf(env) ?? {})).toEqual(['HTTPS_PROXY']);
  expect(proxyEnvOf({ NO_PROXY: '*' })).toBeUndefined();
});
