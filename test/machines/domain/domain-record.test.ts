/** A domain's context as its record holds it: docs/features/certificates.md §10.3. */
import { describe, expect, test } from 'vitest';
import { packRecord } from '../../../src/actors/host/records.ts';
import { createStepper, type StepResult } from '../../../src/actors/host/step.ts';
import type { DomainContext } from '../../../src/machines/domain/domain-context.ts';
import type { DomainFacts } from '../../../src/machines/domain/domain-facts.ts';
import { domainForm } from '../../../src/machines/domain/domain-record.ts';
import { machines } from '../../chart-of.ts';
import { certificate, domainFacts, inspected } from '../../features/certificates/certificate-samples.ts';
import {
  authorizing,
  confirmed,
  fail,
  finalizing,
  found,
  newDomain,
  observed,
  ordering,
  storing,
  valid,
  wanting,
} from './domain-script.ts';

const json = (value: unknown) => JSON.parse(JSON.stringify(value));
const chart = machines.domain;
if (chart === undefined) throw new Error('there is no domain chart');

describe('what a record leaves out follows from the rest', () => {
  const [source] = domainFacts.sources;
  if (source === undefined) throw new Error('the sample has a source');
  const crowd: DomainFacts = {
    ...domainFacts,
    sources: [source, { ...source, uid: 'u2', secretName: 'other' }, { ...source, uid: 'u3' }],
    refused: [{ ...source, namespace: 'evil', uid: 'u4' }],
    targets: [{ namespace: 'shop', secretName: 'app.example.com' }],
    taken: [{ namespace: 'shop', secretName: 'other', by: 'b.example.com' }],
    registered: 'app.example.com',
  };

  test.each([
    ['waitingForIssuer', newDomain({ ...domainFacts, issuer: null, issuerMissing: 'none' })],
    ['checkingStored', newDomain()],
    ['waitingForPermit', wanting()],
    ['authorizing', authorizing()],
    ['finalizing', finalizing()],
    ['storing', storing()],
    ['valid', confirmed(valid())],
    ['failed', fail(ordering(), 'hopeless')],
    ['rateLimited', fail(ordering(), 'rateLimited')],
    ['of a wildcard', newDomain(domainFacts, '*.example.com')],
    ['of several who ask', found(newDomain(crowd), { good: certificate })],
    ['that passes to another', valid().take(observed({ ...domainFacts, owner: 'web' }))],
  ])('of a domain that is %s', (_, { context }) => {
    expect(domainForm.whole(json(domainForm.slim(context)))).toEqual(context);
  });

  test('a whole one, as earlier releases wrote it, is taken as it is', () => {
    const { context } = confirmed(valid());
    expect(domainForm.whole(context)).toEqual(context);
  });
});

test('§10.3: a valid domain at rest is at most 1 KiB, with names as they are and all that it learns', () => {
  const host = 'checkout.payments.example-company.com';
  const namespace = 'payments-production';
  const uid = '0c5bfd5e-3f4c-4d3c-9a0e-5b1d4c7f9a21';
  const stepper = createStepper(chart);
  const at = certificate.notBefore;
  const facts: DomainFacts = {
    ...domainFacts,
    owner: namespace,
    sources: [{ kind: 'Domain', namespace, name: 'checkout-payments', uid, generation: 3 }],
    targets: [{ namespace, secretName: host }],
    issuer: { name: 'letsencrypt-production', version: `${uid}/7`, kind: 'acme', challenge: 'http01' },
    registered: 'example-company.com',
    stored: ['0123456789abcdef'],
  };
  const stamped = (event: object) => ({ type: '', ...event, at, random: 0.123456789 });
  const fingerprint = '0123456789abcdef'.repeat(2);
  const input = { id: `domain/_/${host}`, namespace: '_', name: host };
  const timers = new Map<string, object>();
  const keep = (result: StepResult) => {
    for (const change of result.timers) {
      if (change.kind === 'cancel') timers.delete(change.id);
      else timers.set(change.id, { id: change.id, event: change.event, at, delayMs: change.delayMs });
    }
    return result.snapshot;
  };
  let snapshot = keep(stepper.begin(input, stamped({ type: 'domain.observed', facts })));
  const good = { ...certificate, fingerprint, ariId: `${'a'.repeat(27)}.${'b'.repeat(24)}` };
  snapshot = keep(stepper.step(snapshot, stamped(inspected(1, { good }))));
  const window = { start: at + 86_400_000, end: at + 2 * 86_400_000, retryAfterMs: 21_600_000 };
  snapshot = keep(stepper.step(snapshot, stamped({ type: 'ari.fetched', fingerprint, ...window })));
  const bytes = packRecord({
    format: 1,
    machine: 'domain',
    version: chart.version,
    rev: 1_234,
    fence: 123_456_789,
    at,
    since: at,
    snapshot: stepper.persist(snapshot),
    timers: [...timers.values()] as never,
    outbox: [],
    feed: [],
    world: 12_345_678,
    mail: 12_345_678,
    mailOf: '2026-01-31T12:00:00.000000000Z',
    recentIds: [],
    lastError: null,
    gone: false,
  });
  expect((snapshot.context as DomainContext).window).not.toBeNull();
  expect(snapshot.value).toBe('valid');
  expect(bytes.byteLength).toBeLessThanOrEqual(1_024);
});
