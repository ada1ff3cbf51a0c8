/** The issuer chart: who may order when, budgets, limits and outages. */
import { describe, expect, test } from 'vitest';
import type { ActorId } from '../../../src/base/ids.ts';
import type { PermitReturned } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerFacts } from '../../../src/machines/domain/domain-facts.ts';
import { pruned } from '../../../src/machines/issuer/budget.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { probePauseMs } from '../../../src/machines/issuer/issuer-setup.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;
/** In the words that people read, without the parent states. */
const wordOf = ({ state }: Issuer) => state.split('.').at(-1);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const verified = (issuer: Issuer) => issuer.take({ type: 'issuer.verified', check: issuer.context.check });

function ready(facts: IssuerFacts = issuerFacts): Issuer {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  return verified(issuer.take({ type: 'issuer.observed', facts }));
}

const idOf = (host: string): ActorId => `domain/_/${host}`;
const registeredOf = (host: string) => host.split('.').slice(-2).join('.');

function ask(issuer: Issuer, ...hosts: string[]): Issuer {
  for (const host of hosts) {
    issuer.take({ type: 'permit.asked', domain: idOf(host), registered: registeredOf(host), exempt: false });
  }
  return issuer;
}

function giveBack(
  issuer: Issuer,
  host: string,
  outcome: PermitReturned['outcome'],
  change: Partial<PermitReturned> = {},
) {
  return issuer.take({
    type: 'permit.returned',
    domain: idOf(host),
    registered: registeredOf(host),
    exempt: false,
    outcome,
    waitMs: 0,
    again: false,
    ...change,
  });
}

/** Who got a permit since the last look; what else was asked for is forgotten. */
function grantedTo(issuer: Issuer): string[] {
  return issuer
    .askedOf('message.send')
    .flatMap(({ to, event }) =>
      event.type === 'permit.granted' ? to.map((id) => id.slice('domain/_/'.length)) : [],
    );
}

const names = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `h${from + n}.example.com`);
const unlimited = { ...issuerFacts, budget: null };

describe('permits', () => {
  test('at most ten orders are in work; the others follow in the order in which they asked', () => {
    const issuer = ask(ready(unlimited), ...names(25));
    expect(grantedTo(issuer)).toEqual(names(10));
    giveBack(giveBack(issuer, 'h3.example.com', 'issued'), 'h0.example.com', 'refused');
    expect(grantedTo(issuer)).toEqual(['h10.example.com', 'h11.example.com']);
  });

  test('a CA of one’s own signs, and bears 64', () => {
    expect(grantedTo(ask(ready({ ...unlimited, kind: 'ca' }), ...names(70)))).toEqual(names(64));
  });

  test('a host has one permit, however often it asks', () => {
    const issuer = ask(ready(unlimited), ...names(10), 'late.example.com', 'late.example.com');
    expect(grantedTo(issuer)).toEqual(names(10));
    giveBack(giveBack(issuer, 'h0.example.com', 'issued'), 'h1.example.com', 'issued');
    expect(grantedTo(issuer)).toEqual(['late.example.com']);
  });

  test('one that asks again while it holds its permit is told so once more', () => {
    const issuer = ask(ready(unlimited), 'a.example.com');
    grantedTo(issuer);
    expect(grantedTo(ask(issuer, 'a.example.com'))).toEqual(['a.example.com']);
    expect(Object.keys(issuer.context.inWork)).toEqual(['domain/_/a.example.com']);
  });

  test('a permit that never comes back is free again after 330 s', () => {
    const issuer = ask(ready(unlimited), ...names(11));
    grantedTo(issuer);
    expect(grantedTo(issuer.wait(329_000))).toEqual([]);
    expect(grantedTo(issuer.wait(2_000))).toEqual(['h10.example.com']);
  });

  test('before the Issuer was found to be good nobody gets one, and those who ask are told', () => {
    const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
    issuer.take({ type: 'issuer.observed', facts: issuerFacts });
    issuer.asked();
    const [told] = ask(issuer, 'a.example.com').askedOf('message.send');
    expect(told?.event).toMatchObject({ type: 'permit.deferred', reason: 'notReady' });
    expect(grantedTo(verified(issuer))).toEqual(['a.example.com']);
  });

  test('the queue is bounded; who finds it full is told to ask again', () => {
    const issuer = ask(ready(unlimited), ...names(1_010));
    issuer.asked();
    const [told] = ask(issuer, 'one.too.many').askedOf('message.send');
    expect(told?.event).toMatchObject({ type: 'permit.deferred', reason: 'full' });
    expect(issuer.context.queue).toHaveLength(1_000);
  });
});

