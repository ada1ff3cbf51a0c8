/**
 * The domain chart and whose host it is, whom it tells, and what it hears while it waits:
 * docs/features/certificates.md §2, §6, §7, §9.
 */
import { describe, expect, test } from 'vitest';
import type { DomainFacts } from '../../../src/machines/domain/domain-facts.ts';
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
  wanting,
  wordOf,
} from './domain-script.ts';

const [source] = domainFacts.sources;
if (source === undefined) throw new Error('the sample has a source');
const evil = { kind: 'Service', namespace: 'evil', name: 'thief', uid: 'evil-1', generation: 0 } as const;
const contested: DomainFacts = { ...domainFacts, refused: [evil] };
/** As the facts would be if the host were evil's. */
const asEvil: DomainFacts = {
  ...domainFacts,
  owner: 'evil',
  sources: [evil],
  refused: [source],
  targets: [{ namespace: 'evil', secretName: 'app.example.com' }],
  issuer: null,
  issuerMissing: 'there is no Issuer none',
};
const reports = (domain: Domain) => domain.askedOf('domain.report');

describe('§2: whose host it is', () => {
  test('2.1: an older object of another namespace that asks later takes nothing away', () => {
    const domain = confirmed(valid());
    domain.asked();
    domain.take({ type: 'domain.observed', facts: asEvil, rivals: [contested] });
    expect(domain.context.facts?.owner).toBe('shop');
    expect(domain.context.facts?.targets).toEqual([target]);
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('valid');
    const [report] = reports(domain).slice(-1);
    expect(report).toMatchObject({ refused: [evil], sources: [source] });
  });

  test('2.2: what a refused object wants changes neither Issuer nor targets, nor the time of anything', () => {
    const domain = fail(ordering(), 'refused');
    const { nextAttempt } = domain.context;
    domain.take({ type: 'domain.observed', facts: asEvil, rivals: [contested] });
    found(domain);
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.context).toMatchObject({ nextAttempt, facts: { issuer: { name: 'acme' } } });
  });

  test('2.7: when the owner asks no more it passes on with a new key, and the old pending key goes', () => {
    const domain = valid();
    domain.asked();
    domain.take(observed({ ...asEvil, issuer: domainFacts.issuer, refused: [] }));
    expect(domain.askedOf('certificate.inspect')).toMatchObject([{ owner: 'evil', known: [] }]);
    // A copy that was shared, or planted, stands there already: it is not taken over.
    found(domain, { good: fresh(domain, 90 * day, { fingerprint: 'known-to-others' }) });
    expect(wordOf(domain)).toBe('waitingForPermit');
    expect(domain.context.certificate).toBeNull();
    const midway = finalizing();
    midway.asked();
    midway.take(observed({ ...asEvil, issuer: domainFacts.issuer, refused: [] }));
    expect(midway.askedOf('pending.discard')).toMatchObject([{ at: target }]);
    expect(midway.context.order).toBeNull();
  });

  test('2.6: the look is told what the record names, and what is stored bears that fingerprint', () => {
    const domain = confirmed(valid());
    domain.asked();
    domain.take({ type: 'domain.recheck' });
    expect(domain.askedOf('certificate.inspect')).toMatchObject([{ known: ['f1'], owner: 'shop' }]);
    const other = { namespace: 'web', secretName: 'app' };
    found(domain, { good: domain.context.certificate, missing: [other] });
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'stored', fingerprint: 'f1' }]);
    expect(storing().askedOf('certificate.store')).toMatchObject([{ from: 'pending', fingerprint: 'f1' }]);
  });
});

