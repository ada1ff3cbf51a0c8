/** Sample events that lead a walk through every state of the election chart. */

import type { ElectionFacts } from '../../../src/machines/election/election-events.ts';
import type { LeaseRecord } from '../../../src/machines/election/lease-record.ts';

export const electionFacts: ElectionFacts = {
  uid: 'el-uid',
  generation: 1,
  place: { namespace: 'shop', name: 'worker' },
  timing: { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 },
  releaseOnCancel: true,
  invalid: null,
};

export const foreignRecord: LeaseRecord = {
  holder: 'go',
  durationSeconds: 15,
  acquireTime: '2023-11-14T22:13:20.000000Z',
  renewTime: '2023-11-14T22:13:20.000000Z',
  transitions: 4,
  strategy: '',
  preferredHolder: '',
};

const { place } = electionFacts;
const seen = (record: LeaseRecord | null, resourceVersion: string | null, attempt: number | null) => ({
  type: 'lease.seen',
  place,
  record,
  resourceVersion,
  attempt,
});
const attempts = [1, 2, 3, 4];

export const electionSample = {
  input: { id: 'election/shop/worker', namespace: 'shop', name: 'worker' },
  // The walk finds the preference of a coordinated election late.
  situationsMax: 3_000,
  // The walk finds the preference of a coordinated election late.
  events: [
    { type: 'election.observed', facts: electionFacts },
    { type: 'election.observed', facts: { ...electionFacts, invalid: 'no' } },
    { type: 'election.observed', facts: null },
    { type: 'election.status.observed', facts: { uid: 'el-uid', said: 'x', term: 3 } },
    { type: 'election.campaign', candidate: 'a', ttlMs: 3_000 },
    { type: 'election.renew', candidate: 'a', term: 1 },
    { type: 'election.resign', candidate: 'a', term: 0 },
    ...attempts
      .slice(0, 3)
      .flatMap((attempt) => [
        seen(null, null, attempt),
        { type: 'lease.unseen', attempt, message: 'no' },
        { type: 'lease.refused', attempt, reason: 'conflict', message: 'no' },
        { type: 'lease.refused', attempt, reason: 'error', message: 'no' },
      ]),
    ...attempts.map((attempt) => ({
      type: 'lease.written',
      attempt,
      resourceVersion: `${attempt}`,
      holder: 'a',
      term: 1,
    })),
    seen(foreignRecord, '9', null),
    seen({ ...foreignRecord, holder: '', strategy: 'OldestEmulationVersion', preferredHolder: '' }, '1', 1),
    seen(
      {
        ...foreignRecord,
        holder: 'a',
        transitions: 5,
        strategy: 'OldestEmulationVersion',
        preferredHolder: 'go',
      },
      '10',
      null,
    ),
    { type: 'lease.released', attempt: 3, record: null, resourceVersion: null, error: null },
    { type: 'lease.followed', place, error: null },
    { type: 'lease.followed', place, error: 'no' },
    { type: 'election-status.patched' },
    { type: 'election-status.refused', message: 'no' },
  ],
};
