/**
 * A domain's questions for a permit, and the answers that come twice or late: docs/features/certificates.md
 * §5.1, §5.7.
 */
import { describe, expect, test } from 'vitest';
import { domainFacts } from '../../features/certificates/certificate-samples.ts';
import {
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
  observed,
  ordering,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

/** What it told the Issuer of its questions since the last look, each with its number. */
const questions = (domain: Domain) =>
  domain.askedOf('message.send').map(({ event }) => {
    if (event.type === 'permit.asked') return `asked ${event.question}`;
    if (event.type !== 'permit.returned') return event.type;
    return `returned ${event.question}${event.late ? ' late' : ''}${event.again ? `, next ${event.next}` : ''}`;
  });
const edited = observed({
  ...domainFacts,
  issuer: { name: 'acme', version: 'issuer-uid/2', kind: 'acme', challenge: 'http01' },
});

test('a question keeps its number however often it is asked, also while the Secret is inspected', () => {
  const domain = wanting();
  const { question } = domain.context;
  expect(questions(domain)).toEqual([`asked ${question}`]);
  domain.wait(5_000);
  found(domain.take({ type: 'domain.recheck' }));
  expect(questions(domain)).toEqual([`asked ${question}`, `asked ${question}`]);
});

test('the next one has another number, which the return of the permit names', () => {
  const domain = ordering();
  const { question } = domain.context;
  questions(domain);
  fail(domain, 'down');
  const next = domain.context.question;
  expect(next).toBeGreaterThan(question);
  expect(questions(domain)).toEqual([`returned ${question}, next ${next}`]);
});

test('an answer to a question that has ended is given back, and no order is made under it', () => {
  const domain = wanting();
  const { question } = domain.context;
  found(domain.take(edited));
  questions(domain);
  domain.take({ ...granted, question });
  expect(wordOf(domain)).toBe('waitingForPermit');
  expect(questions(domain)).toEqual([`returned ${question} late`]);
  domain.take({ ...granted, question: domain.context.question });
  expect(wordOf(domain)).toBe('ordering');
});

test('an answer that comes twice is taken once', () => {
  const domain = wanting();
  const { question } = domain.context;
  domain.take({ ...granted, question });
  questions(domain);
  domain.take({ ...granted, question });
  expect(questions(domain)).toEqual([]);
});

test('a place that was kept while the Secret is inspected is given up with the host', () => {
  const domain = wanting().take({ type: 'domain.recheck' });
  const { question } = domain.context;
  questions(domain);
  expect(questions(domain.take(observed(null)))).toEqual([`returned ${question}`]);
});

test('a domain that never asked gives nothing up', () => {
  const domain = confirmed(valid());
  questions(domain);
  expect(questions(domain.take(edited))).toEqual([]);
});

test('an Issuer of an earlier release, which names no question, is believed', () => {
  expect(wordOf(wanting().take(granted))).toBe('ordering');
});

test('§5.8: one that waits only for others says so, and asks seldom from then on', () => {
  const domain = wanting();
  const asked = () => domain.askedOf('message.send').map(({ event }) => event);
  expect(asked()).toMatchObject([{ type: 'permit.asked', times: 1 }]);
  domain.wait(4_000);
  expect(asked()).toMatchObject([{ type: 'permit.asked', times: 2 }]);
  const message = '10 orders are in progress, as many as it allows';
  domain.take({ type: 'permit.deferred', issuer: 'acme', reason: 'busy', until: null, message });
  expect(wordOf(domain)).toBe('waitingForPermit');
  const ready = domain.askedOf('domain.report').at(-1)?.status.conditions[0];
  expect(ready?.message).toBe(
    'Issuer acme is busy: 10 orders are in progress, as many as it allows; app.example.com waits.',
  );
  expect(domain.patience).toBeGreaterThanOrEqual(60_000);
});

test('§7.6: what the authority refused of the Issuer with the order is told to the Issuer with the permit', () => {
  const domain = ordering();
  domain.asked();
  fail(domain, 'unusable', { refusedSpec: 'issuer-uid/1' });
  const [given] = domain.askedOf('message.send');
  expect(given?.event).toMatchObject({ outcome: 'unusable', refusedSpec: 'issuer-uid/1', again: true });
  expect(domain.context).toMatchObject({ failures: 0, hold: null });
});

describe('§3.7: a key whose order is given up because the Issuer is another one', () => {
  const ca = { name: 'internal', version: 'ca-uid/1', kind: 'ca', challenge: null } as const;
  const discarded = (domain: Domain) => domain.askedOf('pending.discard').map(({ at }) => at);

  test('is removed when a CA signs', () => {
    const domain = finalizing();
    const { pendingAt } = domain.context;
    found(domain.take(observed({ ...domainFacts, issuer: ca })));
    domain.asked();
    domain.take({ type: 'permit.granted', issuer: 'internal' });
    expect(wordOf(domain)).toBe('storing');
    expect(discarded(domain)).toEqual([pendingAt]);
    expect(domain.context.pendingAt).toBe(null);
  });

  test('is removed when a good certificate is found', () => {
    const domain = finalizing();
    const { pendingAt } = domain.context;
    domain.take(observed({ ...domainFacts, issuer: ca }));
    found(domain, { good: fresh(domain) });
    expect(wordOf(domain)).toBe('valid');
    expect(discarded(domain)).toEqual([pendingAt]);
    expect(discarded(found(domain.take({ type: 'domain.recheck' }), { good: fresh(domain) }))).toEqual([]);
  });

  test('is removed when the next order keeps its key beside another Secret', () => {
    const domain = finalizing();
    const { pendingAt } = domain.context;
    const other = { namespace: 'shop', secretName: 'edited' };
    const sources = domainFacts.sources.map((one) => ({ ...one, generation: 2, secretName: 'edited' }));
    const issuer = { name: 'staging', version: 'staging-uid/1', kind: 'acme', challenge: 'http01' } as const;
    const edited = { ...domainFacts, sources, targets: [other], stored: [null], issuer };
    // The broken attempt has earned a minute.
    found(domain.take(observed(edited)));
    found(domain.wait(2 * minute)).asked();
    domain.take({ type: 'permit.granted', issuer: 'staging', question: domain.context.question });
    expect(wordOf(domain)).toBe('ordering');
    expect([discarded(domain), domain.context.pendingAt]).toEqual([[pendingAt], other]);
  });

  test('stays where the next order keeps its own', () => {
    const domain = finalizing();
    const { pendingAt } = domain.context;
    fail(domain, 'down');
    // By then the order has expired.
    domain.wait(2 * day).asked();
    domain.take({ type: 'permit.granted', issuer: 'acme', question: domain.context.question });
    expect(wordOf(domain)).toBe('ordering');
    expect([discarded(domain), domain.context.pendingAt]).toEqual([[], pendingAt]);
  });

  test('is removed when no Issuer is left', () => {
    const domain = finalizing();
    const { pendingAt } = domain.context;
    domain.take(observed({ ...domainFacts, issuer: null, issuerMissing: 'none' }));
    expect(wordOf(domain)).toBe('waitingForIssuer');
    expect([discarded(domain), domain.context.pendingAt]).toEqual([[pendingAt], null]);
    expect(discarded(domain.wait(3 * hour))).toEqual([]);
  });
});