describe('§9: truth in time', () => {
  const due = () => {
    const domain = confirmed(valid(storing(), fresh(storing(), hour, { ariId: null })));
    domain.wait(domain.patience ?? 0);
    return found(domain, { good: domain.context.certificate }).take(granted);
  };

  test.each([
    ['failed', () => fail(due(), 'hopeless')],
    [
      'waitingForIssuer',
      () =>
        confirmed(valid(storing(), fresh(storing(), hour, { ariId: null }))).take(
          observed({ ...domainFacts, issuer: null, issuerMissing: 'no Issuer allows it' }),
        ),
    ],
    ['issuerDown', () => fail(due(), 'down')],
    ['rateLimited', () => fail(due(), 'rateLimited', { retryAfterMs: 2 * hour })],
  ])('9.1: Ready is False from the end of the certificate on: %s', (_, reach) => {
    const domain = reach();
    domain.asked();
    const { notAfter } = domain.context.certificate ?? { notAfter: 0 };
    domain.wait(notAfter - domain.now);
    const [ready] = reports(domain).at(-1)?.status.conditions ?? [];
    expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason: 'Expired', since: notAfter });
  });

  test('9.1: before the end the message says in how long it comes', () => {
    const domain = storing();
    valid(domain, fresh(domain, 90 * day));
    const [ready] = reports(domain).at(-1)?.status.conditions ?? [];
    // What is told once has to stay true until it is told anew.
    expect(ready?.message).toMatch(/it expires .* UTC\.$/);
  });

  test('9.1: it is told again as the end comes near, and stays true until then', () => {
    const domain = confirmed(valid()).take(observed({ ...domainFacts, issuer: null }));
    const { notAfter } = domain.context.certificate ?? { notAfter: 0 };
    const told = [7 * day, day, hour].map((before) => {
      domain.asked();
      domain.wait(notAfter - before - domain.now);
      return reports(domain).at(-1)?.status.conditions[0]?.message;
    });
    for (const [n, span] of ['7 days', 'a day', 'an hour'].entries())
      expect(told[n]).toContain(`, in less than ${span}.`);
  });

  test.each([
    ['valid', () => confirmed(valid())],
    ['waitingForPermit', () => wanting()],
    ['ordering', () => ordering()],
    ['authorizing', () => authorizing()],
    ['finalizing', () => finalizing()],
    ['storing', () => storing()],
    ['backingOff', () => fail(ordering(), 'refused')],
    ['rateLimited', () => fail(ordering(), 'rateLimited')],
    ['issuerDown', () => fail(ordering(), 'down')],
    ['failed', () => fail(ordering(), 'hopeless')],
  ])('9.2: a new generation, and another Domain of the same Secret, are told: %s', (state, reach) => {
    const domain = reach();
    expect(wordOf(domain)).toBe(state);
    domain.asked();
    const second = { ...source, name: 'second', uid: 'dom-uid-2', generation: 3 };
    domain.take(observed({ ...domainFacts, sources: [{ ...source, generation: 2 }, second] }));
    if (wordOf(domain) === 'checkingStored') found(domain, { good: domain.context.certificate });
    expect(reports(domain).at(-1)?.sources).toEqual([{ ...source, generation: 2 }, second]);
  });

  test('9.3: the Issuer’s own reason is in the conditions', () => {
    const domain = wanting();
    domain.asked();
    const message = 'the Secret ca/internal does not exist';
    domain.take({ type: 'permit.deferred', issuer: 'acme', reason: 'notReady', until: null, message });
    const conditions = reports(domain).at(-1)?.status.conditions ?? [];
    for (const condition of conditions) expect(condition.message).toContain(message);
    expect(conditions).toHaveLength(2);
  });
});

