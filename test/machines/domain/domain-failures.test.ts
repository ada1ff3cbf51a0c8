/** The domain chart: what every failure leads to, and what a person is told of it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AcquisitionFailed } from '../../../src/machines/domain/domain-events.ts';
import { limitMs, refusedPauseMs } from '../../../src/machines/domain/domain-schedule.ts';
import { domainFacts, target } from '../../features/certificates/certificate-samples.ts';
import {
  authorizing,
  confirmed,
  type Domain,
  day,
  fail,
  finalizing,
  found,
  fresh,
  granted,
  hour,
  minute,
  newDomain,
  observed,
  ordering,
  saidToIssuer,
  storing,
  valid,
  wordOf,
} from './domain-script.ts';

const orders = (domain: Domain) => domain.askedOf('acme.order').length;

describe('failure: refused', () => {
  const steps = { ordering, authorizing: () => authorizing(), finalizing: () => finalizing() };

  test.each(Object.entries(steps))('%s: a minute, then two, then four, and so on to 24 h', (_, reach) => {
    let domain = fail(reach(), 'refused');
    expect(wordOf(domain)).toBe('backingOff');
    for (const minutes of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440]) {
      expect(domain.patience).toBe(minutes * minute);
      domain.wait(minutes * minute);
      domain = fail(found(domain).take(granted), 'refused');
    }
    expect(domain.context.failures).toBe(14);
  });

  test('the permit goes back, people are told, and the number stands in the status', () => {
    const domain = ordering();
    domain.asked();
    fail(domain, 'refused');
    const asked = domain.asked();
    expect(asked.find(({ type }) => type === 'message.send')).toMatchObject({
      event: { type: 'permit.returned', outcome: 'refused', again: false },
    });
    const reports = asked.filter((one) => one.type === 'domain.report');
    expect(reports.map(({ notice }) => notice?.reason)).toContain('CertificateFailed');
    expect(reports.at(-1)?.status).toMatchObject({
      state: 'backingOff',
      failures: 1,
      lastError: 'it was refused',
      nextAttempt: domain.now + minute,
    });
  });

  test('a restart or a look in between does not bring the next attempt forward', () => {
    const domain = fail(ordering(), 'refused').wait(10_000);
    found(domain.take({ type: 'domain.recheck' }));
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.patience).toBe(50_000);
  });

  test('a person may: `domain.renew`', () => {
    const domain = fail(ordering(), 'refused').wait(10_000);
    found(domain.take({ type: 'domain.renew' }));
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test('the wait is between 1 s and 24 h for every number of failures and every chance', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.nat(), fc.constantFrom(0, 1, 63, 64, 1_024, Number.MAX_SAFE_INTEGER)),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, random) => {
          const ms = refusedPauseMs(failures, random);
          expect(ms).toBeGreaterThanOrEqual(1_000);
          expect(ms).toBeLessThanOrEqual(day);
        },
      ),
    );
  });

  test('the wait is moved by at most 10 % either way', () => {
    expect([refusedPauseMs(1, 0), refusedPauseMs(1, 0.999_999)]).toEqual([54_000, 66_000]);
  });
});

describe('failure: rate limited', () => {
  test('the whole Issuer is told how long, and the domain stays in its queue', () => {
    const domain = ordering();
    domain.asked();
    fail(domain, 'rateLimited', { retryAfterMs: 2 * hour });
    expect(wordOf(domain)).toBe('rateLimited');
    const [{ event } = { event: null }] = domain.askedOf('message.send');
    expect(event).toMatchObject({ type: 'permit.returned', outcome: 'rateLimited', again: true });
    expect((event as unknown as { waitMs: number }).waitMs).toBeGreaterThanOrEqual(2 * hour);
    expect((event as unknown as { waitMs: number }).waitMs).toBeLessThanOrEqual(2 * hour * 1.05);
    expect(domain.context.failures).toBe(0);
  });

  test('it goes on when the Issuer says so, with the same order', () => {
    const domain = fail(authorizing(), 'rateLimited', { retryAfterMs: 1_000 });
    domain.asked();
    expect(wordOf(domain.take(granted))).toBe('authorizing');
    expect(domain.askedOf('acme.authorize')).toMatchObject([{ order: { url: 'https://ca/order/1' } }]);
  });

  test.each([
    [0, 1_000],
    [500, 1_000],
    [10 * day, day],
    [Number.POSITIVE_INFINITY, day],
    [Number.NaN, day],
    [-5, 1_000],
  ])('Retry-After of %d ms is kept within 1 s and 24 h', (asked, kept) => {
    expect(limitMs(asked, 0)).toBe(kept);
    expect(limitMs(asked, 0.999)).toBeLessThanOrEqual(day);
  });
});

describe('failure: the authority is away', () => {
  test('it does not count, and the domain goes on when its Issuer has found the authority again', () => {
    const domain = fail(authorizing(), 'down');
    expect(wordOf(domain)).toBe('issuerDown');
    expect(domain.context.failures).toBe(0);
    expect(saidToIssuer(domain)).toContain('returned down again');
    expect(wordOf(domain.take(granted))).toBe('authorizing');
  });

  test.each([
    ['ordering', () => ordering()],
    ['authorizing', () => authorizing()],
    ['finalizing', () => finalizing()],
  ])('%s without a word is the same', (_, reach) => {
    const domain = reach();
    domain.wait(domain.patience ?? 0);
    expect(wordOf(domain)).toBe('issuerDown');
    expect(domain.context.failures).toBe(0);
  });

  test('an order that has run out meanwhile is made anew', () => {
    const domain = fail(authorizing(), 'down').wait(2 * day);
    domain.asked();
    expect(wordOf(domain.take(granted))).toBe('ordering');
  });
});

describe('failure: an order without an end', () => {
  test('§7.4: an order that gets no proper answer three times in a row is given up for another', () => {
    const domain = fail(authorizing(), 'down').take(granted);
    fail(domain, 'down').take(granted);
    expect(wordOf(domain)).toBe('authorizing');
    expect(wordOf(fail(domain, 'down').take(granted))).toBe('ordering');
  });

  test('any other end of a step begins the count anew', () => {
    const domain = fail(authorizing(), 'down').take(granted);
    fail(domain, 'down').take(granted);
    fail(domain, 'rateLimited', { retryAfterMs: 1_000 }).take(granted);
    expect(wordOf(fail(domain, 'down').take(granted))).toBe('authorizing');
  });

  /** It waits as long as it is to, gets its turn, and hears the same again until the order is given up. */
  const waited = (domain: Domain, change: Partial<AcquisitionFailed> = {}) => {
    const from = domain.now;
    fail(domain, 'unfinished', { retryAfterMs: hour, ...change });
    while (domain.context.order !== null) {
      found(domain.wait(domain.patience ?? 0)).take(granted);
      expect(wordOf(domain)).toBe('authorizing');
      fail(finalizing(domain), 'unfinished', { retryAfterMs: hour, ...change });
    }
    return domain.now - from;
  };

  test('an order that the authority processes is continued when the authority says', () => {
    const domain = fail(finalizing(), 'unfinished', { retryAfterMs: hour });
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.patience).toBe(hour);
    expect(domain.context.failures).toBe(0);
    expect(wordOf(found(domain.wait(hour)).take(granted))).toBe('authorizing');
  });

  test('§7: it is given up when it expires, and after a week at the latest', () => {
    expect(waited(finalizing()) / hour).toBeCloseTo(24, 0);
    const order = { url: 'https://ca/order/1', expires: 9e15 };
    const domain = ordering();
    domain.take({ type: 'order.made', attempt: domain.context.attempt, order });
    expect(waited(finalizing(domain)) / day).toBeCloseTo(7, 0);
  });

  test('§7: a certificate that is kept back is waited for an hour, then two, to a day, each time with one order', () => {
    const short = ordering();
    const order = { url: 'https://ca/order/1', expires: short.now + 5 * minute };
    short.take({ type: 'order.made', attempt: short.context.attempt, order });
    let domain = finalizing(short);
    for (const hours of [1, 2, 4, 8, 16, 24, 24]) {
      expect(waited(domain, { issued: true, retryAfterMs: hour / 2 }) / hour).toBeCloseTo(hours, 0);
      expect(domain.context.lastError).toContain('another follows');
      domain = finalizing(authorizing(found(domain.wait(domain.patience ?? 0)).take(granted)));
    }
    expect(orders(domain)).toBe(8);
    expect(wordOf(valid(storing(domain)))).toBe('valid');
  });

  test('§5.3: what is kept back is counted once; whoever asks for it again is held back by no budget', () => {
    const domain = finalizing();
    domain.asked();
    fail(domain, 'unfinished', { issued: true, message: 'it keeps it' });
    const sent = () => domain.askedOf('message.send').map(({ event }) => event);
    expect(sent()).toMatchObject([{ outcome: 'issued', exempt: false, again: false }]);
    expect(domain.context.lastError).toMatch(/^it keeps it; unless that changes by .* another is ordered$/);
    found(domain.wait(10_000));
    expect(sent()).toMatchObject([{ type: 'permit.asked', exempt: true }]);
    // Nor does a broken order make another one before its time.
    for (let n = 0; n < 4; n++) fail(domain.take(granted), 'down');
    expect(wordOf(domain.take(granted))).toBe('authorizing');
    const returned = sent().filter(({ type }) => type === 'permit.returned');
    expect(returned).toHaveLength(4);
    expect(returned.every((one) => 'exempt' in one && one.exempt)).toBe(true);
    fail(fail(domain, 'down').wait(hour).take(granted), 'down');
    expect(sent().at(-1)).toMatchObject({ outcome: 'down', exempt: true, again: false });
    expect(domain.context).toMatchObject({ order: null, failures: 1 });
  });

  test('§5.7: an order that is continued is counted once', () => {
    const domain = finalizing();
    domain.asked();
    fail(domain, 'cluster');
    expect(domain.askedOf('message.send')).toMatchObject([{ event: { outcome: 'unused', ordered: true } }]);
    found(domain.wait(domain.patience ?? 0)).take(granted);
    fail(domain, 'cluster');
    const [, { event } = { event: null }] = domain.askedOf('message.send');
    expect(event).toMatchObject({ type: 'permit.returned', outcome: 'unused' });
    expect(event).not.toHaveProperty('ordered');
  });

  test('§4.10: a certificate that is due for renewal when it comes brings the next one after a pause that grows', () => {
    let domain = storing();
    for (const minutes of [1, 2, 4]) {
      const old = fresh(domain, 30 * day, { notBefore: domain.now - 60 * day, fingerprint: `f${minutes}` });
      valid(domain, old);
      found(domain.wait(domain.patience ?? 0), { good: old });
      expect(wordOf(domain)).toBe('backingOff');
      expect(domain.patience).toBeGreaterThan(0.8 * minutes * minute);
      expect(domain.context.lastError).toContain('due for renewal');
      domain = found(domain.wait(domain.patience ?? 0), { good: old }).take(granted);
      domain = storing(finalizing(authorizing(domain)));
    }
    expect(wordOf(valid(domain))).toBe('valid');
    expect(domain.context.failures).toBe(0);
  });
});

