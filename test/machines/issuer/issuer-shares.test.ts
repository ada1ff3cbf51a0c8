/**
 * The issuer chart: whom a limit holds back, and who goes first: docs/features/certificates.md §5.5, §7.3,
 * §7.4.
 */
import { describe, expect, test } from 'vitest';
import type { ActorId } from '../../../src/base/ids.ts';
import type { PermitAsked, PermitReturned } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerFacts } from '../../../src/machines/domain/domain-facts.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const unlimited = { ...issuerFacts, budget: null };

function ready(facts: IssuerFacts = unlimited): Issuer {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts });
  return issuer.take({ type: 'issuer.verified', check: issuer.context.check });
}

const about = (host: string) => ({
  domain: `domain/_/${host}` as ActorId,
  registered: host.split('.').slice(-2).join('.'),
  exempt: false,
});
const ask = (issuer: Issuer, host: string, change: Partial<PermitAsked> = {}) =>
  issuer.take({ type: 'permit.asked', ...about(host), ...change });
const giveBack = (issuer: Issuer, host: string, change: Partial<PermitReturned>) =>
  issuer.take({
    type: 'permit.returned',
    ...about(host),
    outcome: 'issued',
    waitMs: 0,
    again: false,
    ...change,
  });
const limited = (issuer: Issuer, host: string, scope: PermitReturned['scope'], waitMs = minute) =>
  giveBack(issuer, host, { outcome: 'rateLimited', again: true, waitMs, ...(scope ? { scope } : {}) });

const messages = (issuer: Issuer, type: string) =>
  issuer.askedOf('message.send').filter(({ event }) => event.type === type);
const grantedTo = (issuer: Issuer) =>
  messages(issuer, 'permit.granted').flatMap(({ to }) => to.map((id) => id.slice('domain/_/'.length)));

describe('§7.3: a limit holds for its scope', () => {
  test('of a host: only that host waits, and is told until when', () => {
    const issuer = ask(ready(), 'paused.bank.test');
    issuer.asked();
    limited(issuer, 'paused.bank.test', 'host', hour);
    expect(issuer.state).toBe('serving.ready');
    expect(messages(issuer, 'permit.deferred')).toMatchObject([
      { to: ['domain/_/paused.bank.test'], event: { reason: 'rateLimited', until: issuer.now + hour } },
    ]);
    expect(grantedTo(ask(issuer, 'other.bank.test'))).toEqual(['other.bank.test']);
    expect(grantedTo(issuer.wait(hour - 1_000))).toEqual([]);
    expect(grantedTo(issuer.wait(1_000))).toEqual(['paused.bank.test']);
  });

  test('of a registered domain: its hosts wait, others do not', () => {
    const issuer = ask(ready(), 'a.bank.test');
    limited(issuer, 'a.bank.test', 'domain', hour);
    issuer.asked();
    ask(ask(issuer, 'b.bank.test'), 'a.shop.test');
    expect(grantedTo(issuer)).toEqual(['a.shop.test']);
    expect(grantedTo(issuer.wait(hour)).sort()).toEqual(['a.bank.test', 'b.bank.test']);
  });

  test('of an account: everybody waits', () => {
    const issuer = ask(ready(), 'a.bank.test');
    limited(issuer, 'a.bank.test', 'account', hour);
    expect(issuer.state).toBe('suspended.rateLimited');
  });

  test('of unknown scope: first its host, and everybody only when a second host meets it', () => {
    const issuer = ask(ask(ready(), 'a.bank.test'), 'b.shop.test');
    limited(issuer, 'a.bank.test', undefined, hour);
    expect(issuer.state).toBe('serving.ready');
    issuer.wait(minute);
    limited(issuer, 'b.shop.test', 'unknown', hour);
    expect(issuer.state).toBe('suspended.rateLimited');
  });

  test('the wait doubles each time that it is met again, to a day; a certificate clears it', () => {
    const issuer = ask(ready(), 'paused.bank.test');
    const waits: number[] = [];
    for (let round = 0; round < 14; round++) {
      issuer.asked();
      limited(issuer, 'paused.bank.test', 'host', minute);
      const [told] = messages(issuer, 'permit.deferred');
      const { until } = (told?.event ?? { until: 0 }) as unknown as { until: number };
      waits.push(until - issuer.now);
      issuer.wait(until - issuer.now);
    }
    expect(waits.slice(0, 4)).toEqual([minute, 2 * minute, 4 * minute, 8 * minute]);
    expect(waits.at(-1)).toBe(day);
    giveBack(issuer, 'paused.bank.test', { outcome: 'issued' });
    expect(issuer.context.limits).toEqual({});
  });

  test('§7.4: one that is refused again and again is not the one that tries for everybody', () => {
    const issuer = ready();
    for (const host of ['bad.bank.test', 'good.shop.test']) ask(issuer, host);
    limited(issuer, 'bad.bank.test', 'account', minute);
    giveBack(issuer, 'good.shop.test', { outcome: 'unused' });
    ask(issuer, 'next.shop.test');
    issuer.asked();
    issuer.wait(minute);
    // The offender is the first in the queue here, and alone: what it meets a second time is no limit of
    // everybody.
    expect(grantedTo(issuer)).toHaveLength(1);
    limited(issuer, 'bad.bank.test', 'unknown', minute);
    expect(grantedTo(issuer)).toEqual(['next.shop.test']);
    giveBack(issuer, 'next.shop.test', { outcome: 'issued' });
    expect(issuer.state).toBe('serving.ready');
  });
});