describe('§7.6: an Issuer that does not work', () => {
  const deferred = (message: string | null) =>
    ({ type: 'permit.deferred', issuer: 'acme', reason: 'notReady', until: null, message }) as const;
  const why = 'the authority has deactivated the account';

  test('makes its domains wrong, for as long as it says so, however often they ask', () => {
    const domain = wanting().take(deferred(why));
    expect(wordOf(domain)).toBe('issuerUnusable');
    domain.asked();
    domain.wait(domain.patience ?? 0);
    expect(wordOf(domain)).toBe('issuerUnusable');
    expect(saidToIssuer(domain)).toEqual(['permit.asked']);
    domain.take(deferred(why));
    expect(wordOf(domain)).toBe('issuerUnusable');
    expect(reports(domain).every(({ status }) => status.state === 'waitingForPermit')).toBe(true);
  });

  test('makes none wrong while it is only being checked', () => {
    expect(wordOf(wanting().take(deferred(null)))).toBe('waitingForPermit');
  });

  test('may work again: the permit, an outage and the budget lead on', () => {
    const unusable = () => wanting().take(deferred(why));
    expect(wordOf(unusable().take(granted))).toBe('ordering');
    expect(wordOf(unusable().take({ ...deferred(why), reason: 'down' }))).toBe('issuerDown');
    expect(wordOf(unusable().take({ ...deferred(why), reason: 'budget' }))).toBe('waitingForPermit');
  });

  test('is told of after an outage and after a limit', () => {
    expect(wordOf(fail(ordering(), 'down').take(deferred(why)))).toBe('issuerUnusable');
    expect(wordOf(fail(ordering(), 'rateLimited').take(deferred(why)))).toBe('issuerUnusable');
  });
});

describe('§7.5: a domain that waits is not deaf', () => {
  const renewing = () => {
    const domain = confirmed(valid(storing(), fresh(storing(), hour, { ariId: null })));
    domain.take(observed({ ...domainFacts, stored: ['f1'] }));
    domain.wait(domain.patience ?? 0);
    return found(domain, { good: domain.context.certificate }).take(granted);
  };
  const states = [
    ['backingOff', () => fail(renewing(), 'refused')],
    ['rateLimited', () => fail(renewing(), 'rateLimited')],
    ['failed', () => fail(renewing(), 'hopeless')],
  ] as const;

  test.each(states)(
    '%s: a new target gets its copy at once, though the certificate is due',
    (state, reach) => {
      const domain = reach();
      expect(wordOf(domain)).toBe(state);
      const other = { namespace: 'shop', secretName: 'second' };
      domain.take(observed({ ...domainFacts, targets: [target, other], stored: ['f1', null] }));
      expect(wordOf(domain)).toBe('checkingStored');
      domain.asked();
      found(domain, { good: domain.context.certificate, missing: [other] });
      expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'stored' }]);
    },
  );

  test.each(states)('%s: a deleted Secret and a recheck are looked at at once', (_, reach) => {
    expect(wordOf(reach().take(observed({ ...domainFacts, stored: [null] })))).toBe('checkingStored');
    expect(wordOf(reach().take({ type: 'domain.recheck' }))).toBe('checkingStored');
  });

  test('its place in the queue is kept over a look, and given up when the Issuer is another', () => {
    const domain = wanting();
    saidToIssuer(domain);
    domain.take({ type: 'domain.recheck' });
    expect(saidToIssuer(domain)).toEqual([]);
    domain.take(granted);
    expect(saidToIssuer(domain)).toEqual(['returned unused']);
    found(domain);
    expect(saidToIssuer(domain)).toEqual(['permit.asked']);
    const issuer = { name: 'other', version: 'o/1', kind: 'acme', challenge: 'http01' } as const;
    domain.take(observed({ ...domainFacts, issuer }));
    expect(saidToIssuer(domain)).toEqual(['returned unused']);
  });

  test('a look in between forgets neither failures nor the time of the next attempt', () => {
    const domain = fail(renewing(), 'refused');
    const { nextAttempt } = domain.context;
    domain.take(observed({ ...domainFacts, stored: [null] }));
    found(domain);
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.context).toMatchObject({ nextAttempt, failures: 1 });
  });

  test('a target that refuses its copy is tried again after a while, not at once', () => {
    const domain = renewing();
    const other = { namespace: 'shop', secretName: 'second' };
    fail(domain, 'refused').take(
      observed({ ...domainFacts, targets: [target, other], stored: ['f1', null] }),
    );
    found(domain, { good: domain.context.certificate, missing: [other] });
    const { attempt, certificate } = domain.context;
    if (certificate === null) throw new Error('there is one');
    const refused = [{ ...other, message: 'Secret shop/second was not written: quota' }];
    domain.take({ type: 'certificate.stored', attempt, certificate, foreign: [], refused });
    expect(domain.context.failures).toBe(1);
    domain.asked();
    domain.wait(0);
    found(domain, { good: certificate, missing: [other] });
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.askedOf('certificate.store')).toEqual([]);
  });
});

