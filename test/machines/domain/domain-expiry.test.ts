/** The domain chart and a certificate that expires in the queue: docs/features/certificates.md §9.1. */
import { describe, expect, test } from 'vitest';
import { domainChart } from '../../../src/machines/domain/domain.ts';
import { domainForm } from '../../../src/machines/domain/domain-record.ts';
import { dateText } from '../../../src/machines/domain/domain-words.ts';
import { toldOf } from '../told.ts';
import {
  confirmed,
  type Domain,
  found,
  fresh,
  granted,
  hour,
  saidToIssuer,
  storing,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

const reports = (domain: Domain) => domain.askedOf('domain.report');

describe('§9.1: a certificate that expires while its domain waits for its turn', () => {
  const deferred = { type: 'permit.deferred', issuer: 'acme', reason: 'budget', until: null } as const;
  /** Due for renewal, with the budget used up. */
  const waiting = () => {
    const stored = storing();
    const domain = confirmed(valid(stored, fresh(stored, hour, { ariId: null })));
    const notAfter = domain.context.certificate?.notAfter ?? 0;
    domain.wait(hour / 2);
    found(domain, { good: domain.context.certificate });
    domain.take(deferred);
    expect(wordOf(domain)).toBe('waitingForPermit');
    return { domain, untilEnd: () => notAfter - domain.now };
  };
  const expired = () => {
    const { domain, untilEnd } = waiting();
    domain.wait(untilEnd());
    return domain;
  };

  test('makes it wrong from that moment on, and people are told', () => {
    const domain = expired();
    expect(wordOf(domain)).toBe('expired');
    const { state, conditions } = reports(domain).at(-1)?.status ?? {};
    expect(state).toBe('waitingForPermit');
    expect(conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False', reason: 'Expired' });
  });

  test('keeps it wrong however often it asks, and after an outage or a limit', () => {
    const domain = expired();
    domain.asked();
    domain.wait(domain.patience ?? 0);
    expect(saidToIssuer(domain)).toEqual(['permit.asked']);
    domain.take({ ...deferred, reason: 'full' });
    expect(wordOf(domain)).toBe('expired');
    domain.take({ ...deferred, reason: 'down' });
    expect(wordOf(domain)).toBe('issuerDown');
    expect(wordOf(domain.take(deferred))).toBe('expired');
  });

  test('§5.5: stays a renewal, which comes before new hosts, and says when the certificate ended', () => {
    const domain = expired();
    domain.asked();
    domain.wait(domain.patience ?? 0);
    const [asked] = domain.askedOf('message.send').map(({ event }) => event);
    const ends = domain.context.certificate?.notAfter;
    expect(asked).toMatchObject({ type: 'permit.asked', due: true, ends });
  });

  test('is renewed as soon as it is its turn', () => {
    expect(wordOf(expired().take(granted))).toBe('ordering');
  });

  test('that is found expired makes it wrong with the first answer, or without one', () => {
    const lookedAt = () => {
      const domain = expired();
      domain.take({ type: 'domain.recheck' });
      return found(domain, { good: domain.context.certificate });
    };
    expect(wordOf(lookedAt())).toBe('waitingForPermit');
    expect(wordOf(lookedAt().take(deferred))).toBe('expired');
    const silent = lookedAt();
    silent.wait(silent.patience ?? 0);
    expect(wordOf(silent)).toBe('expired');
  });
});

describe('§5.10: a domain that its Issuer makes wait for long', () => {
  const deferred = (domain: Domain, ms: number | null, reason: 'budget' | 'full' | 'busy' = 'budget') => {
    const until = ms === null ? null : domain.now + ms;
    const message = '300 orders in 3 hours (spec.budget.ordersPer3h)';
    return domain.take({ type: 'permit.deferred', issuer: 'acme', reason, until, message });
  };
  const health = (domain: Domain) => toldOf('domain', domain).health;
  /** Due for renewal, with this left of its certificate. */
  const renewing = (leftMs: number) => {
    const stored = storing();
    const domain = confirmed(valid(stored, fresh(stored, 2 * leftMs, { ariId: null })));
    domain.wait(leftMs);
    return found(domain, { good: domain.context.certificate });
  };

  test.each(['budget', 'full'] as const)(
    'needs a look at once if it has no certificate and waits for an hour or longer (%s)',
    (reason) => {
      const domain = wanting();
      expect(health(deferred(domain, hour - 1_000, reason))).toBe('waiting');
      expect(health(deferred(domain, hour, reason))).toBe('wrong');
      expect(wordOf(domain)).toBe('waitingForPermit');
      expect(health(domain.take({ type: 'domain.recheck' }))).toBe('wrong');
      found(domain);
      expect(health(domain.take({ ...granted, question: domain.context.question }))).toBe('waiting');
    },
  );

  test('says why and until when', () => {
    const domain = deferred(wanting(), 3 * hour);
    const at = domain.now + 3 * hour;
    expect(toldOf('domain', domain)).toMatchObject({
      text: `Issuer acme has used up its budget: 300 orders in 3 hours (spec.budget.ordersPer3h); app.example.com waits; its turn comes at about ${dateText(at)}.`,
      next: { at },
    });
  });

  test('needs a look once it has waited so long, also for others, and though no end is known', () => {
    const domain = deferred(wanting(), null, 'busy');
    const end = domain.now + hour;
    while (domain.now < end - 5 * 60_000) domain.wait(domain.patience ?? 0);
    expect(health(domain)).toBe('waiting');
    while (domain.now < end) domain.wait(domain.patience ?? 0);
    expect(health(domain)).toBe('wrong');
  });

  test('needs none while its certificate outlasts the wait, and one if it does not', () => {
    expect(health(deferred(renewing(12 * hour), 11 * hour))).toBe('waiting');
    expect(health(deferred(renewing(12 * hour), 12 * hour))).toBe('wrong');
  });

  test('a certificate that is found ends it, and the record says no more than before', () => {
    const domain = deferred(wanting(), 3 * hour);
    domain.take({ type: 'domain.recheck' });
    found(domain, { good: fresh(domain) });
    expect([wordOf(domain), health(domain)]).toEqual(['valid', 'ok']);
    expect(Object.keys(domainForm.slim(domain.context) as object)).not.toContain('askedAt');
    // As a list sees it.
    expect(domainChart.needsLook?.(domainForm.slim(deferred(wanting(), 3 * hour).context))).toBe(true);
  });
});
