/**
 * The whole way with a real ACME server: three replicas, HTTP-01 answered by each of them in turn, DNS-01 by
 * a webhook.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { secrets } from '../../../src/features/certificates/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import { until } from '../../until.ts';
import { httpRoutes, ingresses, installHttpRoutes, routesLeft, startRouter } from './challenge-router.ts';
import { type Pebble, startPebble } from './pebble.ts';
import { Stage } from './stage.ts';

let stage: Stage;
let pebble: Pebble;
const { signal } = new AbortController();
const day = 86_400_000;

beforeAll(async () => {
  [stage, pebble] = await Promise.all([Stage.start(), startPebble({ nonceReject: 15, sleepSeconds: 1 })]);
  pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
  await stage.acmeIssuer('pebble', pebble, { domains: ['**.example.com'] });
});
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
});

const orders = () => pebble.counts.get('newOrder') ?? 0;

test('a Domain gets a certificate by HTTP-01 which a TLS server serves and a client trusts', async () => {
  await stage.domain('app', { host: 'App.Example.com.' });
  const held = await stage.held('app.example.com');
  expect(held.object).toMatchObject({
    type: 'kubernetes.io/tls',
    metadata: {
      labels: { 'orrery.dev/domain': 'app.example.com' },
      annotations: { 'orrery.dev/host': 'app.example.com' },
    },
  });
  expect(orders()).toBe(1);
  const status = await stage.untilState('app', 'valid');
  expect(status).toMatchObject({ failures: 0, observedGeneration: 1 });
  expect(status.conditions).toMatchObject([
    { type: 'Ready', status: 'True' },
    { type: 'Issuing', status: 'False' },
  ]);
  expect(Date.parse(status.notAfter ?? '')).toBe(held.notAfter);
  expect(await stage.reasons('Domain', 'app')).toContain('CertificateIssued');
  await served(held.chain, held.key, await pebble.manage('/roots/0'));
});

async function served(cert: string, key: string, ca: string): Promise<void> {
  const server = createTlsServer({ cert, key }, (socket) => socket.end('hello'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  try {
    const said = await new Promise<string>((done, fail) => {
      const socket = connect({ port, host: '127.0.0.1', servername: 'app.example.com', ca });
      socket.once('error', fail);
      socket.once('data', (data) => done(data.toString()));
    });
    expect(said).toBe('hello');
  } finally {
    server.close();
  }
}

test('nothing waits beside the Secret once the certificate is stored', async () => {
  const names = (await stage.cluster.kube.list(secrets, { namespace: 'shop' }, signal)).items.map(
    ({ metadata }) => metadata.name,
  );
  expect(names).toContain('pebble-account');
  expect(names.filter((name) => name.endsWith('-next'))).toEqual([]);
});

test('a Service with the annotation gets one for each host with port 443; a list that cannot be read changes nothing and is told', async () => {
  const annotations = { 'orrery.dev/serve': 'svc.example.com:443,svc.example.com:80,plain.example.com:80' };
  const spec = { ports: [{ port: 443 }] };
  await stage.make(services, { metadata: { name: 'web', namespace: 'shop', annotations }, spec });
  await stage.held('svc.example.com');
  expect(await stage.secret('plain.example.com')).toBeNull();
  const broken = { metadata: { annotations: { 'orrery.dev/serve': 'svc.example.com:443,what is this' } } };
  await stage.cluster.kube.patch(
    services,
    { namespace: 'shop', name: 'web', type: 'merge', body: broken },
    signal,
  );
  await until(async () => (await stage.reasons('Service', 'web')).includes('InvalidServe'), {
    what: 'the Warning',
  });
  await until(async () => (await stateOf('domain/_/svc.example.com')) === 'valid', {
    what: 'it to be valid still',
  });
});

/** By its last transition. */
async function stateOf(id: string): Promise<string | undefined> {
  return (await stage.story()).filter((one) => one.id === id).at(-1)?.to;
}