describe('budgets', () => {
  const budget = { ordersPer3h: 4, certificatesPerDomainPer7d: 2, duplicatesPer7d: 1 };
  const limited = () => ready({ ...issuerFacts, budget });

  test('orders: a full bucket is spent at once, then it refills evenly', () => {
    const issuer = ask(limited(), 'a.one.test', 'b.two.test', 'c.three.test', 'd.four.test', 'e.five.test');
    expect(grantedTo(issuer)).toHaveLength(4);
    expect(grantedTo(issuer.wait(44 * minute))).toEqual([]);
    expect(grantedTo(issuer.wait(2 * minute))).toEqual(['e.five.test']);
  });

  test('certificates of a registered domain: others are not held up by it', () => {
    const issuer = ask(limited(), 'a.one.test', 'b.one.test', 'c.one.test', 'x.two.test');
    expect(grantedTo(issuer)).toEqual(['a.one.test', 'b.one.test', 'x.two.test']);
    for (const host of ['a.one.test', 'b.one.test', 'x.two.test']) giveBack(issuer, host, 'issued');
    grantedTo(issuer);
    expect(grantedTo(issuer.wait(3 * day))).toEqual([]);
    expect(grantedTo(issuer.wait(day))).toEqual(['c.one.test']);
  });

  test('exact duplicates', () => {
    const issuer = ask(limited(), 'a.one.test');
    giveBack(issuer, 'a.one.test', 'issued');
    grantedTo(issuer);
    expect(grantedTo(ask(issuer, 'a.one.test').wait(6 * day))).toEqual([]);
    expect(grantedTo(issuer.wait(day + minute))).toEqual(['a.one.test']);
  });

  test('who has to wait for one is told until when', () => {
    const issuer = ask(limited(), 'a.one.test');
    giveBack(issuer, 'a.one.test', 'issued');
    issuer.asked();
    const [told] = ask(issuer, 'a.one.test').askedOf('message.send');
    expect(told?.event).toMatchObject({
      type: 'permit.deferred',
      reason: 'budget',
      until: issuer.now + 7 * day,
    });
  });

  test('what was not issued does not count as a certificate; a refused order counts as an order', () => {
    const issuer = ask(limited(), 'a.one.test');
    giveBack(issuer, 'a.one.test', 'refused');
    grantedTo(issuer);
    expect(grantedTo(ask(issuer, 'a.one.test'))).toEqual(['a.one.test']);
    giveBack(issuer, 'a.one.test', 'refused');
    ask(issuer, 'b.two.test', 'c.three.test', 'd.four.test');
    expect(grantedTo(issuer)).toEqual(['b.two.test', 'c.three.test']);
  });

  test('a renewal that the authority suggested is not counted', () => {
    const issuer = limited();
    for (let round = 0; round < 12; round++) {
      issuer.take({ type: 'permit.asked', domain: idOf('a.one.test'), registered: 'one.test', exempt: true });
      expect(grantedTo(issuer)).toEqual(['a.one.test']);
      giveBack(issuer, 'a.one.test', 'issued', { exempt: true });
    }
    expect(grantedTo(ask(issuer, 'a.one.test'))).toEqual(['a.one.test']);
  });

  test('the memory of them is bounded: full buckets are forgotten, and of too many the fullest', () => {
    const buckets = { full: 5, fuller: 1, short: 20, shorter: 30 };
    expect(pruned(buckets, 10, 10)).toEqual({ short: 20, shorter: 30 });
    expect(pruned(buckets, 0, 2)).toEqual({ short: 20, shorter: 30 });
    expect(pruned({ short: 20 }, 10, 10)).toEqual({ short: 20 });
  });
});

