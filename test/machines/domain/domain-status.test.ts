/** What a domain does about statuses that it did not write: docs/features/certificates.md §9.5. */
import { describe, expect, test } from 'vitest';
import { createStepper } from '../../../src/actors/host/step.ts';
import { domainPart } from '../../../src/features/certificates/digest.ts';
import { domainChart } from '../../../src/machines/domain/domain.ts';
import type { DomainEvent } from '../../../src/machines/domain/domain-events.ts';
import { saidIn } from '../../../src/machines/domain/domain-report.ts';
import { saidNothing } from '../../../src/machines/said.ts';
import { domainFacts } from '../../features/certificates/certificate-samples.ts';
import { toldOf } from '../told.ts';
import type { Domain } from './domain-script.ts';
import {
  confirmed,
  day,
  fail,
  finalizing,
  found,
  fresh,
  hour,
  minute,
  newDomain,
  observed,
  storing,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

type Said = Parameters<typeof saidIn>[0];

const uid = domainFacts.sources[0]?.uid ?? '';
const other = { kind: 'Domain', namespace: 'mall', name: 'app', uid: 'dom-uid-2', generation: 3 } as const;
const timeText = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

const says = (said: Said, of = uid): DomainEvent => ({
  type: 'domain.status.observed',
  facts: [{ uid: of, said: saidIn(said) }],
});

/** What a valid domain was told. */
const validSaid = (domain: Domain, change: Partial<Said> = {}): Said => ({
  generation: 1,
  state: 'valid',
  notAfter: timeText(domain.context.certificate?.notAfter ?? 0),
  status: 'True',
  reason: 'CertificateValid',
  ...change,
});

const reports = (domain: Domain) => domain.askedOf('domain.report');
const stored = (facts = domainFacts) => {
  const domain = storing(finalizing());
  domain.take(observed(facts));
  return confirmed(valid(domain, fresh(domain)));
};
const quiet = (domain: Domain) => {
  domain.asked();
  return domain;
};

describe('a status that is seen to say what people were not told', () => {
  test.each<[string, Partial<Said>]>([
    ['of a step that is over', { state: 'storing' }],
    ['of an earlier specification', { generation: 0 }],
    ['of an earlier certificate', { notAfter: '2020-01-01T00:00:00Z' }],
    ['that the certificate is missing', { status: 'False', reason: 'NotIssuedYet' }],
  ])('%s is told again half a minute later, without an Event', (_, change) => {
    const domain = quiet(stored());
    domain.take(says(validSaid(domain, change)));
    expect(reports(domain.wait(29_999))).toEqual([]);
    expect(reports(domain.wait(1))).toMatchObject([{ notice: null, status: { state: 'valid' } }]);
    expect(reports(domain.wait(10 * minute))).toEqual([]);
  });

  test('is told again in time, however often it is written over meanwhile', () => {
    const domain = quiet(stored());
    for (let n = 0; n < 3; n++) {
      domain.take(says(validSaid(domain, { generation: -n - 1 })));
      domain.wait(10_000);
    }
    expect(reports(domain)).toHaveLength(1);
  });

  test('is none if it is seen to be true before', () => {
    const domain = quiet(stored());
    domain.take(says(validSaid(domain, { state: 'storing' }))).wait(1_000);
    domain.take(says(validSaid(domain)));
    expect(reports(domain.wait(minute))).toEqual([]);
  });

  test('costs nothing if it is true, is of another object, or says nothing', () => {
    const { context } = stored();
    const stepper = createStepper(domainChart);
    const snapshot = stepper.restore({ value: 'valid', context }, domainChart.version);
    const right = validSaid(stored());
    const silent: DomainEvent = { type: 'domain.status.observed', facts: null };
    const stamp = { at: (context.certificate?.notBefore ?? 0) + minute, random: 0 };
    for (const event of [says(right), says({ ...right, state: 'failed' }, 'another'), silent])
      expect(stepper.step(snapshot, { ...stamp, ...event }).changed).toBe(false);
    expect(stepper.step(snapshot, { ...stamp, ...says({ ...right, state: 'failed' }) }).changed).toBe(true);
  });

  test('is told again where the first one is right and the second is not', () => {
    const refused = { ...domainFacts, refused: [other] };
    const domain = quiet(stored(refused));
    const denied = { generation: 3, state: 'refused', notAfter: null, status: 'False' };
    const both = (reason: string): DomainEvent => ({
      type: 'domain.status.observed',
      facts: [
        { uid, said: saidIn(validSaid(domain)) },
        { uid: other.uid, said: saidIn({ ...denied, reason }) },
      ],
    });
    domain.take(both('HostOwnedByAnother'));
    expect(reports(domain.wait(minute))).toEqual([]);
    domain.take(both('CertificateValid'));
    expect(reports(domain.wait(minute))).toHaveLength(1);
  });

  test('is told again after an inspection that finds nothing new', () => {
    const domain = quiet(stored());
    domain.take({ type: 'domain.recheck' });
    domain.take(says(validSaid(domain, { state: 'storing' })));
    domain.wait(30_000);
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('valid');
    expect(reports(domain.wait(minute))).toHaveLength(1);
  });

  test.each<[string, () => Domain, string]>([
    ['waits for an Issuer', () => newDomain({ ...domainFacts, issuer: null }), 'waitingForIssuer'],
    ['waits for its turn', wanting, 'waitingForPermit'],
    ['was refused', () => fail(finalizing(), 'refused'), 'backingOff'],
  ])('is told again while the domain %s', (_, make, state) => {
    const domain = quiet(make());
    domain.take({ type: 'domain.status.observed', facts: [{ uid, said: 'x' }] });
    domain.wait(30_000);
    expect(reports(domain).at(-1)?.status.state).toBe(state);
  });

  test('is told again if it is missing, unless the object is so new that none was written yet', () => {
    const domain = quiet(stored());
    const missing = (createdAt: number): DomainEvent => ({
      type: 'domain.status.observed',
      facts: [{ uid, said: saidNothing, createdAt }],
    });
    expect(reports(domain.take(missing(domain.now - 59_999)).wait(minute))).toEqual([]);
    domain.take(missing(domain.now - hour));
    expect(reports(domain.wait(30_000))).toMatchObject([{ notice: null, status: { state: 'valid' } }]);
  });

  test('is none while an attempt is in progress, whose end is told', () => {
    const domain = quiet(finalizing());
    domain.take({ type: 'domain.status.observed', facts: [{ uid, said: 'x' }] });
    expect(reports(domain.wait(minute))).toEqual([]);
  });
});

test('a report that was lost just before an inspection that finds nothing new is repeated', () => {
  const domain = quiet(stored());
  domain.take({ type: 'effect.settled', effect: 'domain.report', error: 'away' });
  domain.take({ type: 'domain.recheck' }).wait(30_000);
  found(domain, { good: domain.context.certificate });
  expect(wordOf(domain)).toBe('valid');
  expect(reports(domain.wait(30_000))).toHaveLength(1);
});

describe('a status that cannot be written', () => {
  const settles = (error: string | null, overtaken?: true): DomainEvent => ({
    ...{ type: 'effect.settled', effect: 'domain.report', error },
    ...(overtaken && { overtaken }),
  });
  const denied = 'domains.orrery.dev "app" is forbidden: cannot patch resource \'domains/status\'.';
  const denying = (domain: Domain, ms: number) => {
    for (const end = domain.now + ms; domain.now < end; ) {
      domain.take(settles(denied)).wait(30_000);
      expect(reports(domain).at(-1)?.status.state).toBe('valid');
    }
    return domain;
  };

  test('for five minutes needs a look, though the certificate is well, until it is written', () => {
    const domain = quiet(stored());
    const since = timeText(domain.now);
    const written = toldOf('domain', domain).text;
    denying(domain, 5 * minute);
    expect(toldOf('domain', domain)).toEqual(expect.objectContaining({ health: 'ok' }));
    domain.take(settles(denied));
    expect(wordOf(domain)).toBe('valid');
    const text = `${written} Its status could not be written since ${since}, so kubectl shows an older one, or none: ${denied.slice(0, -1)}; let Orrery patch domains/status, a right that its chart grants, or exempt it from the policy named here.`;
    expect(toldOf('domain', domain)).toMatchObject({ health: 'wrong', text });
    domain.take(settles(null, true));
    expect(toldOf('domain', domain).health).toBe('wrong');
    domain.take(settles(null));
    expect(toldOf('domain', domain)).toMatchObject({ health: 'ok', text: written });
  });

  test('costs nothing once it is written, and is forgotten with the objects that had it', () => {
    const { context } = stored();
    const stepper = createStepper(domainChart);
    const snapshot = stepper.restore({ value: 'valid', context }, domainChart.version);
    const stamp = { at: (context.certificate?.notBefore ?? 0) + minute, random: 0 };
    expect(stepper.step(snapshot, { ...stamp, ...settles(null) }).changed).toBe(false);
    const domain = denying(quiet(fail(finalizing(), 'refused')), 0);
    domain
      .take(settles(denied))
      .wait(6 * minute)
      .take(settles(denied));
    expect(toldOf('domain', domain).health).toBe('wrong');
    domain.take(observed(null), settles(denied));
    expect([domain.state, domain.context.unwritten]).toEqual(['clearing', null]);
  });
});

test('what is due to be told while the Secrets are inspected is told then', () => {
  const storage = storing();
  const domain = confirmed(valid(storage, fresh(storage, 1.5 * day, { ariId: null })));
  const toLastDay = (domain.context.certificate?.notAfter ?? 0) - day - domain.now;
  quiet(domain.wait(toLastDay - 1_000));
  domain.take({ type: 'domain.recheck' }).wait(2_000);
  found(domain, { good: domain.context.certificate });
  expect(reports(domain.wait(minute))[0]?.status.conditions[0]?.message).toContain('in less than a day');
  expect(reports(domain.wait(6 * hour)).length).toBeGreaterThan(0);
});

test('the digest says what the actor compares with', () => {
  const metadata = { name: 'app', uid, generation: 1 };
  const ready = { status: 'True', reason: 'CertificateValid' };
  const conditions = [{ type: 'Ready', ...ready, message: 'words', lastTransitionTime: 'x' }];
  const status = { state: 'valid', observedGeneration: 1, notAfter: 't', renewAt: 'x', conditions };
  const said = domainPart({ metadata, spec: {}, status }).said;
  expect(said).toBe(saidIn({ generation: 1, state: 'valid', notAfter: 't', ...ready }));
  expect(domainPart({ metadata, spec: {} }).said).toBe(saidNothing);
});
