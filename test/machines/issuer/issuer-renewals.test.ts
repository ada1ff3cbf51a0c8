/** Renewals after a long outage: docs/features/certificates.md §5.5, §5.8, §5.9. */
import { describe, expect, test } from 'vitest';
import type { PermitAsked } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;
const hour = 3_600_000;
const day = 24 * hour;
const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 1_000, duplicatesPer7d: 5 };

/** Its only order of three hours is spent. */
function busy(): Issuer {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, budget } });
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  giveBack(ask(issuer, 'past.test'), 'past.test');
  issuer.asked();
  return issuer;
}

const about = (host: string) => ({ domain: `domain/_/${host}`, registered: host, exempt: false }) as const;

const ask = (issuer: Issuer, host: string, change: Partial<PermitAsked> = {}): Issuer =>
  issuer.take({ type: 'permit.asked', ...about(host), namespace: 'bank', ...change });

/** A renewal that is due; its certificate ends in so many days, or has ended. */
const renew = (issuer: Issuer, host: string, days: number, namespace = 'bank'): Issuer =>
  ask(issuer, host, { due: true, ends: issuer.now + days * day, namespace });

const giveBack = (issuer: Issuer, host: string): Issuer =>
  issuer.take({ type: 'permit.returned', ...about(host), outcome: 'issued', waitMs: 0, again: false });

const sent = (issuer: Issuer, type: string) =>
  issuer.askedOf('message.send').filter(({ event }) => event.type === type);

/** Who has its turn, one order after another. */
function turns(issuer: Issuer, count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    issuer.wait(3 * hour);
    const [host = ''] = sent(issuer, 'permit.granted').flatMap(({ to }) => to.map((id) => id.slice(9)));
    giveBack(issuer, host);
    return host;
  });
}

describe('§5.5: renewals that are due', () => {
  test('of one namespace go by the end of their certificates, one that has expired first', () => {
    const issuer = busy();
    renew(issuer, 'in-20-days.test', 20);
    renew(issuer, 'in-9-days.test', 9);
    renew(issuer, 'expired.test', -3);
    renew(issuer, 'in-10-days.test', 10);
    issuer.asked();
    expect(turns(issuer, 4)).toEqual([
      'expired.test',
      'in-9-days.test',
      'in-10-days.test',
      'in-20-days.test',
    ]);
  });

  test('within a week of the end go before others, whoever had the last turn', () => {
    const issuer = busy();
    for (const n of [1, 2, 3]) renew(issuer, `soon${n}.bank.test`, n);
    for (const n of [20, 21]) renew(issuer, `late${n}.shop.test`, n, 'shop');
    issuer.asked();
    expect(turns(issuer, 3)).toEqual(['soon1.bank.test', 'soon2.bank.test', 'soon3.bank.test']);
  });

  test('cannot be pushed back by a namespace whose certificates all seem to have expired', () => {
    const issuer = busy();
    for (let n = 0; n < 100; n++) renew(issuer, `h${n}.bank.test`, -1_000);
    renew(issuer, 'mine.shop.test', 6, 'shop');
    issuer.asked();
    expect(turns(issuer, 2)).toContain('mine.shop.test');
  });

  test('leave every fourth permit to hosts that have no certificate yet', () => {
    const issuer = busy();
    for (let n = 0; n < 20; n++) renew(issuer, `h${n}.bank.test`, -1);
    for (const n of [0, 1]) ask(issuer, `new${n}.shop.test`, { namespace: 'shop' });
    issuer.asked();
    const served = turns(issuer, 9);
    expect(served.flatMap((host, n) => (host.startsWith('new') ? [n] : []))).toEqual([3, 7]);
  });

  test('asked for by an earlier release, which does not say when they end, go after those that do', () => {
    const issuer = busy();
    ask(issuer, 'unknown.test', { due: true });
    renew(issuer, 'in-20-days.test', 20);
    issuer.asked();
    expect(turns(issuer, 2)).toEqual(['in-20-days.test', 'unknown.test']);
  });
});

test('§5.8: a renewal and a new host are told when their turn comes, and have it then', () => {
  const issuer = busy();
  for (let n = 0; n < 8; n++) renew(issuer, `h${n}.bank.test`, 20 - n);
  for (const n of [0, 1, 2]) ask(issuer, `new${n}.shop.test`, { namespace: 'shop' });
  issuer.asked();
  // Each asks again, and hears when with all others known.
  for (let n = 0; n < 8; n++) renew(issuer, `h${n}.bank.test`, 20 - n);
  for (const n of [0, 1, 2]) ask(issuer, `new${n}.shop.test`, { namespace: 'shop' });
  const said = sent(issuer, 'permit.deferred').map(({ to, event }) => ({
    host: to[0]?.slice(9) ?? '',
    until: (event as unknown as { readonly until: number }).until,
  }));
  const inOrder = said.toSorted((a, b) => a.until - b.until).map(({ host }) => host);
  expect(turns(issuer, 11)).toEqual(inOrder);
});

test('§5.9: in a full queue the renewal whose certificate lasts longest gives way', () => {
  const issuer = busy();
  issuer.take({ type: 'issuer.recheck' });
  for (let n = 0; n < 1_000; n++) renew(issuer, `h${n}.bank.test`, n === 500 ? 40 : 20);
  issuer.asked();
  renew(issuer, 'urgent.bank.test', 1);
  const [lost] = sent(issuer, 'permit.deferred').filter(({ to }) => to[0] !== 'domain/_/urgent.bank.test');
  expect(lost).toMatchObject({ to: ['domain/_/h500.bank.test'] });
  renew(issuer, 'calm.bank.test', 30);
  expect(issuer.context.queue.some(({ domain }) => domain === 'domain/_/calm.bank.test')).toBe(false);
});