describe('§7.4: the authority fails for one host', () => {
  const fails = (issuer: Issuer, host: string) =>
    giveBack(issuer, host, { outcome: 'down', again: true, message: 'ca/cert/1 answered 500' });
  const answers = (issuer: Issuer) => {
    issuer.wait(issuer.patience ?? 0);
    issuer.asked();
    return issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  };

  const onlyBadFails = () => {
    const issuer = ask(fails(ask(ready(), 'bad.bank.test'), 'bad.bank.test'), 'good.shop.test');
    answers(issuer).asked();
    return giveBack(issuer, 'good.shop.test', { outcome: 'issued' });
  };

  test('once, and it is an outage, after which another host tries first', () => {
    const issuer = fails(ask(ready(), 'bad.bank.test', { due: true }), 'bad.bank.test');
    expect(issuer.state).toBe('suspended.down');
    expect(grantedTo(answers(ask(issuer, 'good.shop.test')))).toEqual(['good.shop.test']);
  });

  test('again, after others had their certificates: it waits alone, ever longer, and is told why', () => {
    const issuer = onlyBadFails();
    const pauses: number[] = [];
    for (let round = 0; round < 9; round++) {
      expect(grantedTo(issuer)).toEqual(['bad.bank.test']);
      fails(issuer, 'bad.bank.test');
      expect(issuer.state).toBe('serving.ready');
      const [told] = messages(issuer, 'permit.deferred');
      expect(told?.event).toMatchObject({ reason: 'down', message: 'ca/cert/1 answered 500' });
      const { until } = (told?.event ?? {}) as unknown as { until: number };
      pauses.push((until - issuer.now) / minute);
      issuer.wait(until - issuer.now);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    giveBack(issuer, 'bad.bank.test', { outcome: 'issued' });
    expect(issuer.context.limits).toEqual({});
  });

  test('one that has its own trouble hides no outage of the others', () => {
    const issuer = onlyBadFails();
    fails(ask(issuer, 'next.shop.test'), 'next.shop.test');
    expect(issuer.state).toBe('suspended.down');
  });
});

describe('§5.5: shares', () => {
  test('a namespace with many hosts leaves the others their share', () => {
    const issuer = ready();
    for (let n = 0; n < 200; n++) ask(issuer, `h${n}.bank.test`, { namespace: 'bank' });
    issuer.asked();
    for (let n = 0; n < 5; n++) ask(issuer, `h${n}.shop.test`, { namespace: 'shop' });
    for (let n = 0; n < 5; n++) giveBack(issuer, `h${n}.bank.test`, {});
    expect(grantedTo(issuer).filter((host) => host.endsWith('shop.test'))).toHaveLength(5);
  });

  test.each([false, true])(
    'a budget that allows one order at a time is shared by turns (renewals that are due: %s)',
    (due) => {
      const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 1_000, duplicatesPer7d: 5 };
      const issuer = ready({ ...issuerFacts, budget });
      for (let n = 0; n < 200; n++) ask(issuer, `h${n}.bank.test`, { namespace: 'bank', due });
      for (let n = 0; n < 3; n++) ask(issuer, `h${n}.shop.test`, { namespace: 'shop', due });
      issuer.asked();
      const turns: string[] = [];
      for (let turn = 0; turn < 6; turn++) {
        const [host = ''] = grantedTo(issuer.wait(3 * hour));
        giveBack(issuer, host, {});
        turns.push(host.split('.').slice(1).join('.'));
      }
      expect(turns.filter((one) => one === 'shop.test')).toHaveLength(3);
      expect(turns.slice(0, 2).sort()).toEqual(['bank.test', 'shop.test']);
    },
  );

  test('a full queue whose budget is used up keeps no other namespace out', () => {
    const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 10_000, duplicatesPer7d: 5 };
    const issuer = ready({ ...issuerFacts, budget });
    for (let n = 0; n < 1_010; n++) ask(issuer, `h${n}.bank.test`, { namespace: 'bank' });
    ask(issuer, 'a.shop.test', { namespace: 'shop' });
    expect(issuer.context.queue.some(({ namespace }) => namespace === 'shop')).toBe(true);
    issuer.asked();
    expect(grantedTo(issuer.wait(3 * hour))).toEqual(['a.shop.test']);
  });

  test('renewals that are due go first', () => {
    const issuer = ready();
    for (let n = 0; n < 15; n++) ask(issuer, `h${n}.bank.test`);
    ask(issuer, 'old.shop.test', { due: true });
    issuer.asked();
    giveBack(issuer, 'h0.bank.test', {});
    expect(grantedTo(issuer)).toEqual(['old.shop.test']);
  });

  test('a thousand hosts that a budget blocks keep nobody out', () => {
    const budget = { ordersPer3h: 10_000, certificatesPerDomainPer7d: 1, duplicatesPer7d: 5 };
    const issuer = ready({ ...issuerFacts, budget });
    for (let n = 0; n < 1_002; n++) ask(issuer, `h${n}.bank.test`, { namespace: 'bank' });
    giveBack(issuer, 'h0.bank.test', {});
    expect(issuer.context.queue).toHaveLength(1_000);
    issuer.asked();
    expect(grantedTo(ask(issuer, 'a.shop.test', { namespace: 'shop' }))).toEqual(['a.shop.test']);
  });

  test('a full queue gives a place to a namespace that has few, and says so to who loses it', () => {
    const issuer = ready();
    for (let n = 0; n < 1_010; n++) ask(issuer, `h${n}.bank.test`, { namespace: 'bank' });
    issuer.asked();
    ask(issuer, 'a.shop.test', { namespace: 'shop' });
    expect(messages(issuer, 'permit.deferred')).toMatchObject([
      { to: ['domain/_/h1009.bank.test'], event: { reason: 'full' } },
    ]);
    expect(issuer.context.queue.some(({ namespace }) => namespace === 'shop')).toBe(true);
  });
});

