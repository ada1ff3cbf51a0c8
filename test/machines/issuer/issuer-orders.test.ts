/**
 * An order that was made counts, however its attempt ended, and whatever is repeated or overtaken:
 * docs/features/certificates.md §5.7.
 */
import { expect, test } from 'vitest';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;

const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 1, duplicatesPer7d: 1 };
const asking = (host: string) => ({ domain: `domain/_/${host}`, registered: host, exempt: false }) as const;

const back = (change: object) =>
  ({
    type: 'permit.returned',
    ...asking('one.test'),
    outcome: 'unused',
    waitMs: 0,
    again: false,
    ...change,
  }) as const;

/** An Issuer that gave its only permit to one.test, for question 1. */
function spent(): Issuer {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, budget } });
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  return issuer.take({ type: 'permit.asked', ...asking('one.test'), question: 1 });
}

/** What it granted since the last look: `one.test 1`. */
const grantsOf = (issuer: Issuer) =>
  issuer
    .askedOf('message.send')
    .flatMap(({ to, event }) =>
      event.type === 'permit.granted' ? to.map((id) => `${id.slice(9)} ${event.question ?? '-'}`) : [],
    );

function grantedAfter(change: object): boolean {
  const issuer = spent().take(back(change));
  issuer.asked();
  return grantsOf(issuer.take({ type: 'permit.asked', ...asking('two.test') })).length > 0;
}

test('a permit that was given back counts for nothing, unless an order was made under it', () => {
  expect(grantedAfter({})).toBe(true);
  expect(grantedAfter({ ordered: true })).toBe(false);
});

test('§5.4: what did not count when it was granted is not given back, as after a wish amid a suggested renewal', () => {
  const issuer = spent();
  issuer.take({ type: 'permit.asked', ...asking('one.test'), exempt: true, question: 2 });
  issuer.take(back({ question: 1, outcome: 'issued' }));
  issuer.asked();
  issuer.take(back({ question: 2, outcome: 'refused' }));
  expect(grantsOf(issuer.take({ type: 'permit.asked', ...asking('one.test'), question: 3 }))).toEqual([]);
  const { certificates } = issuer.context.buckets;
  expect(certificates['one.test']).toBeGreaterThan(issuer.now);
});

test('a question that is repeated is granted once more, and counts once', () => {
  const issuer = spent().take({ type: 'permit.asked', ...asking('one.test'), question: 1 });
  expect(grantsOf(issuer)).toEqual(['one.test 1', 'one.test 1']);
  issuer.take(back({ question: 1 }));
  expect(grantsOf(issuer.take({ type: 'permit.asked', ...asking('two.test') }))).toEqual(['two.test -']);
});

test('a new question that overtakes the end of the last one waits for it, and counts by itself', () => {
  const issuer = spent();
  issuer.asked();
  issuer.take({ type: 'permit.asked', ...asking('one.test'), question: 2 });
  expect(grantsOf(issuer)).toEqual([]);
  expect(grantsOf(issuer.take(back({ question: 1, outcome: 'issued' })))).toEqual([]);
  expect(issuer.context.queue).toMatchObject([{ question: 2 }]);
});

test('what ends another question than the one that was granted returns nothing to the budget', () => {
  for (const change of [{ question: 0 }, { question: 1, late: true }])
    expect(grantedAfter(change)).toBe(false);
});

test('the end of a question is no end of the next one', () => {
  const issuer = spent().take(back({ question: 1, outcome: 'down', again: true, next: 2 }));
  issuer.take(back({ question: 1 }));
  expect(issuer.context.queue).toMatchObject([{ question: 2 }]);
});

test('a question that was overtaken by a newer one does not take its place', () => {
  const issuer = spent();
  for (const question of [3, 2]) issuer.take({ type: 'permit.asked', ...asking('one.test'), question });
  expect(issuer.context.queue).toMatchObject([{ question: 3 }]);
});
