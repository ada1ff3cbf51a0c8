/**
 * The domain chart: what is made for a challenge is noted first and taken away, whatever happens
 * (docs/features/certificates.md §4.6).
 */
import { describe, expect, test } from 'vitest';
import { createStepper } from '../../../src/actors/host/step.ts';
import type { Exhibit } from '../../../src/machines/domain/exhibit.ts';
import { sweepsMax } from '../../../src/machines/domain/exhibit-steps.ts';
import { machines } from '../../chart-of.ts';
import { dnsIssuer, domainFacts, exhibit } from '../../features/certificates/certificate-samples.ts';
import {
  authorizing,
  confirmed,
  type Domain,
  day,
  fail,
  found,
  granted,
  hour,
  newDomain,
  observed,
  valid,
  wordOf,
} from './domain-script.ts';

const dnsFacts = { ...domainFacts, issuer: dnsIssuer };
const routed = {
  ...domainFacts,
  issuer: { ...dnsIssuer, challenge: 'http01', exhibits: true },
} as const;

function preparing(facts: typeof domainFacts = dnsFacts): Domain {
  return authorizing(found(newDomain(facts)).take(granted));
}

function showing(shown: Exhibit | null = exhibit, domain: Domain = preparing()): Domain {
  return domain.take({ type: 'challenge.planned', attempt: domain.context.attempt, exhibit: shown });
}

const cleared = (removed: readonly Exhibit[], message = '') =>
  ({ type: 'challenge.cleared', removed, message }) as const;

describe('before anything is made', () => {
  test.each([
    ['DNS', dnsFacts],
    ['a route', routed],
  ])('of %s, it is planned, and stands in the record', (_, facts) => {
    const domain = preparing(facts);
    expect(wordOf(domain)).toBe('preparing');
    expect(domain.asked().map(({ type }) => type)).not.toContain('acme.authorize');
    showing(exhibit, domain);
    expect(wordOf(domain)).toBe('authorizing');
    expect(domain.context.showing).toEqual(exhibit);
    expect(domain.askedOf('acme.authorize')).toMatchObject([{ exhibit }]);
  });

  test('an answer over HTTP alone needs no plan', () => {
    const domain = authorizing();
    expect(wordOf(domain)).toBe('authorizing');
    expect(domain.askedOf('acme.authorize')).toMatchObject([{ exhibit: null }]);
  });

  test('a plan that never comes is an outage, like any step of the authority', () => {
    const domain = preparing();
    domain.wait(domain.patience ?? 0);
    expect(wordOf(domain)).toBe('issuerDown');
    expect(domain.askedOf('challenge.clear')).toEqual([]);
  });
});

describe('afterwards', () => {
  test('nothing is left if whoever showed it took it away', () => {
    const domain = showing();
    domain.take({ type: 'order.authorized', attempt: domain.context.attempt, removed: true });
    expect(domain.context).toMatchObject({ showing: null, leftovers: [] });
    expect(domain.askedOf('challenge.clear')).toEqual([]);
  });

  const ends: Array<readonly [string, (domain: Domain) => unknown]> = [
    [
      'it went well, and cleaning up did not',
      (one) => one.take({ type: 'order.authorized', attempt: one.context.attempt, removed: false }),
    ],
    ['the authority refused', (one) => fail(one, 'refused')],
    ['nothing was heard of it', (one) => one.wait(one.patience ?? 0)],
    ['the Issuer changed in the middle', (one) => one.take(observed(domainFacts))],
    ['the host passed to another namespace', (one) => one.take(observed({ ...dnsFacts, owner: 'web' }))],
    ['nothing asks for it any more', (one) => one.take(observed(null))],
  ];

  test.each(ends)('%s: it is taken away at once', (_, end) => {
    const domain = showing();
    domain.asked();
    end(domain);
    expect(domain.context).toMatchObject({ showing: null, leftovers: [exhibit] });
    expect(domain.askedOf('challenge.clear').at(0)).toMatchObject({ exhibits: [exhibit] });
    domain.take(cleared([exhibit]));
    expect(domain.context.leftovers).toEqual([]);
  });

  test('what cannot be taken away is tried again with growing pauses, told once, and given up in the end', () => {
    const domain = showing();
    domain.take({ type: 'order.authorized', attempt: domain.context.attempt });
    const { attempt } = domain.context;
    confirmed(valid(domain.take({ type: 'certificate.received', attempt, fingerprint: 'f1' })));
    domain.asked();
    const notices: string[] = [];
    const pauses: number[] = [];
    for (let tries = 0; tries < sweepsMax; tries++) {
      domain.take(cleared([], 'the webhook is away.'));
      notices.push(...domain.askedOf('domain.report').flatMap(({ notice }) => notice?.note ?? []));
      const before = domain.now;
      for (let n = 0; n < 2 * hour && domain.context.leftovers.length > 0; n += 30_000) {
        domain.wait(30_000);
        if (domain.askedOf('challenge.clear').length > 0) break;
      }
      if (domain.context.leftovers.length > 0) pauses.push(domain.now - before);
    }
    expect(pauses.slice(0, 4)).toEqual([30_000, 60_000, 120_000, 240_000]);
    expect(Math.max(...pauses)).toBe(hour);
    expect(notices).toHaveLength(2);
    expect(notices[0]).toContain('TXT record _acme-challenge.app.example.com "digest" could not be removed');
    expect(notices[1]).toContain('remove it yourself');
    expect(domain.context).toMatchObject({ leftovers: [], sweeps: 0 });
  });

  test('a look at the Secrets gives nothing up: that is left to a state in which it can be told', () => {
    const domain = fail(showing(), 'refused');
    for (let tries = 1; tries < sweepsMax; tries++) domain.take(cleared([], 'away'));
    domain.take({ type: 'domain.recheck' });
    expect(wordOf(domain)).toBe('checkingStored');
    domain.take(cleared([], 'away'));
    expect(domain.context.leftovers).toEqual([exhibit]);
    found(domain).asked();
    domain.take(cleared([], 'away'));
    expect(domain.askedOf('domain.report').some(({ notice }) => notice?.reason === 'ChallengeLeft')).toBe(
      true,
    );
    expect(domain.context.leftovers).toEqual([]);
  });

  test('of an Ingress or HTTPRoute that is given up it is told that it expires', () => {
    const [service, owner] = [
      { namespace: 'orrery', name: 'orrery', port: 8089 },
      { name: 'acme', uid: 'u' },
    ];
    const route = {
      kind: 'ingress',
      host: 'app.example.com',
      name: 'acme-app',
      service,
      owner,
      className: null,
    } as const;
    const domain = fail(showing(route, preparing(routed)), 'refused');
    domain.asked();
    for (let tries = 0; tries < sweepsMax; tries++) domain.take(cleared([], 'forbidden'));
    const note = domain.askedOf('domain.report').at(-1)?.notice?.note;
    expect(note).toMatch(/^Ingress orrery\/acme-app .*Orrery removes a route once it has expired/);
    expect(note).not.toContain('TXT');
  });

  test('what is shown anew is no left-over any more, and what is left beside it stays noted', () => {
    const other = { ...exhibit, value: 'older' };
    const first = showing(other);
    fail(first, 'cluster');
    first.take(cleared([], 'away'));
    first.wait(10_000);
    const again = authorizing(found(first).take(granted));
    showing(exhibit, again);
    expect(again.context).toMatchObject({ showing: exhibit, leftovers: [other] });
    showing(other, authorizing(found(fail(again, 'cluster').wait(10_000)).take(granted)));
    expect(again.context).toMatchObject({ showing: other, leftovers: [exhibit] });
  });
});

