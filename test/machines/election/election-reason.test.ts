/** Why an election stands as it stands, in each of its states. */
import { expect, test } from 'vitest';
import type { ElectionContext } from '../../../src/machines/election/election-context.ts';
import type { ElectionEvent } from '../../../src/machines/election/election-events.ts';
import type { LeaseRecord } from '../../../src/machines/election/lease-record.ts';
import { electionFacts, foreignRecord } from '../../features/elections/election-sample.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';

class Election extends ActorDriver<ElectionEvent, ElectionContext> {
  constructor(facts: Partial<typeof electionFacts> = {}) {
    super('election', 'shop', 'worker');
    this.take({ type: 'election.observed', facts: { ...electionFacts, ...facts } });
  }

  sees(record: LeaseRecord | null, attempt: number | null = null): this {
    const { place } = electionFacts;
    const resourceVersion = record === null ? null : `${this.now}`;
    return this.take({ type: 'lease.seen', place, record, resourceVersion, attempt });
  }

  campaigns(candidate: string, ttlMs = 3_000): this {
    return this.take({ type: 'election.campaign', candidate, ttlMs });
  }

  /** What it asked to be written is written. */
  writes(): this {
    const [write] = this.askedOf('lease.write');
    if (!write) throw new Error('it asks for no write');
    const { attempt, term, record } = write;
    return this.take({ type: 'lease.written', attempt, resourceVersion: '5', holder: record.holder, term });
  }

  refused(message: string): this {
    const [write] = this.askedOf('lease.write');
    return this.take({ type: 'lease.refused', attempt: write?.attempt ?? 0, reason: 'error', message });
  }
}

const told = (election: Election) => toldOf('election', election);
const led = () => new Election().sees(null, 1).campaigns('a').writes();

test('one that cannot be held says why', () => {
  const election = new Election({ invalid: 'renewDeadline must be greater than retryPeriod × 1.2' });
  expect(told(election)).toMatchObject({
    health: 'wrong',
    text: 'the Election is not valid: renewDeadline must be greater than retryPeriod × 1.2',
    next: null,
  });
});

test('the Lease is read, and cannot be', () => {
  const election = new Election();
  expect(told(election)).toMatchObject({ health: 'waiting', text: 'the Lease shop/worker is being read' });
  election.take({ type: 'lease.unseen', attempt: 1, message: 'forbidden' });
  expect(told(election)).toMatchObject({
    health: 'wrong',
    text: 'the Lease shop/worker cannot be read: forbidden',
  });
});

test('a status that cannot be written is told, is not why the Lease cannot be had, and needs a look', () => {
  const message = 'PATCH was answered with 422 Invalid: denied by a policy';
  const uid = electionFacts.uid ?? '';
  const refused = { type: 'election-status.refused', message, uid } as const;
  const election = new Election().take(refused);
  const since = new Date(election.now).toISOString().replace('.000', '');
  const text = `Its status could not be written since ${since}, so kubectl shows an older one, or none: ${message}; let Orrery patch elections/status`;
  expect(told(election).text).toContain(`the Lease shop/worker is being read. ${text}`);
  election.sees(null, 1).wait(299_999).take(refused);
  expect(told(election)).toMatchObject({ health: 'ok', text: expect.stringMatching(/^nobody leads/) });
  election.wait(1).take(refused);
  expect([election.state, told(election).health]).toEqual(['observing', 'wrong']);
  election.take({ type: 'election-status.patched', uid });
  expect(told(election)).toMatchObject({ health: 'ok', text: expect.not.stringContaining('status') });
});

test('a status that cannot be written is tried after a pause, and not with each renewal of the leader', () => {
  const election = led();
  const uid = electionFacts.uid ?? '';
  let tries = 0;
  election.campaigns('a', 600_000);
  for (let n = 0; n < 15; n++) {
    const asked = election.wait(2_000).asked();
    for (const effect of asked) {
      if (effect.type === 'lease.write') {
        const { attempt, term, record } = effect;
        const { holder } = record;
        election.take({ type: 'lease.written', attempt, resourceVersion: `${n}`, holder, term });
      }
      if (effect.type !== 'election-status.patch') continue;
      tries++;
      election.take({ type: 'election-status.refused', message: 'denied', uid });
    }
  }
  expect(election.state).toBe('leading.holding');
  expect(tries).toBeLessThan(6);
});

