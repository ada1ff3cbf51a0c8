/** The domain chart and a certificate that expires in the queue: docs/features/certificates.md §9.1. */
import { describe, expect, test } from 'vitest';
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