describe('a host that nothing asks for', () => {
  const clearing = () => showing().take(observed(null));

  test('goes only when what was made for it is gone', () => {
    const domain = clearing();
    expect(domain.state).toBe('clearing');
    expect(domain.take(cleared([], 'away')).isOver).toBe(false);
    expect(domain.take(observed(null)).state).toBe('clearing');
    expect(domain.wait(2 * hour).take(cleared([exhibit])).isOver).toBe(true);
  });

  test('goes after a day at the latest', () => {
    expect(clearing().wait(day).isOver).toBe(true);
  });

  test('tells whoever asked last what is given up, and who removes it', () => {
    const domain = clearing();
    domain.asked();
    for (let tries = 0; tries < sweepsMax; tries++) domain.take(cleared([], 'away')).wait(hour);
    const [told, ...others] = domain.askedOf('domain.report');
    expect(others).toEqual([]);
    expect(told).toMatchObject({ sources: domainFacts.sources, notice: { reason: 'ChallengeLeft' } });
    const left =
      'TXT record _acme-challenge.app.example.com "digest" could not be removed in 12 attempts (away)';
    expect(told?.notice?.note).toBe(`${left}. Nobody else removes a TXT record: remove it yourself.`);
    expect(domain.isOver).toBe(true);
  });

  test('tells the same if its replicas were away for that long', () => {
    const domain = clearing();
    domain.asked();
    domain.wait(day);
    expect(domain.askedOf('domain.report').at(0)?.notice?.note).toContain('remove it yourself');
  });

  test('is obtained anew when somebody asks again, and what is left is taken away all the same', () => {
    const domain = clearing().take(observed(dnsFacts));
    expect(wordOf(domain)).toBe('checkingStored');
    expect(domain.context).toMatchObject({ certificate: null, order: null, leftovers: [exhibit] });
    expect(domain.take(cleared([exhibit])).context.leftovers).toEqual([]);
  });
});

test('a record of version 2 in the middle of a proof goes on, and notes from then on', () => {
  const { domain: chart } = machines;
  if (!chart) throw new Error('there is no domain chart');
  const stepper = createStepper(chart);
  const { showing: _, leftovers: __, sweeps: ___, ...context } = showing().context;
  const stamp = { at: 1_700_000_000_000, random: 0.5 };
  const restored = stepper.restore({ value: { acquiring: 'authorizing' }, context } as never, 2);
  const { attempt } = context;
  const next = stepper.step(restored, { type: 'order.authorized', attempt, ...stamp });
  expect(next.effects.map(({ type }) => type)).toContain('acme.finalize');
  expect(next.effects.map(({ type }) => type)).not.toContain('challenge.clear');
});