describe('§4.10: a certificate that is not valid yet', () => {
  /** Renewed by a certificate that is valid an hour later, beside one that still works. */
  const early = () => {
    const working = fresh(storing(), 6 * hour, { ariId: null });
    const domain = confirmed(valid(storing(), working));
    found(domain.wait(3 * hour), { good: working }).take(granted);
    fail(finalizing(authorizing(domain)), 'cluster', { retryAfterMs: hour, issued: true });
    const notBefore = domain.now + hour;
    const pending = { ...fresh(domain, 6 * hour, { fingerprint: 'f2', notBefore }), at: target };
    return { domain, look: () => found(domain, { good: working, pending }) };
  };

  test('replaces none that works, whoever looks before', () => {
    const { domain, look } = early();
    domain.take({ type: 'domain.recheck' });
    expect(wordOf(look())).toBe('backingOff');
    expect(domain.patience).toBeGreaterThan(59 * minute);
  });

  test('is stored when it is', () => {
    const { domain, look } = early();
    domain.wait(hour);
    expect(wordOf(look())).toBe('storing');
  });
});

describe('failure: hopeless', () => {
  const failed = () => fail(ordering(), 'hopeless');

  test('§7: it is tried again once a day; people are warned', () => {
    const domain = failed();
    expect(wordOf(domain)).toBe('failed');
    expect(domain.askedOf('domain.report').map(({ notice }) => notice?.eventType)).toContain('Warning');
    expect(domain.patience).toBeLessThanOrEqual(day);
    expect(domain.patience).toBeGreaterThan(22 * hour);
    found(domain.wait(domain.patience ?? 0)).take(granted);
    expect(orders(domain)).toBe(1);
  });

  test.each([
    ['the Domain', { ...domainFacts, sources: [{ ...domainFacts.sources[0], generation: 2 }] }],
    ['the Issuer', { ...domainFacts, issuer: { ...domainFacts.issuer, version: 'issuer-uid/2' } }],
  ])('a change of %s begins anew', (_, facts) => {
    const domain = failed().take(observed(facts as typeof domainFacts));
    expect(wordOf(domain)).toBe('checkingStored');
  });

  test('a message begins anew', () => {
    expect(wordOf(failed().take({ type: 'domain.recheck' }))).toBe('checkingStored');
  });

  test('a wildcard with http01 is hopeless without asking anybody', () => {
    const domain = found(newDomain(domainFacts, '*.example.com'));
    expect(wordOf(domain)).toBe('failed');
    expect(domain.context.lastError).toContain('dns01');
    expect(saidToIssuer(domain)).toEqual([]);
    const dns01 = { name: 'acme', version: 'u/1', kind: 'acme', challenge: 'dns01' } as const;
    const proven = found(newDomain({ ...domainFacts, issuer: dns01 }, '*.example.com'));
    expect(wordOf(proven)).toBe('waitingForPermit');
  });

  test('§7: a Secret of somebody else, which no watch shows, is looked at again within 5 min', () => {
    const domain = found(newDomain(), { foreign: [target] });
    expect(domain.patience).toBeLessThanOrEqual(5 * minute);
    expect(wordOf(domain.wait(domain.patience ?? 0))).toBe('checkingStored');
    expect(wordOf(found(domain, { foreign: [] }))).toBe('waitingForPermit');
    const written = fail(storing(), 'foreign');
    expect(wordOf(written)).toBe('failed');
    expect(written.patience).toBeLessThanOrEqual(5 * minute);
  });

  test('§7.5: a Secret that bears our label again is looked at at once', () => {
    const domain = found(newDomain(), { foreign: [target] });
    const certificate = fresh(domain, 90 * day, { fingerprint: '0123456789abcdef'.repeat(2) });
    domain.take(observed({ ...domainFacts, stored: ['0123456789abcdef'] }));
    expect(wordOf(domain)).toBe('checkingStored');
    expect(wordOf(found(domain, { good: certificate }))).toBe('valid');
  });

  test('§7: so is a CA that may not sign for the host', () => {
    const ca = { ...domainFacts.issuer, name: 'acme', version: 'ca/1', kind: 'ca', challenge: null } as const;
    const domain = fail(found(newDomain({ ...domainFacts, issuer: ca })).take(granted), 'hopeless');
    expect(wordOf(domain)).toBe('failed');
    expect(domain.patience).toBeLessThanOrEqual(5 * minute);
  });

  test('a Secret that another host has ends it until the world shows its end', () => {
    const taken = [{ ...target, by: 'b.example.com' }];
    const domain = found(newDomain({ ...domainFacts, targets: [], stored: [], taken }));
    expect(wordOf(domain)).toBe('failed');
    expect(domain.patience).toBeGreaterThan(22 * hour);
  });

  test('a Secret of somebody else ends it, and what helps is told; another Secret beside it does not', () => {
    const domain = found(newDomain(), { foreign: [target] });
    expect(wordOf(domain)).toBe('failed');
    expect(domain.context.lastError).toContain('delete it, name another, or take over');
    const two = { ...domainFacts, targets: [target, { namespace: 'web', secretName: 'app' }] };
    expect(wordOf(found(newDomain(two), { foreign: [target] }))).toBe('waitingForPermit');
  });
});

