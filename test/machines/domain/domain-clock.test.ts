/** The time of a domain: what a replica whose clock was ahead has written holds nothing up for longer. */
import { expect, test } from 'vitest';
import { domainFacts } from '../../features/certificates/certificate-samples.ts';
import {
  confirmed,
  type Domain,
  day,
  fail,
  found,
  fresh,
  granted,
  hour,
  minute,
  observed,
  ordering,
  storing,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

const year = 365 * day;

const edited = observed({
  ...domainFacts,
  sources: domainFacts.sources.map((one) => ({ ...one, generation: 2 })),
});

/** Lets it go on under the next owner, whose clock is right, after an edit, and answers its looks. */
function goOn(domain: Domain, ms: number): Domain {
  found(domain.take(edited), { good: domain.context.certificate });
  for (const until = domain.now + ms; domain.now < until; ) {
    domain.wait(Math.min(until - domain.now, domain.patience ?? ms));
    if (wordOf(domain) === 'checkingStored') found(domain, { good: domain.context.certificate });
  }
  return domain;
}

test.each([hour, day, year])('a pause that a clock set %i ms ahead ends within 26 h', (aheadMs) => {
  const domain = ordering();
  domain.now += aheadMs;
  fail(domain, 'refused');
  domain.now -= aheadMs;
  goOn(domain, Math.min(aheadMs, 26 * hour) + 2 * minute);
  expect(wordOf(domain)).toBe('waitingForPermit');
});

test.each([hour, year])('an edit brings forward what began by a clock %i ms ahead as well', (aheadMs) => {
  const domain = wanting();
  domain.now += aheadMs;
  fail(domain.take(granted), 'hopeless');
  domain.now -= aheadMs;
  found(domain.take(edited));
  expect(domain.context.nextAttempt).toBe(domain.now + 15 * minute);
});

test.each([hour, year])(
  'the authority is asked for its window again after a clock %i ms ahead',
  (aheadMs) => {
    const domain = confirmed(valid(storing(), fresh(storing(), 3 * year)));
    domain.now += aheadMs;
    const { fingerprint } = domain.context.certificate ?? { fingerprint: '' };
    domain.take({ type: 'ari.unavailable', fingerprint, retryAfterMs: null });
    domain.now -= aheadMs;
    domain.asked();
    goOn(domain, 2 * day);
    expect(domain.askedOf('ari.fetch').length).toBeGreaterThan(0);
  },
);

test.each([hour, year])('a Secret that lacks its copy gets it after a clock %i ms ahead', (aheadMs) => {
  const other = { namespace: 'web', secretName: 'app' };
  const domain = storing();
  domain.take(observed({ ...domainFacts, targets: [...domainFacts.targets, other] }));
  domain.now += aheadMs;
  const { attempt } = domain.context;
  const refused = [{ ...other, message: 'exceeded quota' }];
  const certificate = { ...fresh(domain, 3 * year), notBefore: domain.now - aheadMs };
  domain.take({ type: 'certificate.stored', attempt, certificate, foreign: [], refused });
  domain.now -= aheadMs;
  domain.asked();
  found(domain.take({ type: 'domain.recheck' }), { good: certificate, missing: [other] });
  expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'stored' }]);
});
