/**
 * What others who ask for the same host can do to it, and what each who asks is told of its own Secret:
 * docs/features/certificates.md §2, §9.2.
 */
import { describe, expect, test } from 'vitest';
import { domainChart } from '../../../src/machines/domain/domain.ts';
import type { DomainFacts, DomainSource } from '../../../src/machines/domain/domain-facts.ts';
import { sentence } from '../../../src/machines/domain/domain-words.ts';
import { stateWords } from '../../../src/machines/tell.ts';
import { domainFacts, target } from '../../features/certificates/certificate-samples.ts';
import {
  confirmed,
  type Domain,
  day,
  fail,
  finalizing,
  found,
  fresh,
  newDomain,
  observed,
  ordering,
  storing,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

const [source] = domainFacts.sources;
if (source === undefined) throw new Error('the sample has a source');
const stranger = (generation: number): DomainSource => ({
  kind: 'Domain',
  namespace: 'evil',
  name: 'thief',
  uid: 'evil-1',
  generation,
});
const contested = (generation: number, facts: DomainFacts = domainFacts): DomainFacts => ({
  ...facts,
  refused: [stranger(generation)],
});
/** Somebody who is refused edits his object, again and again. */
function disturbed(domain: Domain, facts: DomainFacts = domainFacts, times = 5): Domain {
  domain.asked();
  for (let n = 1; n <= times; n++) domain.take(observed(contested(n, facts)));
  return domain;
}

describe('§2.2: one who is refused and edits his object again and again', () => {
  const asked = (domain: Domain) => [...new Set(domain.asked().map(({ type }) => type))];

  test.each([
    ['failed', fail(ordering(), 'hopeless')],
    ['backingOff', fail(ordering(), 'refused')],
    ['waitingForPermit', wanting()],
    ['valid', confirmed(valid())],
    ['storing', storing()],
    ['finalizing', finalizing()],
  ])('is told how it stands, and nothing else happens to a domain that is %s', (word, domain) => {
    const { attempt, nextAttempt } = domain.context;
    disturbed(domain, { ...domainFacts, stored: domain.context.facts?.stored ?? [] });
    expect(wordOf(domain)).toBe(word);
    expect(asked(domain)).toEqual(['domain.report']);
    expect(domain.context).toMatchObject({ attempt, nextAttempt, facts: { refused: [stranger(5)] } });
  });

  test('what was stored meanwhile counts', () => {
    const domain = disturbed(storing());
    expect(wordOf(valid(domain))).toBe('valid');
  });
});

describe('§7.5: one with whom the host is shared', () => {
  const shared = { ...stranger(1), namespace: 'web', uid: 'web-1' };
  const sharedFacts = (generation: number): DomainFacts => ({
    ...domainFacts,
    sources: [source, { ...shared, generation }],
    targets: [target, { namespace: 'web', secretName: 'app.example.com' }],
    stored: [null, null],
  });

  test('and who edits his object does not bring the next attempt nearer, nor interrupt what is being stored', () => {
    const domain = fail(ordering(), 'hopeless');
    const { nextAttempt } = domain.context;
    // His Secret is looked at once; what is tried again is the owner's choice.
    found(domain.take(observed(sharedFacts(1))));
    for (const generation of [2, 3, 4]) domain.take(observed(sharedFacts(generation)));
    found(domain.take(observed()).take(observed(sharedFacts(5))));
    expect(wordOf(domain)).toBe('failed');
    expect(domain.context.nextAttempt).toBe(nextAttempt);
    const midway = storing(finalizing()).take(observed(sharedFacts(1)));
    const { attempt } = midway.context;
    midway.take(observed(sharedFacts(2)));
    expect(midway.context.attempt).toBe(attempt);
  });
});

describe('§9.2: each who asks is told of its own Secret', () => {
  const second: DomainSource = { ...source, name: 'second', uid: 'dom-uid-2', secretName: 'second' };
  const other = { namespace: 'shop', secretName: 'second' };
  const both: DomainFacts = {
    ...domainFacts,
    sources: [source, second],
    targets: [target, other],
    stored: [null, null],
  };
  const last = (domain: Domain) => domain.askedOf('domain.report').at(-1);
  const lookedAt = (change: object, facts = both) => {
    const domain = newDomain(facts);
    return found(domain, { good: fresh(domain), ...change });
  };

  test('one whose Secret is somebody else’s is not Ready, the other is', () => {
    const report = last(lookedAt({ foreign: [other] }));
    expect(report?.status.conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
    expect(report?.lacking).toMatchObject({
      'dom-uid-2': {
        type: 'Ready',
        status: 'False',
        reason: 'SecretNotOurs',
        message: expect.stringContaining('shop/second'),
      },
    });
    expect(Object.keys(report?.lacking ?? {})).toEqual(['dom-uid-2']);
  });

  test('and gets it within 5 min of the end of that Secret, which no watch shows', () => {
    const domain = lookedAt({ foreign: [other] });
    const { certificate } = domain.context;
    expect(wordOf(domain.wait(5 * 60_000))).toBe('checkingStored');
    expect(wordOf(found(domain, { good: certificate, missing: [other] }))).toBe('storing');
  });

  test('so is one whose Secret holds the certificate of another host', () => {
    const taken = { ...both, targets: [target], taken: [{ ...other, by: 'b.example.com' }], stored: [null] };
    expect(last(lookedAt({}, taken))?.lacking).toMatchObject({
      'dom-uid-2': { reason: 'SecretNotOurs', message: expect.stringContaining('b.example.com') },
    });
  });

  test('and one whose Secret refuses to be written, until it does not', () => {
    const domain = storing(finalizing()).take(observed(both));
    const { attempt } = domain.context;
    const refused = [{ ...other, message: 'Secret shop/second was not written: exceeded quota' }];
    const certificate = fresh(domain);
    domain.asked();
    domain.take({ type: 'certificate.stored', attempt, certificate, foreign: [], refused });
    expect(last(domain)?.lacking).toMatchObject({
      'dom-uid-2': { reason: 'SecretNotWritten', message: expect.stringContaining('exceeded quota') },
    });
    domain.wait(5_000);
    found(domain, { good: certificate, missing: [other] });
    expect(wordOf(domain)).toBe('lacking');
    domain.wait(60_000);
    found(domain, { good: certificate, missing: [other] });
    expect(wordOf(domain)).toBe('storing');
    const next = domain.context.attempt;
    domain.take({ type: 'certificate.stored', attempt: next, certificate, foreign: [], refused: [] });
    expect(last(domain)?.lacking ?? {}).toEqual({});
  });

  test('that it lacks it is told as soon as a look finds it, with the time of the change', () => {
    const domain = found(newDomain(both));
    const settled = lookedAt({});
    settled.asked();
    settled.wait(3 * 3_600_000).take({ type: 'domain.recheck' });
    found(settled, { good: settled.context.certificate, foreign: [other] });
    const report = last(settled);
    expect(report?.lacking?.['dom-uid-2']).toMatchObject({ status: 'False', since: settled.now });
    expect(wordOf(domain)).toBe('waitingForPermit');
  });
});

describe('§2.6: what waits beside the Secret', () => {
  const web = { namespace: 'web', secretName: 'app.example.com' };
  const shared: DomainFacts = { ...domainFacts, targets: [target, web], stored: [null, null] };

  test('waits in the owner’s namespace, also where his own Secret is somebody else’s', () => {
    const domain = found(newDomain(shared), { foreign: [target] }).take({
      type: 'permit.granted',
      issuer: 'acme',
    });
    expect(domain.context.pendingAt).toEqual(target);
  });
});

test('§6.3, §9.1, §9.5: in a month of nothing a valid domain is ok and repeats what it said, which stays true', () => {
  const issuer = { ...domainFacts.issuer, name: 'ca', version: 'ca/1', kind: 'ca', challenge: null } as const;
  const domain = confirmed(
    valid(storing(), fresh(storing(), 90 * day)).take(observed({ ...domainFacts, issuer })),
  );
  if (wordOf(domain) === 'checkingStored') found(domain, { good: domain.context.certificate });
  const message = () => sentence(domain.context, 'valid', domain.now);
  const told = message();
  const end = domain.now + 30 * day;
  let looks = 0;
  domain.asked();
  while (domain.now + (domain.patience ?? day) < end) {
    domain.wait(domain.patience ?? day);
    if (wordOf(domain) !== 'checkingStored') continue;
    looks += 1;
    found(domain, { good: domain.context.certificate });
    expect(wordOf(domain)).toBe('valid');
    expect(stateWords(domainChart, domain.state).health).toBe('ok');
    expect(message()).toBe(told);
  }
  expect(looks).toBeGreaterThanOrEqual(30);
  const reports = domain.asked().filter(({ type }) => type !== 'certificate.inspect');
  // Once a day, because somebody else may have overwritten it; without an Event.
  expect(reports).toHaveLength(looks);
  expect(new Set(reports.map((report) => JSON.stringify({ ...report, at: 0 }))).size).toBe(1);
  expect(reports[0]).toMatchObject({ type: 'domain.report', notice: null });
});
