/** The families and the Node stand side by side: what one of them hears leaves the others as they are. */
import { expect, test } from 'vitest';
import type { IpFamily } from '../../../src/base/address.ts';
import type { ProxierContext } from '../../../src/machines/proxier/proxier-context.ts';
import type { ProxierEvent, ProxierFacts } from '../../../src/machines/proxier/proxier-events.ts';
import { ActorDriver } from '../actor-driver.ts';

class Proxier extends ActorDriver<ProxierEvent, ProxierContext> {
  #seq = 0;

  constructor() {
    super('proxier', '_', 'node-1');
  }

  reports(family: IpFamily, queuedAt: number | null, updatedAt: number): this {
    const level = { family, queuedAt, updatedAt, seq: ++this.#seq };
    return this.take({ type: 'proxier.reported', ...level, happenedAt: this.now, isTimed: true });
  }

  sees(node: ProxierFacts['node']): this {
    return this.take({ type: 'proxier.observed', facts: { timeoutMs: 60_000, node } });
  }
}

test('a change that one family reports leaves a Node that is going as it is: it gets no new traffic (§3.1)', () => {
  const proxier = new Proxier();
  proxier.reports('IPv4', null, proxier.now).reports('IPv6', null, proxier.now);
  proxier.sees('eligible').sees('ineligible').wait(1_000);
  proxier.reports('IPv4', proxier.now, proxier.now - 1_000);
  expect(proxier.state).toBe('IPv4.pending,IPv6.synced,node.ineligible.leaving');
});

test('a change that one family reports takes no deadline from the other (§2.2)', () => {
  const proxier = new Proxier();
  proxier.reports('IPv4', null, proxier.now).reports('IPv6', null, proxier.now);
  proxier.wait(1_000).reports('IPv6', proxier.now, proxier.now - 1_000);
  proxier.wait(30_000).reports('IPv4', proxier.now, proxier.now - 31_000);
  proxier.wait(30_000);
  expect(proxier.state).toMatch(/IPv4\.pending,IPv6\.late/);
});

test('a change that came later is timed from when it came, though another waited before (§2.1)', () => {
  const proxier = new Proxier();
  proxier.reports('IPv4', null, proxier.now).wait(1_000);
  proxier.reports('IPv4', proxier.now, proxier.now - 1_000).wait(40_000);
  proxier.reports('IPv4', proxier.now, proxier.now - 1).wait(40_000);
  expect(proxier.state).toMatch(/IPv4\.pending/);
  proxier.wait(20_000);
  expect(proxier.state).toMatch(/IPv4\.late/);
});