describe('limits of the authority', () => {
  test('all wait for that time, then one tries first; when it fared well the others follow', () => {
    const issuer = ask(ready(unlimited), ...names(5));
    grantedTo(issuer);
    for (const host of names(4, 1)) giveBack(issuer, host, 'issued');
    giveBack(issuer, 'h0.example.com', 'rateLimited', { waitMs: hour, again: true, scope: 'account' });
    expect(wordOf(issuer)).toBe('rateLimited');
    ask(issuer, ...names(5, 10));
    expect(grantedTo(issuer.wait(hour - 1))).toEqual([]);
    expect(grantedTo(issuer.wait(1))).toEqual(['h0.example.com']);
    giveBack(issuer, 'h0.example.com', 'issued');
    expect(wordOf(issuer)).toBe('ready');
    expect(grantedTo(issuer)).toEqual(names(5, 10));
  });

  test('the status says until when', () => {
    const issuer = ask(ready(unlimited), 'a.example.com');
    issuer.asked();
    giveBack(issuer, 'a.example.com', 'rateLimited', { waitMs: hour, again: true, scope: 'account' });
    const [report] = issuer.askedOf('issuer.report');
    expect(report?.status).toMatchObject({ rateLimitedUntil: issuer.now + hour });
    expect(report?.status.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'RateLimited' },
    ]);
    issuer.wait(hour);
    expect(issuer.askedOf('issuer.report').at(-1)?.status).toMatchObject({ rateLimitedUntil: null });
  });
});

describe('outages of the authority', () => {
  function down(): Issuer {
    const issuer = ask(ready(unlimited), 'a.example.com', 'b.example.com', 'c.example.com');
    grantedTo(issuer);
    for (const host of ['a.example.com', 'b.example.com', 'c.example.com']) {
      giveBack(issuer, host, 'down', { again: true });
    }
    return issuer;
  }
  const failCheck = (issuer: Issuer) =>
    issuer.take({
      type: 'issuer.failed',
      check: issuer.context.check,
      outcome: 'down',
      message: 'no answer',
      retryAfterMs: null,
    });

  test('the Issuer alone looks: after 10 s, 20 s and so on to 5 min, for as long as it takes', () => {
    const issuer = down();
    const pauses: number[] = [];
    for (let probe = 0; probe < 12; probe++) {
      pauses.push(issuer.patience ?? 0);
      issuer.wait(issuer.patience ?? 0);
      expect(wordOf(issuer)).toBe('probing');
      failCheck(issuer);
    }
    expect(pauses.slice(0, 5).map((ms) => Math.round(ms / 9_500))).toEqual([1, 2, 4, 8, 16]);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(300_000);
    expect(grantedTo(issuer)).toEqual([]);
  });

  test('after any number of failed looks the next comes within 5 min', () => {
    for (const probes of [0, 1, 5, 10, 64, 1_023, Number.MAX_SAFE_INTEGER]) {
      for (const random of [0, 0.5, 0.999]) {
        expect(probePauseMs(probes, random)).toBeLessThanOrEqual(300_000);
        expect(probePauseMs(probes, random)).toBeGreaterThanOrEqual(1_000);
      }
    }
  });

  test('when it answers one domain goes on, and when that fared well the others', () => {
    const issuer = down();
    issuer.wait(issuer.patience ?? 0);
    verified(issuer);
    expect(grantedTo(issuer)).toHaveLength(1);
    giveBack(issuer, 'a.example.com', 'issued');
    expect(grantedTo(issuer)).toHaveLength(2);
    expect(issuer.context).toMatchObject({ outageSince: null, probes: 0 });
  });

  test('an authority that answers and fails every order is left in peace ever longer, and another domain tries each time', () => {
    const issuer = down();
    const tried: string[] = [];
    const pauses: number[] = [];
    for (let round = 0; round < 8; round++) {
      pauses.push(issuer.patience ?? 0);
      issuer.wait(issuer.patience ?? 0);
      verified(issuer);
      const [host = ''] = grantedTo(issuer);
      tried.push(host);
      giveBack(issuer, host, 'down', { again: true });
    }
    expect(new Set(tried.slice(0, 3)).size).toBe(3);
    expect(pauses.at(-1)).toBeGreaterThan(250_000);
  });

  test('since when is in the status, and not any more when it is over', () => {
    const issuer = ask(ready(unlimited), 'a.example.com');
    issuer.asked();
    giveBack(issuer, 'a.example.com', 'down', { again: true });
    const since = issuer.now;
    expect(issuer.askedOf('issuer.report').at(-1)?.status.outageSince).toBe(since);
    issuer.wait(issuer.patience ?? 0);
    verified(issuer);
    expect(issuer.askedOf('issuer.report').at(-1)?.status.outageSince).toBeNull();
  });

  test('a check without a word is an outage', () => {
    const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
    issuer.take({ type: 'issuer.observed', facts: issuerFacts }).wait(60_000);
    expect(['down', 'probing']).toContain(wordOf(issuer));
  });
});

