/**
 * “Owner killed anywhere in the flow”: three replicas as processes, a real ACME server, a real name server,
 * and SIGKILL for the one that obtains the certificate: while its request to the authority is on the way, or
 * while what it shows for the proof stands in the zone (docs/features/certificates.md §4.4, §4.6).
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sleep, systemClock } from '../../../src/base/clock.ts';
import { secrets } from '../../../src/features/certificates/resources.ts';
import { until } from '../../until.ts';
import { type Bind, hasBind, startBind } from './bind.ts';
import { type Pebble, startPebble } from './pebble.ts';
import { base64, Stage } from './stage.ts';

let stage: Stage;
let pebble: Pebble;
let bind: Bind | undefined;

beforeAll(async () => {
  [stage, pebble, bind] = await Promise.all([
    Stage.start({ restarts: true }),
    startPebble(),
    hasBind ? startBind() : undefined,
  ]);
  pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
  await stage.acmeIssuer('pebble', pebble);
});
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
  await bind?.stop();
});

/**
 * Kills the replica whose request is on its way. It is the domain's owner, unless the domain is just moving
 * to a replica that is back: then the request is that one's, although it has taken no step yet.
 */
async function killOwnerOf(host: string, request: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = request.then(() => {
    isOver = true;
  });
  await until(
    async () => {
      const owner = await stage.ownerOf(`domain/_/${host}`);
      if (isOver) return true;
      if (owner !== undefined) await stage.cluster.kill(owner, 'SIGKILL');
      await Promise.race([over, sleep(systemClock, 2_000)]);
      return isOver;
    },
    { what: 'the end of a request whose sender was killed', timeoutMs: 15_000 },
  );
}

/** A killed replica is back; a test that failed before may have left one that is not. */
const untilAllReady = () =>
  until(async () => (await stage.ready()) === 3, { what: 'all replicas to be there', timeoutMs: 60_000 });

const obtaining = new Set(['newOrder', 'order', 'authorization', 'challenge', 'finalize', 'certificate']);

let tries = 0;
test.each(['newOrder', 'challenge', 'finalize', 'certificate'])(
  'killed while %s is on its way: another goes on within 3 s, there is one order too many at most, one Secret',
  async (kind) => {
    const name = `kill-${kind.toLowerCase()}-${++tries}`;
    const host = `${name}.example.com`;
    const before = pebble.counts.get('newOrder') ?? 0;
    let isDoomed = false;
    let killedAt = 0;
    let nextAt = 0;
    await untilAllReady();
    pebble.interfere = async (request) => {
      // Hosts of earlier tests are asked about at any time.
      if (!obtaining.has(request.kind)) return undefined;
      if (killedAt > 0) {
        if (nextAt === 0) nextAt = systemClock.monotonic();
      } else if (request.kind === kind && !isDoomed) {
        // What comes until it is dead may be of the one that dies.
        isDoomed = true;
        await killOwnerOf(host, request.over);
        killedAt = systemClock.monotonic();
      }
      return undefined;
    };
    await stage.domain(name, { host });
    const held = await stage.held(host, { timeoutMs: 40_000 });
    await stage.untilState(name, 'valid');
    pebble.interfere = () => undefined;
    expect(killedAt).toBeGreaterThan(0);
    expect(nextAt).toBeGreaterThan(killedAt);
    process.stdout.write(`goes on ${Math.round(nextAt - killedAt)} ms after SIGKILL\n`);
    expect((pebble.counts.get('newOrder') ?? 0) - before).toBeLessThanOrEqual(2);
    // Nothing changes it afterwards.
    await untilAllReady();
    expect((await stage.held(host)).fingerprint).toBe(held.fingerprint);
    const { items } = await stage.cluster.kube.list(
      secrets,
      { namespace: 'shop' },
      new AbortController().signal,
    );
    expect(items.map(({ metadata }) => metadata.name)).not.toContain(`${host}-next`);
  },
  180_000,
);

/** Orders that were made for a host: each stands in the feed, once. */
async function ordersOf(host: string): Promise<number> {
  const story = await stage.story();
  return story.filter(({ id, event }) => id === `domain/_/${host}` && event.type === 'order.made').length;
}

async function untilProven(name: string, host: string): Promise<void> {
  await untilAllReady();
  await stage.held(host, { timeoutMs: 40_000 });
  await stage.untilState(name, 'valid');
  expect(await ordersOf(host)).toBe(1);
  const { items } = await stage.cluster.kube.list(
    secrets,
    { namespace: 'shop' },
    new AbortController().signal,
  );
  expect(items.map(({ metadata }) => metadata.name)).not.toContain(`${host}-next`);
}

test.skipIf(!hasBind)(
  'RFC 2136: killed when the authority is told to look',
  async () => {
    if (bind === undefined) throw new Error('there is no name server');
    const zone = bind;
    const host = 'kill.example.test';
    const record = `_acme-challenge.${host}`;
    const secret = Buffer.from(base64(zone.keys['key-hmac-sha256'] ?? ''), 'utf8').toString();
    await stage.make(secrets, { metadata: { name: 'tsig', namespace: 'shop' }, data: { key: secret } });
    const rfc2136 = {
      server: zone.server,
      zone: 'example.test',
      keyName: 'key-hmac-sha256',
      algorithm: 'hmac-sha256',
      secretRef: { name: 'tsig', namespace: 'shop', key: 'key' },
    };
    const challenge = { dns01: { rfc2136 } };
    await stage.acmeIssuer(`by-update-${++tries}`, pebble, { domains: ['**.example.test'] }, { challenge });
    let isKilled = false;
    pebble.interfere = async ({ kind, over }) => {
      if (kind !== 'challenge') return undefined;
      // What the zone says is what the authority's resolver sees.
      const texts = await zone.texts(record);
      expect(texts).toHaveLength(1);
      await pebble.setTxt(`${record}.`, texts[0] ?? '');
      if (isKilled) return undefined;
      isKilled = true;
      await killOwnerOf(host, over);
      return 'hangUp';
    };
    await stage.domain('kill-update', { host });
    await untilProven('kill-update', host);
    expect(isKilled).toBe(true);
    await until(async () => (await zone.texts(record)).length === 0, { what: 'the record to be gone' });
    pebble.interfere = () => undefined;
  },
  180_000,
);

test('a webhook: killed when it has published the record and not answered yet', async () => {
  const host = 'kill.example.net';
  const published = new Set<string>();
  const asked: string[] = [];
  const webhook = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { action, fqdn, value } = JSON.parse(body) as Record<string, string>;
    asked.push(String(action));
    if (action === 'present') published.add(String(value));
    else published.delete(String(value));
    await pebble.setTxt(`${fqdn}.`, action === 'present' ? (value ?? '') : null);
    if (asked.length > 1) response.end();
    else await killOwnerOf(host, once(response, 'close'));
  });
  await new Promise<void>((done) => webhook.listen(0, '127.0.0.1', done));
  try {
    const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/dns`;
    const challenge = { dns01: { webhook: url } };
    await stage.acmeIssuer(`by-webhook-${++tries}`, pebble, { domains: ['**.example.net'] }, { challenge });
    await stage.domain('kill-webhook', { host });
    await untilProven('kill-webhook', host);
    await until(() => published.size === 0, { what: 'the record to be gone' });
    expect(asked.filter((action) => action === 'present')).toHaveLength(2);
  } finally {
    webhook.closeAllConnections();
    webhook.close();
  }
});