test('nobody leads, and another program leads', () => {
  const election = new Election().sees(null, 1);
  expect(told(election)).toMatchObject({
    health: 'ok',
    text: 'nobody leads: no candidate campaigns here',
    next: null,
    facts: { Holder: 'nobody', Term: 0, Candidates: 0, Lease: 'shop/worker' },
  });
  // It may be meant so, and is no trouble.
  expect(told(election.wait(15_000))).toMatchObject({
    health: 'ok',
    text: 'nobody leads: no candidate campaigns here. Start a candidate, or delete the Election if nothing needs it',
  });
  election.sees(foreignRecord).wait(600_000);
  expect(told(election).text).toBe(
    'nobody leads: no candidate campaigns here; go still has the Lease shop/worker, and has not renewed it for 10m; look whether it hangs. Start a candidate, or delete the Election if nothing needs it',
  );
  election.sees({ ...foreignRecord, renewTime: '2026-01-01T00:00:00.000000Z' }).campaigns('a');
  expect(told(election).text).toMatch('; 1 candidate waits here');
  election.campaigns('b');
  expect(told(election)).toMatchObject({
    health: 'ok',
    text: "another program's candidate, go, holds the Lease shop/worker; 2 candidates wait here",
    next: { text: 'the Lease shop/worker expires unless it is renewed', at: election.now + 15_000 },
    facts: {
      Holder: 'go',
      Term: 5,
      Candidates: 2,
      Who: 'a\nb',
      'Leads since': Date.parse(foreignRecord.acquireTime),
      // Which of its five terms began when is not known but of the last.
      'Terms today': 1,
    },
  });
});

test('a coordinated election that prefers another one says whom', () => {
  const record = { ...foreignRecord, holder: '', strategy: 'OldestEmulationVersion', preferredHolder: 'go' };
  const election = new Election().sees(record, 1).campaigns('a');
  expect(told(election)).toMatchObject({ text: 'nobody leads: the Lease prefers go' });
});

test('§2.7: candidates that have been without a leader for longer than the lease are wrong, and say what to do', () => {
  const record = { ...foreignRecord, holder: '', strategy: 'OldestEmulationVersion', preferredHolder: 'go' };
  const election = new Election().sees(record, 1).wait(60_000).campaigns('a', 600_000);
  expect(told(election.wait(14_999))).toMatchObject({ health: 'ok' });
  const text =
    'the Lease shop/worker could not be acquired: it prefers go, which has not taken it: start go, or remove spec.preferredHolder from the Lease shop/worker';
  expect(told(election.wait(1))).toMatchObject({ health: 'wrong', text });
  // The Lease is read again, and it is still so.
  election.wait(2_500).sees(record, election.context.attempt);
  expect(told(election)).toMatchObject({ health: 'wrong', text });
  const free = { ...record, preferredHolder: '' };
  election.wait(2_500).sees(free, election.context.attempt).writes();
  expect(told(election)).toMatchObject({ health: 'ok', text: expect.stringMatching(/^a leads/) });
});

test('a claim, and one that is refused', () => {
  const election = new Election().sees(null, 1).campaigns('a');
  expect(told(election)).toMatchObject({
    health: 'waiting',
    text: 'the Lease shop/worker is free and is being acquired for a',
  });
  election.refused('no room');
  expect(told(election)).toMatchObject({
    health: 'wrong',
    text: 'the Lease shop/worker could not be acquired for a: no room',
  });
});

test('a leader, its renewals and their failure', () => {
  const election = led();
  expect(told(election)).toMatchObject({
    health: 'ok',
    text: 'a leads under term 1',
    next: { text: 'a stops leading unless it renews', at: election.now + 3_000 },
    facts: {
      ...{ Holder: 'a', Term: 1, 'Leads since': election.now, 'Terms today': 1 },
      ...{ Renewed: election.now, Candidates: 1, Who: 'a' },
    },
  });
  const end = election.now + 10_000;
  election.campaigns('a', 60_000).wait(2_000).refused('the server is away');
  expect(told(election)).toMatchObject({
    health: 'wrong',
    text: 'a leads under term 1, but the Lease shop/worker is not renewed: the server is away',
    next: { text: 'a stops leading unless the Lease is renewed', at: end },
  });
  election.wait(8_000);
  expect(told(election).text).toBe(
    'nobody leads: no candidate campaigns here; the last leader was a: the Lease could not be renewed in time: the server is away',
  );
});

