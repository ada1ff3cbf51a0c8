/** The domain chart while its certificate is valid: looks, renewal information, renewals. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dueByAge,
  isDue,
  isSuggested,
  pollPauseMs,
  windowOf,
} from '../../../src/machines/domain/domain-schedule.ts';
import { domainFacts } from '../../features/certificates/certificate-samples.ts';
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
  observed,
  storing,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

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
    expect(wordOf(domain)).toBe('checkingStored');
    expect(wordOf(found(domain, { good: domain.context.certificate }))).toBe('valid');
  });

  test('is looked at once more soon after it was stored: what was deleted before the world showed it leaves no trace', () => {
    const domain = valid();
    expect(domain.patience).toBeLessThanOrEqual(5_000);
    domain.wait(5_000);
    expect(wordOf(found(domain))).toBe('waitingForPermit');
  });

  test('of a short life is renewed at its half, and ordered once', () => {
    const domain = storing();
    confirmed(valid(domain, fresh(domain, hour, { ariId: null })));
    domain.asked();
    domain.wait(hour / 2);
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('waitingForPermit');
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
    expect(wordOf(domain)).toBe('valid');
    domain.take(observed({ ...known, stored: [null] }));
    expect(wordOf(domain)).toBe('checkingStored');
  });

  test('is looked at each time that somebody deletes it, also while it is looked at', () => {
    const domain = confirmed(valid());
    for (let time = 0; time < 2; time++) {
      domain.take(observed({ ...domainFacts, stored: ['f1'] }));
      expect(wordOf(domain)).toBe('valid');
      domain.take(observed());
      expect(wordOf(domain)).toBe('checkingStored');
      confirmed(valid(storing(finalizing(authorizing(found(domain).take(granted))))));
    }
    domain.take({ type: 'domain.recheck' });
    const { attempt } = domain.context;
    domain.take(observed());
    expect(wordOf(domain)).toBe('checkingStored');
    expect(domain.context.attempt).toBeGreaterThan(attempt);
  });

  test('is not looked at because the world shows late what was there before', () => {
    const old = { ...domainFacts, stored: ['f0'] };
    const domain = valid(storing(finalizing(authorizing(wanting(old).take(granted)))));
    domain.take(observed({ ...old, registered: 'example.com.' }));
    expect(wordOf(domain)).toBe('valid');
    domain.take(observed({ ...old, stored: ['f1'] }));
    expect(wordOf(domain)).toBe('valid');
  });

  test('`domain.renew` orders a new one, once', () => {
    const domain = valid();
    domain.take({ type: 'domain.renew' });
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('waitingForPermit');
    valid(storing(finalizing(authorizing(domain.take(granted)))));
    expect(wordOf(found(domain.take({ type: 'domain.recheck' }), { good: domain.context.certificate }))).toBe(
      'valid',
    );
  });

  test('that is not due stays when the Issuer changes', () => {
    const domain = valid();
    domain.take(
      observed({ ...domainFacts, issuer: { ...domainFacts.issuer, version: 'issuer-uid/2' } as never }),
    );
    expect(wordOf(domain)).toBe('checkingStored');
    expect(wordOf(found(domain, { good: domain.context.certificate }))).toBe('valid');
  });
});

describe('renewal information', () => {
  const polled = (ageMs = 0) => {
    const domain = storing();
    valid(domain, fresh(domain, 90 * day, { notBefore: domain.now - ageMs }));
    confirmed(domain);
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
    expect(wordOf(domain)).toBe('valid');
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

  test('§6.6: is told with the address where the authority explains it, for as long as it does', () => {
    const domain = polled();
    const message = () => domain.askedOf('domain.report').at(-1)?.status.conditions[0]?.message;
    const told = window(domain, 10 * day, 4 * day);
    domain.take({ ...told, why: 'https://ca.example.com/incident' });
    expect(message()).toMatch(/ suggests renewing it by .* \(why: https:\/\/ca\.example\.com\/incident\)\.$/);
    const { at } = domain.context.window ?? {};
    domain.take(told);
    expect(message()).not.toContain('incident');
    expect(domain.context.window?.at).toBe(at);
  });

  test('that has a window in the past brings the renewal at once, which no budget counts', () => {
    const domain = polled(day);
    domain.take(window(domain, -2 * day, day)).wait(0);
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('waitingForPermit');
    const asked = domain.askedOf('message.send').at(-1)?.event;
    expect(asked).toMatchObject({ type: 'permit.asked', exempt: true });
    domain.take(granted);
    expect(domain.askedOf('acme.order')).toMatchObject([{ replaces: 'aki.serial' }]);
  });

  test('that suggests to renew what is not a day old brings a renewal that counts: it may say so for ever (§5.4)', () => {
    const domain = polled();
    domain.take(window(domain, -2 * day, day)).wait(0);
    found(domain, { good: domain.context.certificate });
    const asked = domain.askedOf('message.send').at(-1)?.event;
    expect(asked).toMatchObject({ type: 'permit.asked', exempt: false, due: true });
  });

  test('exempts only the certificate that was stored last: older ones can be put back for ever (§5.4)', () => {
    const domain = polled();
    const { context, now } = domain;
    const last = context.certificate ?? fresh(domain);
    const window = { start: now, end: now + day, at: now };
    const isExempt = (change: Partial<typeof context>) =>
      isSuggested({ ...context, window, ...change }, now + 2 * day);
    expect(isExempt({})).toBe(true);
    const before = { ...last, fingerprint: 'before', notBefore: now - 40 * day };
    expect(isExempt({ certificate: before })).toBe(false);
    // Nothing says which one an earlier release stored.
    const { storedLast: _, ...earlier } = { ...context, window };
    expect(isSuggested(earlier, now + 2 * day)).toBe(true);
    // A host that was away has none that Orrery knows as its own.
    expect(isExempt({ storedLast: null })).toBe(false);
  });

  test('exempts a renewal from the budget from when its window opens, not one by age before it (§5.4)', () => {
    const domain = polled();
    const told = window(domain, 70 * day, 2 * day);
    domain.take(told);
    const { certificate } = domain.context;
    const byAge = dueByAge(certificate ?? fresh(domain));
    expect(isDue(domain.context, byAge)).toBe(true);
    expect(byAge).toBeLessThan(told.start);
    expect(isSuggested(domain.context, byAge)).toBe(false);
    expect(isSuggested(domain.context, told.start)).toBe(true);
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
    expect(wordOf(domain)).toBe('valid');
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
