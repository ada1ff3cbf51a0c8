/** The domain chart: what is ordered when, what every failure leads to, and what a person is told. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backOffMs, dueByAge, limitMs, pollPauseMs, windowOf } from '../../src/machines/domain-context.ts';
import { domainFacts, target } from './certificate-samples.ts';
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
  wanting,
} from './domain-script.ts';

const noIssuer = { ...domainFacts, issuer: null, issuerMissing: 'no Issuer allows app.example.com' };
const orders = (domain: Domain) => domain.askedOf('acme.order').length;

describe('before an order', () => {
  test('a host that no Issuer allows waits without end, and says why', () => {
    const domain = newDomain(noIssuer);
    expect(domain.state).toBe('waitingForIssuer');
    expect(domain.patience).toBeNull();
    const [report] = domain.askedOf('domain.report');
    expect(report?.status.conditions[0]).toMatchObject({
      type: 'Ready',
      status: 'False',
      reason: 'NoIssuer',
    });
    expect(report?.status.conditions[0]?.message).toContain('no Issuer allows');
    expect(domain.take(observed()).state).toBe('checkingStored');
  });

  test('a certificate that is stored, whole and not due is valid: nothing is asked of anybody', () => {
    const domain = newDomain();
    found(domain, { good: fresh(domain) });
    expect(domain.state).toBe('valid');
    const asked = domain.asked().map(({ type }) => type);
    expect(asked).not.toContain('acme.order');
    expect(asked).not.toContain('message.send');
  });

  test('one that is due is renewed', () => {
    const domain = newDomain();
    found(domain, {
      good: fresh(domain, 90 * day, { notBefore: domain.now - 61 * day, notAfter: domain.now + 29 * day }),
    });
    expect(domain.state).toBe('waitingForPermit');
  });

  test('nothing is ordered before the permit is there', () => {
    const domain = wanting();
    expect(orders(domain)).toBe(0);
    expect(orders(domain.take(granted))).toBe(1);
  });

  test('a question to the Issuer that was lost is asked again, at most once a minute', () => {
    const domain = wanting();
    saidToIssuer(domain);
    domain.wait(10 * minute);
    const asked = saidToIssuer(domain);
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.length).toBeLessThan(20);
    expect(new Set(asked)).toEqual(new Set(['permit.asked']));
  });

  test('what stands in the way at the Issuer is told', () => {
    const domain = wanting();
    domain.asked();
    domain.take({ type: 'permit.deferred', issuer: 'acme', reason: 'budget', until: domain.now + hour });
    const [report] = domain.askedOf('domain.report');
    expect(report?.status.conditions[1]).toMatchObject({ type: 'Issuing', status: 'True' });
    expect(report?.status.conditions[1]?.message).toContain('used up its budget');
  });

  test('a permit that is not wanted any more is given back', () => {
    const domain = newDomain();
    found(domain, { good: fresh(domain) });
    domain.asked();
    expect(saidToIssuer(domain.take(granted))).toEqual(['returned unused']);
  });

  test('a certificate that one Secret lacks is copied, not ordered', () => {
    const two = { ...domainFacts, targets: [target, { namespace: 'web', secretName: 'app' }] };
    const domain = newDomain(two);
    found(domain, { good: fresh(domain), missing: [two.targets[1]] });
    expect(domain.state).toBe('storing');
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'stored' }]);
    expect(valid(domain).state).toBe('valid');
    expect(saidToIssuer(domain)).toEqual([]);
  });

  test('one that was issued and not stored before everybody died is stored, not ordered', () => {
    const domain = newDomain();
    found(domain, { pending: { ...fresh(domain), at: target } });
    expect(domain.state).toBe('storing');
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'pending', at: target }]);
  });
});

describe('an order', () => {
  test('goes from step to step, each with its own deadline, the permit goes back at the end', () => {
    const domain = ordering();
    expect(domain.patience).toBeLessThanOrEqual(60_000);
    expect(authorizing(domain).state).toBe('authorizing');
    expect(domain.patience).toBeLessThanOrEqual(210_000);
    expect(finalizing(domain).state).toBe('finalizing');
    expect(domain.patience).toBeLessThanOrEqual(120_000);
    expect(storing(domain).state).toBe('storing');
    saidToIssuer(domain);
    expect(valid(domain).state).toBe('valid');
    expect(saidToIssuer(domain)).toEqual(['returned issued']);
  });

  test('all steps together take no longer than 300 s', () => {
    const domain = ordering().wait(59_000);
    authorizing(domain).wait(209_000);
    expect(finalizing(domain).patience).toBeLessThanOrEqual(300_000 - 268_000);
  });

  test('the order stands in the record before control is proven; whoever takes over goes on with it', () => {
    const domain = authorizing();
    expect(domain.context.order?.url).toBe('https://ca/order/1');
    expect(domain.askedOf('acme.authorize')).toMatchObject([{ order: { url: 'https://ca/order/1' } }]);
  });

  test('an outcome of an attempt before is not believed', () => {
    const domain = authorizing();
    domain.take({ type: 'order.authorized', attempt: domain.context.attempt - 1 });
    expect(domain.state).toBe('authorizing');
  });

  test('a CA signs at once: there is no order', () => {
    const facts = {
      ...domainFacts,
      issuer: { name: 'acme', version: 'u/1', kind: 'ca' as const, challenge: null },
    };
    const domain = wanting(facts).take(granted);
    expect(domain.state).toBe('storing');
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'ca' }]);
    expect(valid(domain).state).toBe('valid');
  });

  test('success clears the failures', () => {
    const domain = fail(ordering(), 'refused');
    domain.wait(2 * minute);
    found(domain).take(granted);
    valid(storing(finalizing(authorizing(domain))));
    expect(domain.context).toMatchObject({ failures: 0, lastError: null, nextAttempt: null });
  });

  test('a Domain that is added while it is stored gets its copy too', () => {
    const domain = storing();
    const two = { ...domainFacts, targets: [target, { namespace: 'web', secretName: 'app' }] };
    domain.asked();
    domain.take(observed(two));
    expect(domain.askedOf('certificate.store')).toMatchObject([{ targets: two.targets }]);
  });
});

describe('failure: refused', () => {
  const steps = { ordering, authorizing: () => authorizing(), finalizing: () => finalizing() };

  test.each(Object.entries(steps))('%s: a minute, then two, then four, and so on to 24 h', (_, reach) => {
    let domain = fail(reach(), 'refused');
    expect(domain.state).toBe('backingOff');
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
    expect(domain.state).toBe('backingOff');
    expect(domain.patience).toBe(50_000);
  });

  test('a person may: `domain.renew`', () => {
    const domain = fail(ordering(), 'refused').wait(10_000);
    found(domain.take({ type: 'domain.renew' }));
    expect(domain.state).toBe('waitingForPermit');
  });

  test('the wait is between 1 s and 24 h for every number of failures and every chance', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.nat(), fc.constantFrom(0, 1, 63, 64, 1_024, Number.MAX_SAFE_INTEGER)),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, random) => {
          const ms = backOffMs(failures, random);
          expect(ms).toBeGreaterThanOrEqual(1_000);
          expect(ms).toBeLessThanOrEqual(day);
        },
      ),
    );
  });

  test('the wait is moved by at most 10 % either way', () => {
    expect([backOffMs(1, 0), backOffMs(1, 0.999_999)]).toEqual([54_000, 66_000]);
  });
});

describe('failure: rate limited', () => {
  test('the whole Issuer is told how long, and the domain stays in its queue', () => {
    const domain = ordering();
    domain.asked();
    fail(domain, 'rateLimited', { retryAfterMs: 2 * hour });
    expect(domain.state).toBe('rateLimited');
    const [{ event } = { event: null }] = domain.askedOf('message.send');
    expect(event).toMatchObject({ type: 'permit.returned', outcome: 'rateLimited', again: true });
    expect((event as { waitMs: number }).waitMs).toBeGreaterThanOrEqual(2 * hour);
    expect((event as { waitMs: number }).waitMs).toBeLessThanOrEqual(2 * hour * 1.05);
    expect(domain.context.failures).toBe(0);
  });

  test('it goes on when the Issuer says so, with the same order', () => {
    const domain = fail(authorizing(), 'rateLimited', { retryAfterMs: 1_000 });
    domain.asked();
    expect(domain.take(granted).state).toBe('authorizing');
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
    expect(domain.state).toBe('issuerDown');
    expect(domain.context.failures).toBe(0);
    expect(saidToIssuer(domain)).toContain('returned down again');
    expect(domain.take(granted).state).toBe('authorizing');
  });

  test.each([
    ['ordering', () => ordering()],
    ['authorizing', () => authorizing()],
    ['finalizing', () => finalizing()],
  ])('%s without a word is the same', (_, reach) => {
    const domain = reach();
    domain.wait(domain.patience ?? 0);
    expect(domain.state).toBe('issuerDown');
    expect(domain.context.failures).toBe(0);
  });

  test('an order that has run out meanwhile is made anew', () => {
    const domain = fail(authorizing(), 'down').wait(2 * day);
    domain.asked();
    expect(domain.take(granted).state).toBe('ordering');
  });
});

describe('failure: hopeless', () => {
  const failed = () => fail(ordering(), 'hopeless');

  test('it is over until something changes; people are warned', () => {
    const domain = failed();
    expect(domain.state).toBe('failed');
    expect(domain.askedOf('domain.report').map(({ notice }) => notice?.eventType)).toContain('Warning');
    domain.wait(30 * day);
    expect(domain.state).toBe('failed');
    expect(orders(domain)).toBe(0);
  });

  test.each([
    ['the Domain', { ...domainFacts, sources: [{ ...domainFacts.sources[0], generation: 2 }] }],
    ['the Issuer', { ...domainFacts, issuer: { ...domainFacts.issuer, version: 'issuer-uid/2' } }],
  ])('a change of %s begins anew', (_, facts) => {
    const domain = failed().take(observed(facts as typeof domainFacts));
    expect(domain.state).toBe('checkingStored');
  });

  test('a message begins anew', () => {
    expect(failed().take({ type: 'domain.recheck' }).state).toBe('checkingStored');
  });

  test('a wildcard with http01 is hopeless without asking anybody', () => {
    const domain = found(newDomain(domainFacts, '*.example.com'));
    expect(domain.state).toBe('failed');
    expect(domain.context.lastError).toContain('dns01');
    expect(saidToIssuer(domain)).toEqual([]);
    const dns01 = { name: 'acme', version: 'u/1', kind: 'acme', challenge: 'dns01' } as const;
    const proven = found(newDomain({ ...domainFacts, issuer: dns01 }, '*.example.com'));
    expect(proven.state).toBe('waitingForPermit');
  });

  test('a Secret of somebody else ends it; another Secret beside it does not', () => {
    expect(found(newDomain(), { foreign: [target] }).state).toBe('failed');
    const two = { ...domainFacts, targets: [target, { namespace: 'web', secretName: 'app' }] };
    expect(found(newDomain(two), { foreign: [target] }).state).toBe('waitingForPermit');
  });
});

describe('failure: Kubernetes is away', () => {
  test('it does not count; it looks again within seconds', () => {
    const domain = fail(storing(), 'cluster');
    expect(domain.state).toBe('backingOff');
    expect(domain.context.failures).toBe(0);
    expect(domain.patience).toBeLessThanOrEqual(10_000);
  });

  test('a look that fails is repeated', () => {
    const domain = newDomain();
    domain.take({ type: 'inspection.failed', attempt: domain.context.attempt, message: 'away' });
    expect(domain.patience).toBeLessThanOrEqual(10_000);
    expect(domain.wait(10_000).state).toBe('checkingStored');
  });

  test('a status that could not be written is written again', () => {
    const domain = confirmed(valid());
    domain.asked();
    domain.take({ type: 'effect.settled', effect: 'domain.report', error: 'away' }).wait(30_000);
    expect(domain.askedOf('domain.report')).toMatchObject([{ status: { state: 'valid' }, notice: null }]);
  });
});

describe('a valid certificate', () => {
  test('is due after two thirds of its life, after half of one under ten days', () => {
    const at = { fingerprint: 'f', notBefore: 0, ariId: null };
    expect(dueByAge({ ...at, notAfter: 90 * day })).toBe(60 * day);
    expect(dueByAge({ ...at, notAfter: 10 * day })).toBe(Math.round((20 / 3) * day));
    expect(dueByAge({ ...at, notAfter: 6 * day })).toBe(3 * day);
    expect(dueByAge({ ...at, notAfter: hour })).toBe(hour / 2);
  });

  test('is looked at every 24 h at the latest', () => {
    const domain = confirmed(valid(storing(), { ...fresh(storing()), ariId: null }));
    expect(domain.patience).toBeLessThanOrEqual(day);
    expect(domain.patience).toBeGreaterThanOrEqual(22 * hour);
    domain.wait(day);
    expect(domain.state).toBe('checkingStored');
    expect(found(domain, { good: domain.context.certificate }).state).toBe('valid');
  });

  test('is looked at once more soon after it was stored: what was deleted before the world showed it leaves no trace', () => {
    const domain = valid();
    expect(domain.patience).toBeLessThanOrEqual(5_000);
    domain.wait(5_000);
    expect(found(domain).state).toBe('waitingForPermit');
  });

  test('of a short life is renewed at its half, and ordered once', () => {
    const domain = storing();
    confirmed(valid(domain, fresh(domain, hour, { ariId: null })));
    domain.asked();
    domain.wait(hour / 2);
    found(domain, { good: domain.context.certificate });
    expect(domain.state).toBe('waitingForPermit');
    expect(domain.context.certificate).not.toBeNull();
  });

  test('stays in its place while the renewal fails', () => {
    const domain = storing();
    confirmed(valid(domain, fresh(domain, hour, { ariId: null })));
    domain.wait(hour / 2);
    fail(found(domain, { good: domain.context.certificate }).take(granted), 'refused');
    const report = domain.askedOf('domain.report').at(-1);
    expect(report?.status).toMatchObject({
      state: 'backingOff',
      notAfter: domain.context.certificate?.notAfter,
    });
    expect(report?.status.conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
  });

  test('that somebody deleted or broke is looked at at once', () => {
    const known = { ...domainFacts, stored: ['f1'] };
    const domain = valid().take(observed(known));
    expect(domain.state).toBe('valid');
    domain.take(observed({ ...known, stored: [null] }));
    expect(domain.state).toBe('checkingStored');
  });

  test('is not looked at because the world shows late what was there before', () => {
    const old = { ...domainFacts, stored: ['f0'] };
    const domain = valid(storing(finalizing(authorizing(wanting(old).take(granted)))));
    domain.take(observed({ ...old, registered: 'example.com.' }));
    expect(domain.state).toBe('valid');
    domain.take(observed({ ...old, stored: ['f1'] }));
    expect(domain.state).toBe('valid');
  });

  test('`domain.renew` orders a new one, once', () => {
    const domain = valid();
    domain.take({ type: 'domain.renew' });
    found(domain, { good: domain.context.certificate });
    expect(domain.state).toBe('waitingForPermit');
    valid(storing(finalizing(authorizing(domain.take(granted)))));
    expect(found(domain.take({ type: 'domain.recheck' }), { good: domain.context.certificate }).state).toBe(
      'valid',
    );
  });

  test('that is not due stays when the Issuer changes', () => {
    const domain = valid();
    domain.take(
      observed({ ...domainFacts, issuer: { ...domainFacts.issuer, version: 'issuer-uid/2' } as never }),
    );
    expect(domain.state).toBe('checkingStored');
    expect(found(domain, { good: domain.context.certificate }).state).toBe('valid');
  });
});

describe('renewal information', () => {
  const polled = () => {
    const domain = confirmed(valid());
    domain.asked();
    domain.wait(domain.patience ?? 0);
    return domain;
  };
  const window = (domain: Domain, inMs: number, lengthMs: number, retryAfterMs: number | null = null) => ({
    type: 'ari.fetched' as const,
    fingerprint: domain.context.certificate?.fingerprint ?? '',
    start: domain.now + inMs,
    end: domain.now + inMs + lengthMs,
    retryAfterMs,
  });

  test('is asked for within hours of the issue', () => {
    const domain = polled();
    expect(domain.askedOf('ari.fetch')).toMatchObject([{ ariId: 'aki.serial' }]);
    expect(domain.state).toBe('valid');
  });

  test('gives a moment in its window, which stays while the window does', () => {
    const domain = polled();
    domain.random = 0.25;
    const told = window(domain, 10 * day, 4 * day);
    domain.take(told);
    expect(domain.context.window?.at).toBe(told.start + day);
    domain.random = 0.75;
    domain.take(told);
    expect(domain.context.window?.at).toBe(told.start + day);
  });

  test('that has a window in the past brings the renewal at once, which no budget counts', () => {
    const domain = polled();
    domain.take(window(domain, -2 * day, day)).wait(0);
    found(domain, { good: domain.context.certificate });
    expect(domain.state).toBe('waitingForPermit');
    const asked = domain.askedOf('message.send').at(-1)?.event;
    expect(asked).toMatchObject({ type: 'permit.asked', exempt: true });
    domain.take(granted);
    expect(domain.askedOf('acme.order')).toMatchObject([{ replaces: 'aki.serial' }]);
  });

  test('that would have it later than two thirds of the life does not', () => {
    const domain = polled();
    domain.take(window(domain, 80 * day, day));
    expect(domain.askedOf('domain.report').at(-1)?.status.renewAt).toBe(
      dueByAge(domain.context.certificate ?? fresh(domain)),
    );
  });

  test('is asked for again after what it says, in 6 h if it says nothing, in 12 h at the latest', () => {
    expect(pollPauseMs(null, 0.5)).toBe(6 * hour);
    expect(pollPauseMs(hour, 0.5)).toBe(hour);
    expect(pollPauseMs(3 * day, 0.5)).toBe(12 * hour);
    expect(pollPauseMs(3 * day, 0.99)).toBe(12 * hour);
    expect(pollPauseMs(6 * hour, 0)).toBe(5.4 * hour);
  });

  test('that cannot be had is asked for again, and nothing else happens', () => {
    const domain = polled();
    const { fingerprint } = domain.context.certificate ?? { fingerprint: '' };
    domain.take({ type: 'ari.unavailable', fingerprint, retryAfterMs: null });
    expect(domain.state).toBe('valid');
    expect(domain.patience).toBeLessThanOrEqual(12 * hour);
    expect(domain.patience).toBeGreaterThan(5 * hour);
  });

  test('of another certificate is not believed', () => {
    const domain = polled();
    domain.take({ ...window(domain, -2 * day, day), fingerprint: 'other' });
    expect(domain.context.window).toBeNull();
  });

  test('is asked for at every look that a person wants', () => {
    const domain = polled();
    found(domain.take({ type: 'domain.recheck' }), { good: domain.context.certificate });
    domain.asked();
    domain.wait(0);
    expect(domain.askedOf('ari.fetch')).toHaveLength(1);
  });

  test('draws its moment within the window, for every chance', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.nat(),
        (random, length) => {
          const event = {
            type: 'ari.fetched',
            fingerprint: '',
            start: 1_000,
            end: 1_001 + length,
            retryAfterMs: null,
          } as const;
          const { at } = windowOf(null, event, random);
          expect(at).toBeGreaterThanOrEqual(1_000);
          expect(at).toBeLessThanOrEqual(1_001 + length);
        },
      ),
    );
  });
});

describe('retirement', () => {
  const states: ReadonlyArray<[string, () => Domain]> = [
    ['waitingForIssuer', () => newDomain(noIssuer)],
    ['checkingStored', () => newDomain()],
    ['waitingForPermit', () => wanting()],
    ['ordering', () => ordering()],
    ['authorizing', () => authorizing()],
    ['finalizing', () => finalizing()],
    ['storing', () => storing()],
    ['valid', () => valid()],
    ['backingOff', () => fail(ordering(), 'refused')],
    ['rateLimited', () => fail(ordering(), 'rateLimited')],
    ['issuerDown', () => fail(ordering(), 'down')],
    ['failed', () => fail(ordering(), 'hopeless')],
  ];

  test.each(states)(
    '%s: the loop ends, nothing more is ordered, what the Issuer knows is taken back',
    (state, reach) => {
      const domain = reach();
      expect(domain.state).toBe(state);
      domain.asked();
      domain.take(observed(null));
      expect(domain.isOver).toBe(true);
      const asked = domain.asked();
      expect(
        asked.filter(({ type }) => ['acme.order', 'certificate.store', 'acme.finalize'].includes(type)),
      ).toEqual([]);
      const isKnown = [
        'waitingForPermit',
        'ordering',
        'authorizing',
        'finalizing',
        'storing',
        'rateLimited',
        'issuerDown',
      ];
      const told = asked.flatMap((one) => (one.type === 'message.send' ? [one.event.type] : []));
      expect(told).toEqual(isKnown.includes(state) ? ['permit.returned'] : []);
    },
  );
});

test('a new Issuer in the middle of an order: the old one gets its permit back, and it begins anew', () => {
  const domain = authorizing();
  domain.asked();
  const other = { name: 'other', version: 'o/1', kind: 'acme', challenge: 'http01' } as const;
  domain.take(observed({ ...domainFacts, issuer: other }));
  expect(domain.state).toBe('checkingStored');
  expect(domain.askedOf('message.send')).toMatchObject([
    { to: ['issuer/_/acme'], event: { outcome: 'unused' } },
  ]);
  expect(domain.context.order).toBeNull();
});
