/**
 * Secrets stay secret (I9): a whole run with account, EAB, CA and certificate keys, of which every message on
 * every subject, every record, every log line, every metric and every API answer is searched for any of them.
 */
import { createPrivateKey } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { KubeWatchEvent } from '../../../src/base/kube-port.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { connectNats } from '../../../src/bus/nats/nats.ts';
import { issuers, secrets } from '../../../src/features/certificates/resources.ts';
import { until } from '../../until.ts';
import { type Pebble, startPebble } from './pebble.ts';
import { base64, Stage } from './stage.ts';

const hmac = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
const { signal } = new AbortController();
let stage: Stage;
let pebble: Pebble;

beforeAll(async () => {
  [stage, pebble] = await Promise.all([Stage.start(), startPebble({ eab: { 'kid-1': hmac } })]);
  pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
});
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
});

test('no key, no account key, no EAB key and no token is on a subject, in a record, a log, a metric or an API answer', async () => {
  const said: string[] = [];
  const needles = new Set<string>([hmac, base64(hmac)]);
  const bus = await connectNats({ ...listener, servers: [stage.cluster.natsUrl] });
  bus.subscribe('>', ({ subject, data, headers }) => {
    said.push(subject, Buffer.from(data).toString('latin1'), JSON.stringify(headers));
  });
  const endWatch = await gatherKeys(needles);
  await runEverything(needles);
  said.push(...(await stored(bus)), ...(await answers()), ...logs());
  endWatch();
  await bus.close();
  const token = /token: *"?([A-Za-z0-9._-]{16,})"?/.exec(readFileSync(stage.cluster.kubeconfig, 'utf8'))?.[1];
  if (token !== undefined) needles.add(token);

  expect(needles.size).toBeGreaterThan(15);
  const everything = said.join('\n');
  // It was listened in earnest: the public parts are there.
  expect(everything).toContain('app.example.com');
  expect(everything).toContain('certificate.stored');
  expect(everything.length).toBeGreaterThan(100_000);
  expect([...needles].filter((needle) => everything.includes(needle))).toEqual([]);
});

const listener = { name: 'listener', cluster: 'dev', clock: systemClock, random: systemRandom } as const;

/** Collects the private keys of every Secret that there ever is. */
async function gatherKeys(needles: Set<string>): Promise<() => void> {
  const watching = new AbortController();
  const { resourceVersion } = await stage.cluster.kube.list(secrets, {}, signal);
  const take = (event: KubeWatchEvent) => {
    if (event.type !== 'BOOKMARK') for (const needle of keysIn(event.object.data)) needles.add(needle);
  };
  stage.cluster.kube
    .watch(secrets, { resourceVersion, timeoutSeconds: 120 }, take, watching.signal)
    .catch(() => {});
  return () => watching.abort(new Error('enough'));
}

/** Every sort of key is used, and what goes wrong is told. */
async function runEverything(needles: Set<string>): Promise<void> {
  const inShop = (name: string) => ({ name, namespace: 'shop' });
  await stage.make(secrets, { metadata: inShop('eab'), data: { hmac: base64(hmac) } });
  const eab = { keyId: 'kid-1', secretRef: { ...inShop('eab'), key: 'hmac' } };
  await stage.acmeIssuer('bound', pebble, {}, { eab });
  await stage.caIssuer('own-ca', '1h');
  await stage.domain('app', { host: 'app.example.com' });
  await stage.domain('own', { host: 'own.ca.example.org' });
  await stage.domain('blocked', { host: 'blocked.example.com' });
  const broken = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0IHRoYXQgaXMgYnJva2Vu\n-----END PRIVATE KEY-----\n';
  needles.add('c2VjcmV0IHRoYXQgaXMgYnJva2Vu');
  const data = { 'tls.crt': base64(pebble.caBundle), 'tls.key': base64(broken) };
  await stage.make(secrets, { metadata: inShop('broken'), data });
  const ca = { secret: inShop('broken') };
  await stage.make(issuers, { metadata: { name: 'broken' }, spec: { domains: ['broken.example.net'], ca } });
  await stage.domain('broken', { host: 'broken.example.net' });
  await until(async () => JSON.stringify(await stage.issuerStatus('broken'))?.includes('cannot be read'), {
    what: 'the broken CA to be told',
  });
  await stage.held('app.example.com');
  await stage.held('own.ca.example.org');
  await stage.untilState('blocked', 'failed');
  await stage.untilState('app', 'valid');
}

/** All that stands in the streams. */
async function stored(bus: Bus): Promise<string[]> {
  const said: string[] = [];
  for (const stream of ['mail', 'world', 'state', 'event', 'dead'] as const) {
    const following = await bus.follow(stream, {
      subjects: ['orrery.dev.>'],
      from: { kind: 'sequence', sequence: 1 },
      onMessage: ({ subject, data }) => said.push(subject, Buffer.from(data).toString('latin1')),
    });
    await following.caughtUp;
    await following.stop();
  }
  return said;
}

async function answers(): Promise<string[]> {
  const texts: string[] = [];
  for (const { url } of stage.cluster.replicas) {
    for (const path of await paths(url))
      texts.push(await fetch(`${url}${path}`).then((answer) => answer.text()));
  }
  return texts;
}

function logs(): string[] {
  const files = readdirSync(stage.dir).filter((file) => file.endsWith('.log'));
  return files.map((name) => readFileSync(join(stage.dir, name), 'utf8'));
}

async function paths(url: string): Promise<string[]> {
  const { actors } = (await (await fetch(`${url}/api/v1/actors`)).json()) as {
    actors: Array<{ id: string }>;
  };
  return [
    ...['/metrics', '/readyz', '/healthz', '/api/v1/shards', '/api/v1/actors'],
    ...actors.map(({ id }) => `/api/v1/actors/${id.split('/').map(encodeURIComponent).join('/')}`),
  ];
}

/** Every form in which the private keys of a Secret could turn up. */
function keysIn(data: unknown): string[] {
  const pem = Buffer.from(
    (data as Record<string, string> | undefined)?.['tls.key'] ?? '',
    'base64',
  ).toString();
  const lines = pem.split('\n').filter((line) => line.length >= 20 && !line.includes('-----'));
  if (lines.length === 0) return [];
  try {
    const { d } = createPrivateKey(pem).export({ format: 'jwk' });
    const bytes = Buffer.from(d ?? '', 'base64url');
    return [
      ...lines,
      d ?? '',
      bytes.toString('hex'),
      bytes.toString('base64'),
      bytes.toString('latin1'),
    ].filter((one) => one.length >= 20);
  } catch {
    return lines;
  }
}
