/** Senders whose clock is not ours (docs/features/proxiers.md §1.2, §1.6). */
import { expect, test } from 'vitest';
import type { ProxierContext } from '../../../src/machines/proxier/proxier-context.ts';
import type { ProxierEvent } from '../../../src/machines/proxier/proxier-events.ts';
import { ActorDriver } from '../actor-driver.ts';

class Proxier extends ActorDriver<ProxierEvent, ProxierContext> {
  constructor() {
    super('proxier', '_', 'node-1');
  }

  reports(seq: number, queuedAt: number | null, updatedAt: number | null): this {
    const level = { family: 'IPv4', queuedAt, updatedAt, seq } as const;
    return this.take({ type: 'proxier.reported', ...level, happenedAt: this.now, isTimed: true });
  }

  get IPv4() {
    return this.context.families.IPv4;
  }
}

test('a change that waits by a clock that is ahead is late in its time: saying it again makes it no younger', () => {
  const proxier = new Proxier();
  const ahead = 600_000;
  proxier.reports(1, null, proxier.now + ahead);
  const queued = proxier.now;
  for (let seq = 2; seq < 15; seq++) proxier.reports(seq, queued + ahead, queued).wait(5_000);
  expect(proxier.IPv4.pendingSince).toBe(queued);
  expect(proxier.state).toMatch(/IPv4\.late/);
});

test('a sender whose clock was ahead and is right again is heard after five minutes, not after as long as it was ahead', () => {
  const proxier = new Proxier();
  const yearMs = 365 * 86_400_000;
  proxier.reports(proxier.now + yearMs, null, proxier.now);
  proxier.wait(60_000).reports(proxier.now, proxier.now, proxier.now - 60_000);
  // What overtook others on the way is still told from that.
  expect(proxier.IPv4.pendingSince).toBeNull();
  proxier.wait(240_000).reports(proxier.now, proxier.now, proxier.now - 60_000);
  expect(proxier.IPv4.pendingSince).toBe(proxier.now);
  const { now } = proxier;
  proxier.reports(now - 1, null, now);
  expect(proxier.IPv4.pendingSince).toBe(now);
  proxier.reports(now + 1, null, now);
  expect(proxier.IPv4).toMatchObject({ pendingSince: null, lastUpdated: now });
});