test('deleted or broken, the Secret is mended at once', async () => {
  const before = await stage.held('svc.example.com');
  await stage.cluster.kube.delete(secrets, 'shop', 'svc.example.com', {}, signal);
  const again = await stage.held('svc.example.com', { not: before.fingerprint });
  const body = { data: { 'tls.key': Buffer.from('no key').toString('base64') } };
  await stage.cluster.kube.patch(
    secrets,
    { namespace: 'shop', name: 'svc.example.com', type: 'merge', body },
    signal,
  );
  await stage.held('svc.example.com', { not: again.fingerprint });
});

test('a renewal that the authority suggests is made, says what it replaces, and the old one stays until then', async () => {
  await stage.domain('ari', { host: 'ari.example.com' });
  const first = await stage.held('ari.example.com');
  await stage.untilState('ari', 'valid');
  const start = systemClock.now() - 2 * day;
  await pebble.suggestRenewal(first.chain, { start, end: start + day });
  await send('domain/_/ari.example.com', 'domain.recheck');
  const second = await stage.held('ari.example.com', { not: first.fingerprint });
  expect(second.notAfter).toBeGreaterThanOrEqual(first.notAfter);
  const story = (await stage.story()).filter(({ id }) => id === 'domain/_/ari.example.com');
  const asked = story.flatMap(({ effects }) => effects.filter(({ type }) => type === 'acme.order'));
  expect(asked).toHaveLength(2);
  expect(asked[1]?.replaces).toEqual(expect.any(String));
});

test('`domain.renew` has a new certificate made', async () => {
  const first = await stage.held('app.example.com');
  await send('domain/_/app.example.com', 'domain.renew');
  await stage.held('app.example.com', { not: first.fingerprint });
});

async function send(id: string, type: string): Promise<void> {
  const { connectNats } = await import('../../../src/bus/nats/nats.ts');
  const { systemRandom } = await import('../../../src/base/random.ts');
  const options = { name: 'test', cluster: 'dev', clock: systemClock, random: systemRandom };
  const bus = await connectNats({ ...options, servers: [stage.cluster.natsUrl] });
  await bus.append(
    `orrery.dev.send.${id.split('/').map(token).join('.')}`,
    new TextEncoder().encode(JSON.stringify({ type })),
  );
  await bus.close();
}

const token = (word: string) =>
  word === '_'
    ? '_'
    : word.replace(/[^A-Za-z0-9_-]/g, (char) => `=${char.charCodeAt(0).toString(16).toUpperCase()}`);

