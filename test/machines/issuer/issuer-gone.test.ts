/** An Issuer that is deleted, and one created with its name: docs/features/certificates.md §5.6. */
import { describe, expect, test } from 'vitest';
import type { PermitReturned } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerFacts } from '../../../src/machines/domain/domain-facts.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;
const hour = 3_600_000;
const day = 24 * hour;
const budget = { ordersPer3h: 10, certificatesPerDomainPer7d: 1, duplicatesPer7d: 5 };
const facts: IssuerFacts = { ...issuerFacts, server: 'https://one', budget };

const seen = (issuer: Issuer, change: Partial<IssuerFacts> = {}): Issuer => {
  issuer.take({ type: 'issuer.observed', facts: { ...facts, ...change } });
  return issuer.take({ type: 'issuer.verified', check: issuer.context.check });
};

const about = (host: string) =>
  ({ domain: `domain/_/${host}`, registered: 'one.test', exempt: false }) as const;
const ask = (issuer: Issuer, host: string): Issuer => issuer.take({ type: 'permit.asked', ...about(host) });
const giveBack = (issuer: Issuer, host: string, outcome: PermitReturned['outcome'] = 'issued'): Issuer =>
  issuer.take({ type: 'permit.returned', ...about(host), outcome, waitMs: 0, again: false });

const grantedTo = (issuer: Issuer) =>
  issuer
    .askedOf('message.send')
    .flatMap(({ to, event }) => (event.type === 'permit.granted' ? to.map((id) => id.slice(9)) : []));

/** The only certificate of its domain in a week was issued, and then the Issuer was deleted. */
function deleted(): Issuer {
  const issuer: Issuer = seen(new ActorDriver('issuer', '_', 'acme'));
  giveBack(ask(issuer, 'a.one.test'), 'a.one.test');
  issuer.take({ type: 'issuer.observed', facts: null });
  issuer.asked();
  return issuer;
}

describe('§5.6: an Issuer that was deleted', () => {
  test('and is created anew has spent what the former one spent', () => {
    const issuer = seen(deleted(), { uid: 'another' });
    issuer.asked();
    expect(grantedTo(ask(issuer, 'b.one.test'))).toEqual([]);
    expect(grantedTo(issuer.wait(7 * day))).toEqual(['b.one.test']);
  });

  test('and is created anew for another authority begins with full budgets', () => {
    const issuer = seen(deleted(), { uid: 'another', server: 'https://two' });
    issuer.asked();
    expect(grantedTo(ask(issuer, 'b.one.test'))).toEqual(['b.one.test']);
  });

  test('and was only missed by a watch goes on', () => {
    const issuer = seen(deleted());
    expect(issuer.state).toBe('serving.ready');
  });

  test('is remembered until its budgets are full, says that it is not there, and does nothing', () => {
    const issuer = deleted();
    expect(issuer.state).toBe('gone');
    issuer.take({ type: 'issuer.recheck' });
    issuer.take({ type: 'issuer.observed', facts: null });
    expect(issuer.state).toBe('gone');
    expect(issuer.asked()).toEqual([]);
    expect(issuer.wait(7 * day - 1).isOver).toBe(false);
    expect(issuer.wait(1).isOver).toBe(true);
  });

  test('with an order in progress takes its permit back, and counts it', () => {
    const issuer: Issuer = seen(new ActorDriver('issuer', '_', 'acme'));
    ask(issuer, 'a.one.test').take({ type: 'issuer.observed', facts: null });
    giveBack(issuer, 'a.one.test', 'issued');
    expect(issuer.context.inWork).toEqual({});
    seen(issuer, { uid: 'another' }).asked();
    expect(grantedTo(ask(issuer, 'b.one.test'))).toEqual([]);
  });

  test('answers a domain that asks, which has its turn once the Issuer is there', () => {
    const issuer = deleted();
    ask(issuer, 'c.one.test');
    const { event } = issuer.askedOf('message.send')[0] ?? {};
    expect(event).toMatchObject({ type: 'permit.deferred', reason: 'notReady' });
    seen(issuer, { uid: 'another', budget: null });
    expect(grantedTo(issuer)).toEqual(['c.one.test']);
  });

  test('and never ordered anything, or long ago, is over at once', () => {
    const issuer: Issuer = seen(new ActorDriver('issuer', '_', 'acme'));
    giveBack(ask(issuer, 'a.one.test'), 'a.one.test');
    issuer.wait(8 * day);
    expect(issuer.take({ type: 'issuer.observed', facts: null }).isOver).toBe(true);
  });
});
