/** Limits and outages of a real ACME server, made by a proxy in front of it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
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
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
});

test('§7.3: a limit of the account: the whole Issuer waits for that time, then one domain tries first', async () => {
  const seen: number[] = [];
  const until4s = systemClock.monotonic() + 4_000;
  pebble.interfere = ({ kind }) => {
    if (kind !== 'newOrder') return undefined;
    seen.push(systemClock.monotonic());
    const isLimited = seen.length === 1 || systemClock.monotonic() < until4s - 500;
    const detail = 'too many new orders (300) from this account in the last 3h0m0s';
    const body = { type: 'urn:ietf:params:acme:error:rateLimited', detail };
    return isLimited ? { status: 429, headers: { 'Retry-After': '4' }, body } : undefined;
  };
  await stage.domain('limited', { host: 'limited.example.com' });
  const status = await stage.untilState('limited', 'rateLimited');
  expect(status.lastError).toContain('rateLimited');
  expect(status.failures).toBe(0);
  await until(async () => (await stage.issuerStatus('pebble'))?.rateLimitedUntil !== undefined, {
    what: 'the limit in the status of the Issuer',
  });
  await stage.domain('waits', { host: 'waits.example.com' });
  await stage.held('limited.example.com');
  await stage.held('waits.example.com');
  pebble.interfere = () => undefined;
  expect((seen[1] ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(4_000);
  expect(await stage.reasons('Domain', 'limited')).toContain('RateLimited');
});

test('§7.3: a limit of one host: others are served meanwhile', async () => {
  let refused = 0;
  pebble.interfere = ({ kind }) => {
    if (kind !== 'newOrder' || refused > 0) return undefined;
    refused += 1;
    const detail =
      'Your account is temporarily prevented from requesting certificates for paused.example.com';
    const body = { type: 'urn:ietf:params:acme:error:rateLimited', detail };
    return { status: 429, headers: { 'Retry-After': '3600' }, body };
  };
  await stage.domain('paused', { host: 'paused.example.com' });
  const status = await stage.untilState('paused', 'rateLimited');
  expect(Date.parse(status.nextAttempt ?? '')).toBeGreaterThan(systemClock.now() + 3_500_000);
  await stage.domain('other', { host: 'other.example.com' });
  await stage.held('other.example.com');
  expect((await stage.issuerStatus('pebble'))?.rateLimitedUntil).toBeUndefined();
  pebble.interfere = () => undefined;
});

test('an authority that is away: the Issuer says since when and looks by itself; nothing counts, and all is made up for', async () => {
  pebble.interfere = () => 'hangUp';
  await stage.domain('outage', { host: 'outage.example.com' });
  await stage.untilState('outage', 'issuerDown');
  const issuer = await until(
    async () => {
      const status = await stage.issuerStatus('pebble');
      return typeof status?.outageSince === 'string' ? status : undefined;
    },
    { what: 'the outage in the status of the Issuer' },
  );
  expect(issuer.conditions).toMatchObject([{ type: 'Ready', status: 'False', reason: 'AuthorityDown' }]);
  pebble.interfere = () => undefined;
  await stage.held('outage.example.com', { timeoutMs: 40_000 });
  expect((await stage.untilState('outage', 'valid')).failures).toBe(0);
  const after = await stage.issuerStatus('pebble');
  expect(after?.outageSince).toBeUndefined();
});

test('a refusal counts, is told, and leaves the next attempt to its time', async () => {
  pebble.interfere = ({ kind }) =>
    kind === 'newOrder'
      ? { status: 403, body: { type: 'urn:ietf:params:acme:error:unauthorized', detail: 'not you' } }
      : undefined;
  await stage.domain('refused', { host: 'refused.example.com' });
  const status = await stage.untilState('refused', 'backingOff');
  pebble.interfere = () => undefined;
  expect(status).toMatchObject({ failures: 1 });
  expect(status.lastError).toContain('not you');
  const waitMs = Date.parse(status.nextAttempt ?? '') - systemClock.now();
  expect(waitMs).toBeGreaterThan(45_000);
  expect(waitMs).toBeLessThan(66_500);
  expect(await stage.reasons('Domain', 'refused')).toContain('CertificateFailed');
});

test('an authority that we cannot trust, for its certificate is signed by nobody we know', async () => {
  await stage.acmeIssuer(
    'untrusted',
    pebble,
    { domains: ['untrusted.example.net'] },
    { caBundle: undefined },
  );
  const status = await until(
    async () => {
      const seen = await stage.issuerStatus('untrusted');
      return seen?.outageSince === undefined ? undefined : seen;
    },
    { what: 'the Issuer to tell' },
  );
  expect(JSON.stringify(status.conditions)).toMatch(/certificate/);
});