test('a wildcard is proven over DNS by a webhook, and cleaned up after', async () => {
  const asked: string[] = [];
  const webhook = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', async () => {
      const { action, fqdn, value } = JSON.parse(body) as Record<string, string>;
      asked.push(`${action} ${fqdn}`);
      await pebble.setTxt(`${fqdn}.`, action === 'present' ? (value ?? '') : null);
      response.end();
    });
  });
  await new Promise<void>((done) => webhook.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/dns`;
  try {
    const dns01 = { challenge: { dns01: { webhook: url } } };
    await stage.acmeIssuer('dns', pebble, { domains: ['*.wild.example.net'] }, dns01);
    await stage.domain('wild', { host: '*.wild.example.net', secretName: 'wild' });
    const held = await stage.held('wild');
    expect(held.object.metadata.annotations).toMatchObject({ 'orrery.dev/host': '*.wild.example.net' });
    await until(() => asked.length >= 2, { what: 'the webhook to be told to clean up' });
    expect(asked).toEqual([
      'present _acme-challenge.wild.example.net',
      'cleanup _acme-challenge.wild.example.net',
    ]);
  } finally {
    webhook.close();
  }
});

test('an Issuer leads the challenges of its hosts here by an Ingress, or by an HTTPRoute, and nothing of them stays', async () => {
  const { kube, replicas } = stage.cluster;
  await installHttpRoutes(kube);
  const router = await startRouter(kube, () => replicas.map(({ acmeUrl }) => acmeUrl));
  const before = pebble.answerers;
  pebble.answerers = [router.url];
  try {
    const parentRefs = [{ name: 'edge', namespace: 'infra' }];
    const made = await Promise.all([
      stage.acmeIssuer(
        'by-ingress',
        pebble,
        { domains: ['*.ingress.example.net'] },
        {
          challenge: { http01: { ingress: { className: 'nginx' } } },
        },
      ),
      stage.acmeIssuer(
        'by-route',
        pebble,
        { domains: ['*.route.example.net'] },
        {
          challenge: { http01: { gateway: { parentRefs } } },
        },
      ),
    ]);
    expect(made).toHaveLength(2);
    await stage.domain('routed-a', { host: 'a.ingress.example.net' });
    await stage.domain('routed-b', { host: 'b.route.example.net' });
    const ingress = await until(async () => (await listed(ingresses))[0], { what: 'the Ingress' });
    expect(ingress).toMatchObject({
      metadata: {
        namespace: 'shop',
        name: 'acme-a.ingress.example.net',
        labels: { 'orrery.dev/challenge': 'a.ingress.example.net' },
        ownerReferences: [{ kind: 'Issuer', name: 'by-ingress' }],
      },
      spec: { ingressClassName: 'nginx', rules: [{ host: 'a.ingress.example.net' }] },
    });
    const route = await until(async () => (await listed(httpRoutes))[0], { what: 'the HTTPRoute' });
    expect(route).toMatchObject({ spec: { parentRefs, hostnames: ['b.route.example.net'] } });
    await stage.held('a.ingress.example.net');
    await stage.held('b.route.example.net');
    expect([...new Set(router.led)].sort()).toEqual([
      'HTTPRoute shop/orrery:8089',
      'Ingress shop/orrery:8089',
    ]);
    await until(async () => (await routesLeft(kube, 'shop')).length === 0, { what: 'both to be gone' });
  } finally {
    pebble.answerers = before;
    router.stop();
  }
});

async function listed(resource: KubeResource) {
  const options = { namespace: 'shop', labelSelector: 'orrery.dev/challenge' };
  return (await stage.cluster.kube.list(resource, options, signal)).items;
}

test('a wildcard that would have to be proven over HTTP fails for good, and says why', async () => {
  await stage.domain('hopeless', { host: '*.example.com', secretName: 'hopeless', issuer: 'pebble' });
  const status = await stage.untilState('hopeless', 'failed');
  expect(status.lastError).toContain('wildcard');
  expect(await stage.reasons('Domain', 'hopeless')).toContain('CertificateFailed');
});

test('a host that the authority blocks fails for good', async () => {
  await stage.domain('blocked', { host: 'blocked.example.com' });
  expect((await stage.untilState('blocked', 'failed')).lastError).toContain('rejectedIdentifier');
});

test('a Secret of somebody else is never overwritten', async () => {
  const data = {
    'tls.crt': Buffer.from('a').toString('base64'),
    'tls.key': Buffer.from('b').toString('base64'),
  };
  await stage.make(secrets, {
    metadata: { name: 'theirs', namespace: 'shop' },
    type: 'kubernetes.io/tls',
    data,
  });
  await stage.domain('theirs', { host: 'theirs.example.com', secretName: 'theirs' });
  const status = await stage.untilState('theirs', 'failed');
  expect(status.lastError).toContain('not overwritten');
  expect((await stage.cluster.kube.get(secrets, 'shop', 'theirs', signal)).data).toEqual(data);
});

test('a host that no Issuer allows waits, and says so', async () => {
  await stage.domain('nowhere', { host: 'nowhere.example.invalid' });
  const status = await stage.untilState('nowhere', 'waitingForIssuer');
  expect(JSON.stringify(status.conditions)).toContain('no Issuer allows');
});

test('an invalid host is reported on its Domain', async () => {
  await stage.domain('nonsense', { host: 'not_a_host!' });
  await until(async () => (await stage.reasons('Domain', 'nonsense')).includes('InvalidSpec'), {
    what: 'the Warning',
  });
});

test('attempts and ends are metrics', async () => {
  const ends = await stage.metric('orrery_certificate_expiry_timestamp_seconds{');
  const app = await stage.held('app.example.com');
  expect(ends.filter((line) => line.includes('"app.example.com"'))).toEqual([
    `orrery_certificate_expiry_timestamp_seconds{host="app.example.com"} ${app.notAfter / 1000}`,
  ]);
  const attempts = await stage.metric('orrery_certificate_attempts_total{outcome="issued"}');
  expect(attempts.length).toBeGreaterThan(0);
});