describe('the specification', () => {
  test('that cannot be used is told; another one is tried at once', () => {
    const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
    issuer.take({
      type: 'issuer.observed',
      facts: { ...issuerFacts, invalid: 'acme.server: must be a URL' },
    });
    expect(wordOf(issuer)).toBe('invalid');
    expect(issuer.askedOf('issuer.report').at(-1)?.status.conditions[0]).toMatchObject({
      status: 'False',
      reason: 'InvalidSpec',
      message: 'The spec of Issuer acme is not valid: acme.server: must be a URL.',
    });
    issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, generation: 2 } });
    expect(wordOf(verified(issuer))).toBe('ready');
  });

  test('that the authority refuses is tried again in 5 min: a Secret may have been mended', () => {
    const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
    issuer.take({ type: 'issuer.observed', facts: issuerFacts });
    const refused = { outcome: 'refused', message: 'unauthorized', retryAfterMs: null } as const;
    issuer.take({ type: 'issuer.failed', check: issuer.context.check, ...refused });
    expect(wordOf(issuer)).toBe('refused');
    expect(wordOf(issuer.wait(300_000))).toBe('verifying');
  });

  test('that changes keeps what was spent', () => {
    const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 };
    const issuer = ask(ready({ ...issuerFacts, budget }), 'a.one.test');
    giveBack(issuer, 'a.one.test', 'issued');
    issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, budget, generation: 2 } });
    verified(issuer);
    issuer.asked();
    expect(grantedTo(ask(issuer, 'b.two.test'))).toEqual([]);
  });

  test('that is gone ends the Issuer', () => {
    expect(ready().take({ type: 'issuer.observed', facts: null }).isOver).toBe(true);
  });
});

describe('an Issuer that nobody needs', () => {
  const checks = (issuer: Issuer) => issuer.askedOf('issuer.verify');

  function resting(): Issuer {
    const issuer = ready();
    issuer.asked();
    return issuer.wait(hour);
  }

  test('is checked again each hour, and its status written again', () => {
    const issuer = resting();
    expect(wordOf(issuer)).toBe('ready');
    expect(checks(issuer)).toHaveLength(1);
    expect(verified(issuer).askedOf('issuer.report')).toMatchObject([{ notice: null }]);
    expect(checks(issuer.wait(hour))).toHaveLength(1);
  });

  test('is told as unusable once its CA has expired', () => {
    const issuer = resting();
    issuer.asked();
    const { check } = issuer.context;
    const message = 'its certificate expired';
    issuer.take({ type: 'issuer.failed', check, outcome: 'refused', message, retryAfterMs: null });
    expect(wordOf(issuer)).toBe('refused');
    expect(issuer.askedOf('issuer.report')).toMatchObject([{ notice: { reason: 'NotUsable' } }]);
  });

  test.each(['down', 'rateLimited'] as const)('stays ready if the check found it %s', (outcome) => {
    const issuer = resting();
    const { check } = issuer.context;
    issuer.take({ type: 'issuer.failed', check, outcome, message: 'no answer', retryAfterMs: null });
    expect(wordOf(issuer)).toBe('ready');
  });

  test('goes on giving permits while it is checked', () => {
    const issuer = resting();
    issuer.asked();
    expect(grantedTo(ask(issuer, 'a.example.com'))).toEqual(['a.example.com']);
  });

  test('writes the status of an invalid spec again each hour', () => {
    const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
    issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, invalid: 'no server' } });
    issuer.asked();
    expect(issuer.wait(hour).askedOf('issuer.report')).toHaveLength(1);
    expect(wordOf(issuer)).toBe('invalid');
  });
});
