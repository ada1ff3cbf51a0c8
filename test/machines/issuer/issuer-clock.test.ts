/** The time of an Issuer: checks each hour, and limits that last no longer where a clock was ahead. */
import { expect, test } from 'vitest';
import type { ActorId } from '../../../src/base/ids.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

const hour = 3_600_000;
const day = 24 * hour;
const year = 365 * day;
const budget = { ordersPer3h: 2, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 };

function ready(): ActorDriver<IssuerEvent, IssuerContext> {
  const issuer = new ActorDriver<IssuerEvent, IssuerContext>('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, budget } });
  return issuer.take({ type: 'issuer.verified', check: issuer.context.check });
}

const idOf = (host: string): ActorId => `domain/_/${host}`;
const asked = (host: string): IssuerEvent => ({
  type: 'permit.asked',
  domain: idOf(host),
  registered: 'example.com',
  exempt: false,
});

test.each([hour, day, year])(
  'budgets and permits that were counted %i ms ahead are free again in their time',
  (aheadMs) => {
    const issuer = ready();
    issuer.now += aheadMs;
    issuer.take(asked('a.example.com'), asked('b.example.com'));
    expect(Object.keys(issuer.context.inWork)).toEqual([idOf('a.example.com'), idOf('b.example.com')]);
    // The next owner's clock is right.
    issuer.now -= aheadMs;
    issuer.take(asked('c.example.com'));
    const { orders } = issuer.context.buckets;
    expect(orders).toBeLessThanOrEqual(issuer.now + 3 * hour);
    for (const { until } of Object.values(issuer.context.inWork))
      expect(until).toBeLessThanOrEqual(issuer.now + 330_000);
    // A bucket of which nothing is left gives its first token back within that: a week for 50.
    issuer.now += 4 * hour;
    issuer.take(asked('c.example.com'));
    expect(Object.keys(issuer.context.inWork)).toEqual([idOf('c.example.com')]);
  },
);

test('a limit that was met by a clock ahead ends within a day', () => {
  const issuer = ready();
  issuer.now += year;
  issuer.take(asked('a.example.com'), {
    ...{ type: 'permit.returned', domain: idOf('a.example.com'), registered: 'example.com', exempt: false },
    ...{ outcome: 'rateLimited', scope: 'domain', waitMs: hour, again: false },
  });
  issuer.now -= year;
  issuer.take(asked('b.example.com'));
  expect(Object.keys(issuer.context.inWork)).toEqual([]);
  issuer.now += day;
  issuer.take(asked('b.example.com'));
  expect(Object.keys(issuer.context.inWork)).toEqual([idOf('b.example.com')]);
});

test('it is checked each hour also while domains ask and wait for a budget that is used up', () => {
  const issuer = ready();
  issuer.take(asked('a.example.com'), asked('b.example.com'));
  issuer.askedOf('issuer.verify');
  for (let n = 0; n < 6; n++) issuer.wait(hour / 6).take(asked('c.example.com'));
  expect(issuer.askedOf('issuer.verify')).toHaveLength(1);
  for (let n = 0; n < 6; n++) issuer.wait(hour / 6).take(asked('c.example.com'));
  expect(issuer.askedOf('issuer.verify')).toHaveLength(1);
});
