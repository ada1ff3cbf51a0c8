/** The domain chart: what is ordered when, step by step, and how it ends. */
import { describe, expect, test } from 'vitest';

import { domainFacts, target } from '../../features/certificates/certificate-samples.ts';
import {
  authorizing,
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
  wordOf,
} from './domain-script.ts';

const noIssuer = { ...domainFacts, issuer: null, issuerMissing: 'no Issuer allows app.example.com' };
const orders = (domain: Domain) => domain.askedOf('acme.order').length;

describe('before an order', () => {
  test('a host that no Issuer allows waits without end, and says why', () => {
    const domain = newDomain(noIssuer);
    expect(wordOf(domain)).toBe('waitingForIssuer');
    const [report] = domain.askedOf('domain.report');
    expect(report?.status.conditions[0]).toMatchObject({
      type: 'Ready',
      status: 'False',
      reason: 'NoIssuer',
    });
    expect(report?.status.conditions[0]?.message).toContain('no Issuer allows');
    // Somebody else may have overwritten it.
    expect(domain.wait(3_600_000).askedOf('domain.report')).toEqual([{ ...report, at: domain.now }]);
    expect(wordOf(domain.take(observed()))).toBe('checkingStored');
  });

  test('a certificate that is stored, whole and not due is valid: nothing is asked of anybody', () => {
    const domain = newDomain();
    found(domain, { good: fresh(domain) });
    expect(wordOf(domain)).toBe('valid');
    const asked = domain.asked().map(({ type }) => type);
    expect(asked).not.toContain('acme.order');
    expect(asked).not.toContain('message.send');
  });

  test('one that is due is renewed', () => {
    const domain = newDomain();
    found(domain, {
      good: fresh(domain, 90 * day, { notBefore: domain.now - 61 * day, notAfter: domain.now + 29 * day }),
    });
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test('nothing is ordered before the permit is there', () => {
    const domain = wanting();
    expect(orders(domain)).toBe(0);
    expect(orders(domain.take(granted))).toBe(1);
  });

  test('a question to the Issuer that was lost is asked again, soon and then ever more seldom', () => {
    const domain = wanting();
    saidToIssuer(domain);
    domain.wait(10 * minute);
    const asked = saidToIssuer(domain);
    expect(asked.length).toBeGreaterThanOrEqual(6);
    expect(asked.length).toBeLessThan(10);
    expect(new Set(asked)).toEqual(new Set(['permit.asked']));
  });

  test('an Issuer that has said why not yet is asked again every five minutes', () => {
    const pause = (reason: 'notReady' | 'full') => {
      const domain = wanting();
      for (let asked = 0; asked < 10; asked++) {
        domain.take({ type: 'permit.deferred', issuer: 'acme', reason, until: null });
        domain.wait(domain.patience ?? 0);
      }
      return domain.patience;
    };
    expect(pause('notReady')).toBe(5 * minute);
    expect(pause('full')).toBe(5 * minute);
  });

  test('§5.9: one without room is asked at the time that it named, once, and says so until then', () => {
    const full = (until: number) =>
      ({ type: 'permit.deferred', issuer: 'acme', reason: 'full', until }) as const;
    const domain = wanting();
    domain.take(full(domain.now + 5 * hour));
    expect(domain.told.text).toMatch(
      /too many domains waiting; app\.example\.com waits; it asks again at .* UTC/,
    );
    domain.asked();
    domain.wait(5 * hour - 1_000);
    expect(domain.asked()).toEqual([]);
    domain.wait(1_000);
    expect(saidToIssuer(domain)).toEqual(['permit.asked']);
    domain.take(full(domain.now + 3 * hour)).wait(3 * hour - 1_000);
    expect(saidToIssuer(domain)).toEqual([]);
  });

  test('§5.9: nor does one without room ask before its time while the authority is away', () => {
    const domain = wanting();
    domain.take({ type: 'permit.deferred', issuer: 'acme', reason: 'down', until: domain.now + hour });
    saidToIssuer(domain);
    expect(saidToIssuer(domain.wait(hour - 1_000))).toEqual([]);
    expect(saidToIssuer(domain.wait(1_000))).toEqual(['permit.asked']);
  });

  test('what stands in the way at the Issuer is told', () => {
    const domain = wanting();
    domain.asked();
    const until = domain.now + hour;
    const message = '4 orders in 3 hours';
    domain.take({ type: 'permit.deferred', issuer: 'acme', reason: 'budget', until, message });
    const [report] = domain.askedOf('domain.report');
    expect(report?.status.conditions[1]).toMatchObject({ type: 'Issuing', status: 'True' });
    expect(report?.status.conditions[1]?.message).toMatch(
      /used up its budget: 4 orders in 3 hours; app\.example\.com waits; its turn comes at about .* UTC\.$/,
    );
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
    expect(wordOf(domain)).toBe('storing');
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'stored' }]);
    expect(wordOf(valid(domain))).toBe('valid');
    expect(saidToIssuer(domain)).toEqual([]);
  });

  test('one that was issued and not stored before everybody died is stored, not ordered', () => {
    const domain = newDomain();
    found(domain, { pending: { ...fresh(domain), at: target } });
    expect(wordOf(domain)).toBe('storing');
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'pending', at: target }]);
  });
});

