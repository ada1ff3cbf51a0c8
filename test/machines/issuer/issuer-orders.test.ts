/** An order that was made counts, however its attempt ended: docs/features/certificates.md §5.7. */
import { expect, test } from 'vitest';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;

const budget = { ordersPer3h: 1, certificatesPerDomainPer7d: 1, duplicatesPer7d: 1 };
const asking = (host: string) => ({ domain: `domain/_/${host}`, registered: host, exempt: false }) as const;

function grantedAfter(change: object): boolean {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, budget } });
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  issuer.take({ type: 'permit.asked', ...asking('one.test') });
  const back = { outcome: 'unused', waitMs: 0, again: false, ...change } as const;
  issuer.take({ type: 'permit.returned', ...asking('one.test'), ...back });
  issuer.asked();
  issuer.take({ type: 'permit.asked', ...asking('two.test') });
  return issuer.askedOf('message.send').some(({ event }) => event.type === 'permit.granted');
}

test('a permit that was given back counts for nothing, unless an order was made under it', () => {
  expect(grantedAfter({})).toBe(true);
  expect(grantedAfter({ ordered: true })).toBe(false);
});