describe('§6.4: a person renews by an annotation', () => {
  const wish = (renew?: string) =>
    observed({
      ...domainFacts,
      stored: ['f1'],
      sources: [{ ...source, ...(renew === undefined ? {} : { renew }) }],
    });

  test('anything new orders anew, once', () => {
    const domain = confirmed(valid()).take(wish('1'));
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('waitingForPermit');
    valid(storing(finalizing(authorizing(domain.take(granted)))));
    confirmed(domain).take(wish('1'));
    expect(wordOf(domain)).toBe('valid');
    expect(wordOf(domain.take(wish()))).toBe('checkingStored');
    expect(wordOf(found(domain, { good: domain.context.certificate }))).toBe('valid');
  });

  test('one that a Domain bore from its beginning is no wish', () => {
    const domain = newDomain({ ...domainFacts, sources: [{ ...source, renew: '1' }] });
    expect(domain.context.forced).toBe(false);
  });
});

describe('§5.3: what the authority issued is counted', () => {
  test.each(['cluster', 'foreign', 'unwritable'] as const)('stored by nobody: %s', (outcome) => {
    const domain = storing();
    saidToIssuer(domain);
    fail(domain, outcome);
    expect(saidToIssuer(domain)).toEqual(['returned issued']);
  });

  test('without a word too; and it is stored later without another permit', () => {
    const domain = storing();
    saidToIssuer(domain);
    domain.wait(domain.patience ?? 0);
    expect(saidToIssuer(domain)).toEqual(['returned issued']);
    domain.wait(10_000);
    found(domain, { pending: { ...fresh(domain), at: target } });
    expect(domain.askedOf('certificate.store')).toMatchObject([{ from: 'pending' }]);
    valid(domain);
    expect(saidToIssuer(domain)).toEqual([]);
  });

  test('a CA that signed in vain says so; one that cannot be used counts against nobody', () => {
    const ca = {
      ...domainFacts,
      issuer: { name: 'acme', version: 'u/1', kind: 'ca', challenge: null },
    } as const;
    const signed = wanting(ca).take(granted);
    saidToIssuer(signed);
    fail(signed, 'unwritable', { issued: true });
    expect(saidToIssuer(signed)).toEqual(['returned issued']);
    const unusable = wanting(ca).take(granted);
    saidToIssuer(unusable);
    fail(unusable, 'unusable');
    expect(wordOf(unusable)).toBe('waitingForPermit');
    expect(unusable.context.failures).toBe(0);
    expect(saidToIssuer(unusable)).toEqual(['returned unusable again', 'permit.asked']);
  });
});

describe('§3.7: the pending key', () => {
  test('is discarded when its order is given up', () => {
    const domain = finalizing();
    domain.asked();
    fail(domain, 'refused', { orderLost: true });
    expect(domain.askedOf('pending.discard')).toMatchObject([{ at: target }]);
  });

  test('is discarded when the Domain goes while it backs off from a step that may go on', () => {
    const domain = fail(finalizing(), 'down');
    domain.asked();
    domain.take(observed(null));
    expect(domain.askedOf('pending.discard')).toMatchObject([{ at: target }]);
  });

  test('names the object that asked', () => {
    expect(finalizing().askedOf('acme.finalize')).toMatchObject([{ source: { uid: 'dom-uid-1' } }]);
  });
});

test('§6.2: renewal information is asked for within minutes of the issue', () => {
  const domain = confirmed(valid());
  domain.asked();
  domain.wait(5 * minute);
  expect(domain.askedOf('ari.fetch')).toHaveLength(1);
});
