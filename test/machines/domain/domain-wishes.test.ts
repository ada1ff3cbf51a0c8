/** Wishes by the annotation `orrery.dev/renew`: none is forgotten, and none hammers the authority (§6.4). */
import { describe, expect, test } from 'vitest';
import { domainFacts } from '../../features/certificates/certificate-samples.ts';
import {
  authorizing,
  confirmed,
  type Domain,
  fail,
  finalizing,
  found,
  fresh,
  granted,
  hour,
  minute,
  observed,
  ordering,
  saidToIssuer,
  storing,
  valid,
  wordOf,
} from './domain-script.ts';

const [source] = domainFacts.sources;
const wish = (renew: string, stored: string | null = 'f1') =>
  observed({ ...domainFacts, stored: [stored], sources: [{ ...source, renew } as never] });

/** Its look finds the good certificate. */
const looked = (domain: Domain) => found(domain, { good: domain.context.certificate });

/** A renewal by age is on its way. */
function due(): Domain {
  const domain = storing();
  confirmed(valid(domain, fresh(domain, hour, { ariId: null }))).wait(hour / 2);
  return looked(domain).take(granted);
}

/** A person wishes a new certificate, and the order is on its way. */
const renewing = () => looked(confirmed(valid()).take(wish('1'))).take(granted);

describe('a wish amid an attempt', () => {
  test('that fails is taken up when the pause is over', () => {
    const domain = due();
    expect(wordOf(domain)).toBe('ordering');
    fail(domain.take(wish('1')), 'refused');
    expect(wordOf(domain)).toBe('backingOff');
    // Meanwhile somebody puts another certificate there: that nobody wished.
    found(domain.wait(domain.patience ?? 0), { good: { ...fresh(domain), fingerprint: 'f2' } });
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test('that only copies is taken up after it', () => {
    const target = { namespace: 'shop', secretName: 'second' };
    const domain = confirmed(valid()).take({ type: 'domain.recheck' });
    found(domain, { good: domain.context.certificate, missing: [target] });
    expect(domain.context.storeFrom).toBe('stored');
    valid(domain.take(wish('1')), domain.context.certificate ?? fresh(domain));
    looked(domain.wait(domain.patience ?? 0));
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test('that issues is fulfilled by it', () => {
    const domain = valid(storing(finalizing(authorizing(ordering())).take(wish('1', null))));
    expect(wordOf(confirmed(domain))).toBe('valid');
  });

  test('by a message is kept, too', () => {
    const domain = due().take({ type: 'domain.renew' });
    fail(domain, 'refused');
    found(domain.wait(domain.patience ?? 0), { good: { ...fresh(domain), fingerprint: 'f2' } });
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test('that comes with another Issuer, or without one, is kept', () => {
    const renewed = [{ ...source, renew: '1' } as never];
    const issuer = { ...domainFacts.issuer, version: 'issuer-uid/2' } as never;
    const edited = confirmed(valid()).take(observed({ ...domainFacts, issuer, sources: renewed }));
    expect(wordOf(looked(edited))).toBe('waitingForPermit');
    const without = { ...domainFacts, issuer: null, issuerMissing: 'none' };
    const lonely = confirmed(valid()).take(observed(without), observed({ ...without, sources: renewed }));
    expect(wordOf(lonely)).toBe('waitingForIssuer');
    expect(wordOf(looked(lonely.take(observed({ ...domainFacts, sources: renewed }))))).toBe(
      'waitingForPermit',
    );
  });
});

describe('a wish while the domain waits after a failure', () => {
  test('waits as well, and the status says until when', () => {
    const domain = fail(renewing(), 'refused');
    const { nextAttempt } = domain.context;
    domain.asked();
    looked(domain.wait(1_000).take(wish('2')));
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.askedOf('domain.report').at(-1)?.status).toMatchObject({
      state: 'backingOff',
      nextAttempt,
    });
    looked(domain.wait(minute));
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test.each(['refused', 'hopeless'] as const)(
    '%s: brings a far attempt forward, to 15 min after the last one began, however often it is changed',
    (outcome) => {
      const domain = renewing();
      let orders = 0;
      for (let time = 0; time < 6 * 60; time++) {
        domain.wait(minute).take(wish(String(time + 2)));
        looked(domain);
        if (wordOf(domain) !== 'waitingForPermit') continue;
        orders++;
        fail(domain.take(granted), outcome);
      }
      expect(orders).toBeGreaterThanOrEqual(6 * 4 - 2);
      expect(orders).toBeLessThanOrEqual(6 * 4 + 4);
    },
  );

  test('so does an edit of a host that failed, the first one at once', () => {
    const edited = (generation: number) =>
      observed({ ...domainFacts, sources: [{ ...source, generation } as never] });
    const domain = fail(ordering().wait(20 * minute), 'hopeless');
    found(domain.take(edited(2)));
    expect(wordOf(domain)).toBe('waitingForPermit');
    fail(domain.take(granted), 'hopeless');
    found(domain.take(edited(3)));
    expect(wordOf(domain)).toBe('failed');
    expect(domain.patience).toBeLessThanOrEqual(15 * minute);
    found(domain.wait(15 * minute));
    expect(wordOf(domain)).toBe('waitingForPermit');
  });

  test('an edit meanwhile does not bring a wished attempt forward', () => {
    const domain = fail(renewing(), 'refused');
    saidToIssuer(domain);
    looked(domain.take({ type: 'domain.recheck' }));
    expect(wordOf(domain)).toBe('backingOff');
    expect(saidToIssuer(domain)).toEqual([]);
  });
});