describe('failure: Kubernetes is away', () => {
  test('it does not count; it looks again within seconds', () => {
    const domain = fail(storing(), 'cluster');
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.context.failures).toBe(0);
    expect(domain.patience).toBeLessThanOrEqual(10_000);
  });

  test('a look that fails is repeated', () => {
    const domain = newDomain();
    domain.take({ type: 'inspection.failed', attempt: domain.context.attempt, message: 'away' });
    expect(domain.patience).toBeLessThanOrEqual(10_000);
    expect(wordOf(domain.wait(10_000))).toBe('checkingStored');
  });

  test('a status that could not be written is written again', () => {
    const domain = confirmed(valid());
    domain.asked();
    domain.take({ type: 'effect.settled', effect: 'domain.report', error: 'away' }).wait(30_000);
    expect(domain.askedOf('domain.report')).toMatchObject([{ status: { state: 'valid' }, notice: null }]);
  });
});

test.each(['down', 'rateLimited'] as const)(
  'after %s one whose Issuer has used up its budget says so, not that the authority is away',
  (outcome) => {
    const domain = fail(ordering(), outcome);
    domain.asked();
    const until = domain.now + hour;
    domain.take({ type: 'permit.deferred', issuer: 'acme', reason: 'budget', until });
    expect(wordOf(domain)).toBe('waitingForPermit');
    const [report] = domain.asked().filter((one) => one.type === 'domain.report');
    expect(report?.status.conditions.map(({ reason }) => reason)).not.toContain('IssuerDown');
  },
);