test('a leader that yields', () => {
  const election = led().campaigns('a', 60_000);
  const { seen } = election.context;
  if (!seen?.record) throw new Error('it has seen its Lease');
  election.sees({ ...seen.record, strategy: 'OldestEmulationVersion', preferredHolder: 'go' }).wait(2_000);
  expect(told(election).text).toBe('a leads under term 1, and will yield: the Lease prefers go');
  election.wait(8_000);
  expect(told(election).text).toBe(
    'nobody leads: no candidate campaigns here; the last leader was a: the Lease prefers go',
  );
});

test('one whose leader resigned gives the Lease back, and remembers whom it had', () => {
  const election = led().take({ type: 'election.resign', candidate: 'a', term: 1 });
  expect(told(election)).toMatchObject({
    health: 'waiting',
    text: 'the Lease shop/worker is being released: the leader resigned',
  });
  const [release] = election.askedOf('lease.release');
  election.take({
    ...{ type: 'lease.released', attempt: release?.attempt ?? 0 },
    ...{ record: null, resourceVersion: null, error: null },
  });
  expect(told(election).text).toBe(
    'nobody leads: no candidate campaigns here; the last leader was a: the leader resigned',
  );

  // Then a program outside led, and released its Lease.
  const record = { ...foreignRecord, transitions: 1 };
  election
    .sees(record)
    .wait(2_000)
    .sees({ ...record, holder: '' });
  expect(told(election).text).toBe(
    "nobody leads: no candidate campaigns here; the last leader was another program's candidate, under term 2",
  );
});

test('a Lease whose count is used up says what to do, and is no mere waiting', () => {
  const spent = { ...foreignRecord, holder: '', transitions: 2 ** 31 - 1 };
  const election = new Election().sees(spent, 1).campaigns('a');
  expect(election.askedOf('lease.write')).toEqual([]);
  expect(told(election)).toMatchObject({
    health: 'wrong',
    text: 'the Lease shop/worker could not be acquired: the Lease shop/worker has counted 2147483647 changes of leader, as many as the API takes: delete the Lease shop/worker and the Election, and create it again; its terms then begin at 1',
  });
});

test('the condition turns when the count is used up, not when the Election was made', () => {
  const election = new Election().sees(null, 1);
  const [first] = election.askedOf('election-status.patch');
  election.take({ type: 'election-status.patched' }).wait(60_000);
  election.sees({ ...foreignRecord, transitions: 2 ** 31 - 1 });
  const [status] = election.askedOf('election-status.patch');
  expect([first?.status.invalid, status?.status.reason]).toEqual([null, 'TermsUsedUp']);
  expect(Number(status?.at) - Number(first?.at)).toBeGreaterThanOrEqual(60_000);
});

test('of many candidates a few are named', () => {
  const election = new Election().sees(foreignRecord, 1);
  for (let n = 10; n < 40; n++) election.campaigns(`c${n}`);
  expect(told(election).facts.Who).toMatch(/^c10\nc11\n(c\d\d\n){8}and 20 more$/);
});

test('a leader whose Election was deleted leads until the time that it was told', () => {
  const election = led();
  const end = election.now + 3_000;
  election.take({ type: 'election.observed', facts: null });
  expect(told(election)).toMatchObject({
    health: 'waiting',
    text: 'a was told that it leads, and keeps leading until that time is over: the election was changed or deleted',
    next: { text: 'a no longer leads' },
  });
  expect(told(election).next?.at).toBeLessThanOrEqual(end);
});

test('terms are counted for the day on which they begin, in UTC; those before the first look are not', () => {
  const lease = (holder: string, transitions: number) => ({ ...foreignRecord, holder, transitions });
  const today = (election: Election) => told(election).facts['Terms today'];
  const election = new Election().sees(lease('a', 40), 1);
  expect([election.context.term, today(election)]).toEqual([41, 0]);
  election.wait(60_000).sees(lease('b', 41)).wait(60_000).sees(lease('a', 44));
  expect([election.context.term, today(election)]).toEqual([45, 4]);
  election.wait(86_400_000);
  expect(today(election)).toBe(0);
  election.sees(lease('b', 45));
  expect(today(election)).toBe(1);
});