test('trying costs no step while its one domain is at work', () => {
  const issuer = ask(ask(ready(), 'a.bank.test'), 'b.shop.test');
  limited(issuer, 'a.bank.test', 'account', minute);
  issuer.wait(minute);
  expect(issuer.state).toBe('serving.trying');
  // b is at work still, and a waits for it.
  expect(issuer.patience).toBeGreaterThan(4 * minute);
});

test('§7.6: an Issuer that cannot be used watches its Secrets, for five minutes, then asks anew', () => {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'ca');
  issuer.take({ type: 'issuer.observed', facts: { ...unlimited, kind: 'ca' } });
  const message = 'the Secret ca/internal does not exist';
  const refused = { outcome: 'refused', message, retryAfterMs: null } as const;
  issuer.take({ type: 'issuer.failed', check: issuer.context.check, ...refused });
  expect(issuer.askedOf('issuer-secrets.watch')).toHaveLength(1);
  ask(issuer, 'a.bank.test');
  expect(messages(issuer, 'permit.deferred')).toMatchObject([{ event: { reason: 'notReady', message } }]);
  issuer.wait(25_000);
  const { check } = issuer.context;
  issuer.take({ type: 'issuer-secrets.unchanged', check });
  expect(issuer.askedOf('issuer-secrets.watch')).toHaveLength(1);
  expect(issuer.patience).toBe(300_000 - 25_000);
  issuer.take({ type: 'issuer-secrets.changed', check });
  expect(issuer.state).toBe('verifying');
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  expect(grantedTo(issuer)).toEqual(['a.bank.test']);
});