describe('an order', () => {
  test('goes from step to step, each with its own deadline, the permit goes back at the end', () => {
    const domain = ordering();
    expect(domain.patience).toBeLessThanOrEqual(60_000);
    expect(wordOf(authorizing(domain))).toBe('authorizing');
    expect(domain.patience).toBeLessThanOrEqual(210_000);
    expect(wordOf(finalizing(domain))).toBe('finalizing');
    expect(domain.patience).toBeLessThanOrEqual(120_000);
    expect(wordOf(storing(domain))).toBe('storing');
    saidToIssuer(domain);
    expect(wordOf(valid(domain))).toBe('valid');
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
    expect(wordOf(domain)).toBe('authorizing');
  });

  test('a CA signs at once: there is no order', () => {
    const facts = {
      ...domainFacts,
      issuer: { name: 'acme', version: 'u/1', kind: 'ca' as const, challenge: null },
    };
    const domain = wanting(facts).take(granted);
    expect(wordOf(domain)).toBe('storing');
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'ca' }]);
    expect(wordOf(valid(domain))).toBe('valid');
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
      expect(wordOf(domain)).toBe(state);
      domain.asked();
      domain.take(observed(null));
      const asked = domain.asked();
      // What an authority knows of an attempt is remembered for a while (§7.8).
      const isKnownThere = ['ordering', 'authorizing', 'finalizing', 'storing', 'backingOff', 'failed'];
      expect(domain.isOver).toBe(!isKnownThere.includes(state));
      expect(domain.wait(day).isOver).toBe(true);
      expect(domain.asked()).toEqual([]);
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
  expect(wordOf(domain)).toBe('checkingStored');
  expect(domain.askedOf('message.send')).toMatchObject([
    { to: ['issuer/_/acme'], event: { outcome: 'unused', ordered: true } },
  ]);
  expect(domain.context.order).toBeNull();
});

describe('an attempt that ends after its order was made, or may have been (docs/features/certificates.md §5.7)', () => {
  const told = (domain: ReturnType<typeof authorizing>) =>
    domain.askedOf('message.send').flatMap(({ event }) => (event.type === 'permit.returned' ? [event] : []));
  const other = { name: 'other', version: 'o/1', kind: 'acme', challenge: 'http01' } as const;

  test('tells the Issuer, whatever ended it', () => {
    for (const domain of [ordering(), authorizing(), finalizing()]) {
      domain.asked();
      domain.take(observed({ ...domainFacts, issuer: other }));
      expect(told(domain)).toMatchObject([{ outcome: 'unused', ordered: true }]);
    }
    expect(told(fail(finalizing(), 'unwritable')).at(-1)).toMatchObject({ outcome: 'unused', ordered: true });
  });

  test('but not if the authority was never asked', () => {
    const [event] = told(fail(ordering(), 'cluster')).slice(-1);
    expect(event).toMatchObject({ outcome: 'unused' });
    expect(event).not.toHaveProperty('ordered');
  });
});
