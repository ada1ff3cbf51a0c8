/** Limits and outages of a real ACME server, made by a proxy in front of it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { until } from '../../until.ts';
import { type Pebble, startPebble } from './pebble.ts';
import { Stage } from './stage.ts';

let stage: Stage;
let pebble: Pebble;

beforeAll(async () => {
  [stage, pebble] = await Promise.all([Stage.start(), startPebble()]);
  pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
  await stage.acmeIssuer('pebble', pebble);
});
afterEach(() => {
  pebble.interfere = () => undefined;
});
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
});

let made = 0;
/** A name of its own for each try: what a failed one left stays as it is. */
const fresh = (word: string) => `${word}-${++made}`;
const hostOf = (name: string) => `${name}.example.com`;

async function domain(word: string): Promise<{ readonly name: string; readonly host: string }> {
  const name = fresh(word);
  const host = hostOf(name);
  await stage.domain(name, { host });
  return { name, host };
}

test('§7.3: a limit of the account: the whole Issuer waits for that time, then one domain tries first', async () => {
  const refusedAt: number[] = [];
  const askedAt: number[] = [];
  /** The limit lasts until it was seen in each status, however slow the machine. */
  let isLimited = true;
  pebble.interfere = ({ kind }) => {
    if (kind !== 'newOrder') return undefined;
    askedAt.push(systemClock.monotonic());
    if (!isLimited) return undefined;
    refusedAt.push(systemClock.monotonic());
    const detail = 'too many new orders (300) from this account in the last 3h0m0s';
    const body = { type: 'urn:ietf:params:acme:error:rateLimited', detail };
    return { status: 429, headers: { 'Retry-After': '4' }, body };
  };
  const limited = await domain('limited');
  const status = await stage.untilState(limited.name, 'rateLimited');
  expect(status.lastError).toContain('rateLimited');
  expect(status.failures).toBe(0);
  await until(async () => (await stage.issuerStatus('pebble'))?.rateLimitedUntil !== undefined, {
    what: 'the limit in the status of the Issuer',
  });
  const waits = await domain('waits');
  isLimited = false;
  await stage.held(limited.host);
  await stage.held(waits.host);
  expect(refusedAt.length).toBeGreaterThan(0);
  for (const [index, at] of refusedAt.entries())
    expect((askedAt[index + 1] ?? 0) - at).toBeGreaterThanOrEqual(4_000);
  expect(await stage.reasons('Domain', limited.name)).toContain('RateLimited');
});

test('§7.3: a limit of one host: others are served meanwhile', async () => {
  let refused = 0;
  pebble.interfere = ({ kind }) => {
    if (kind !== 'newOrder' || refused > 0) return undefined;
    refused += 1;
    // It is the only one that asks.
    const detail = `Your account is temporarily prevented from requesting certificates for ${hostOf(`paused-${made}`)}`;
    const body = { type: 'urn:ietf:params:acme:error:rateLimited', detail };
    return { status: 429, headers: { 'Retry-After': '3600' }, body };
  };
  const paused = await domain('paused');
  const status = await stage.untilState(paused.name, 'rateLimited');
  expect(Date.parse(status.nextAttempt ?? '')).toBeGreaterThan(systemClock.now() + 3_500_000);
  const other = await domain('other');
  await stage.held(other.host);
  expect((await stage.issuerStatus('pebble'))?.rateLimitedUntil).toBeUndefined();
});

test('an authority that is away: the Issuer says since when and looks by itself; nothing counts, and all is made up for', async () => {
  pebble.interfere = () => 'hangUp';
  const outage = await domain('outage');
  await stage.untilState(outage.name, 'issuerDown');
  const issuer = await until(
    async () => {
      const status = await stage.issuerStatus('pebble');
      return typeof status?.outageSince === 'string' ? status : undefined;
    },
    { what: 'the outage in the status of the Issuer' },
  );
  expect(issuer.conditions).toMatchObject([{ type: 'Ready', status: 'False', reason: 'AuthorityDown' }]);
  pebble.interfere = () => undefined;
  await stage.held(outage.host, { timeoutMs: 40_000 });
  expect((await stage.untilState(outage.name, 'valid')).failures).toBe(0);
  const after = await stage.issuerStatus('pebble');
  expect(after?.outageSince).toBeUndefined();
  expect(after?.accountUrl).toMatch(/^https:/);
});

test('a refusal counts, is told, and leaves the next attempt to its time', async () => {
  pebble.interfere = ({ kind }) =>
    kind === 'newOrder'
      ? { status: 403, body: { type: 'urn:ietf:params:acme:error:unauthorized', detail: 'not you' } }
      : undefined;
  const refused = await domain('refused');
  const status = await stage.untilState(refused.name, 'backingOff');
  expect(status).toMatchObject({ failures: 1 });
  expect(status.lastError).toContain('not you');
  const waitMs = Date.parse(status.nextAttempt ?? '') - systemClock.now();
  expect(waitMs).toBeGreaterThan(45_000);
  expect(waitMs).toBeLessThan(66_500);
  expect(await stage.reasons('Domain', refused.name)).toContain('CertificateFailed');
});

test('an authority that we cannot trust, for its certificate is signed by nobody we know', async () => {
  const name = fresh('untrusted');
  await stage.acmeIssuer(name, pebble, { domains: [`${name}.example.net`] }, { caBundle: undefined });
  const status = await until(
    async () => {
      const seen = await stage.issuerStatus(name);
      return seen?.outageSince === undefined ? undefined : seen;
    },
    { what: 'the Issuer to tell' },
  );
  expect(JSON.stringify(status.conditions)).toMatch(/certificate/);
});