describe('an edited Issuer', () => {
  const one = { ...issuerFacts, server: 'https://one' };
  const spent = (scope: 'host' | 'domain') => {
    const issuer = ask(ready(one), 'a.example.com');
    limited(issuer, 'a.example.com', scope, hour);
    giveBack(ask(issuer, 'b.example.org'), 'b.example.org', {});
    grantedTo(issuer);
    return issuer;
  };
  const edited = (issuer: Issuer, server: string) => {
    issuer.take({ type: 'issuer.observed', facts: { ...one, generation: 2, server } });
    return issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  };

  test.each(['host', 'domain'] as const)('§7.5: forgets the limit of a %s', (scope) => {
    expect(grantedTo(edited(spent(scope), one.server))).toEqual(['a.example.com']);
  });

  test('§5.6: begins with full budgets where it names another authority, and there only', () => {
    const spentOf = (issuer: Issuer) => Object.keys(issuer.context.buckets.duplicates);
    expect(spentOf(edited(spent('host'), one.server))).toContain('b.example.org');
    expect(spentOf(edited(spent('host'), 'https://two'))).not.toContain('b.example.org');
  });

  test('§5.6: has spent what it spent when a specification that cannot be understood is mended', () => {
    const spentOf = (issuer: Issuer) => Object.keys(issuer.context.buckets.duplicates);
    const { uid, kind } = one;
    const unreadable = { uid, generation: 2, kind, invalid: 'acme.server: must be a URL', budget: null };
    const mended = (server: string) => {
      const issuer = spent('host').take({ type: 'issuer.observed', facts: unreadable });
      expect(issuer.state).toBe('invalid');
      issuer.take({ type: 'issuer.observed', facts: { ...one, generation: 3, server } });
      return issuer.take({ type: 'issuer.verified', check: issuer.context.check });
    };
    expect(spentOf(mended(one.server))).toContain('b.example.org');
    expect(spentOf(mended('https://two'))).not.toContain('b.example.org');
  });
});

describe('an Issuer whose specification another release reads otherwise', () => {
  const read = (issuer: Issuer, facts: IssuerFacts) => issuer.take({ type: 'issuer.observed', facts });

  test('is no longer invalid where it can be understood, without an edit', () => {
    const issuer = read(ready(), { ...issuerFacts, invalid: 'acme.profile: is unknown' });
    expect(issuer.state).toBe('invalid');
    expect(read(issuer, issuerFacts).state).toBe('verifying');
  });

  test('is served by the new budget, without a check', () => {
    const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 };
    const issuer = ready();
    const { check } = issuer.context;
    read(issuer, { ...issuerFacts, budget });
    expect(issuer.context).toMatchObject({ check, facts: { budget } });
  });
});

test('§9.3: a host that was never refused itself is told which limit it waits for', () => {
  const issuer = ask(ready(), 'a.example.com');
  limited(issuer, 'a.example.com', 'domain', hour);
  const [told] = messages(ask(issuer, 'c.example.com'), 'permit.deferred').slice(-1);
  expect(told?.event).toMatchObject({
    reason: 'rateLimited',
    message: 'its limit for example.com and all hosts under it has been reached',
  });
});

test('§5.8: a host that a budget blocks is told which', () => {
  const budget = { ordersPer3h: 4, certificatesPerDomainPer7d: 2, duplicatesPer7d: 1 };
  const issuer = ready({ ...issuerFacts, budget });
  const issue = (host: string) => giveBack(ask(issuer, host), host, { outcome: 'issued' });
  const told = (host: string) => {
    issuer.asked();
    return messages(ask(issuer, host), 'permit.deferred')[0]?.event.message;
  };
  issue('a.one.test');
  expect(told('a.one.test')).toBe('1 certificate for a.one.test in 7 days (spec.budget.duplicatesPer7d)');
  issue('b.one.test');
  expect(told('c.one.test')).toBe(
    '2 certificates for one.test and all hosts under it in 7 days (spec.budget.certificatesPerDomainPer7d)',
  );
  for (const host of ['a.two.test', 'a.three.test']) issue(host);
  expect(told('a.four.test')).toBe('4 orders in 3 hours (spec.budget.ordersPer3h)');
});

describe('§5.8: a host that only waits for others', () => {
  const busy = () => {
    const issuer = ready();
    for (let n = 0; n < 10; n++) ask(issuer, `h${n}.bank.test`);
    issuer.asked();
    return issuer;
  };
  const told = (issuer: Issuer) => messages(issuer, 'permit.deferred').map(({ event }) => event);

  test('is told so when it asks again; mostly its turn comes before', () => {
    const issuer = busy();
    expect(told(ask(issuer, 'next.bank.test', { times: 1 }))).toEqual([]);
    const message = '10 orders are in progress, as many as it allows';
    expect(told(ask(issuer, 'next.bank.test', { times: 2 }))).toMatchObject([
      { reason: 'busy', until: null, message },
    ]);
  });

  test('of an earlier release is told nothing, because it would not understand', () => {
    const issuer = busy();
    ask(ask(issuer, 'next.bank.test'), 'next.bank.test');
    expect(told(issuer)).toEqual([]);
  });

  test('is told that one tries first, after an outage', () => {
    const issuer = ask(ask(ready(), 'a.bank.test'), 'b.shop.test');
    limited(issuer, 'a.bank.test', 'account', minute);
    issuer.wait(minute);
    issuer.asked();
    const message = 'after a limit, an outage or a refusal of its authority one domain tries first';
    expect(told(ask(issuer, 'c.shop.test', { times: 2 }))).toMatchObject([{ reason: 'busy', message }]);
  });
});
