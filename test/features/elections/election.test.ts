/** What an Election says, and the reasons why one cannot be held. */
import { describe, expect, test } from 'vitest';
import { readElectionSpec } from '../../../src/features/elections/election-spec.ts';
import { elections } from '../../../src/features/elections/resources.ts';
import { interestIn } from '../../kube/mirror/declared.ts';

const election = (spec: unknown) => ({ metadata: { namespace: 'shop', name: 'worker' }, spec });

test('without a specification: its own Lease, 15, 10 and 2 s, given back on a clean end', () => {
  expect(readElectionSpec(election(undefined))).toEqual({
    place: { namespace: 'shop', name: 'worker' },
    timing: { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 },
    releaseOnCancel: true,
    invalid: null,
  });
});

test('the Lease may be another, in another namespace', () => {
  const { place } = readElectionSpec(election({ lease: { name: 'till', namespace: 'bank' } }));
  expect(place).toEqual({ namespace: 'bank', name: 'till' });
  expect(readElectionSpec(election({ lease: { name: 'till' } })).place.namespace).toBe('shop');
});

describe('it cannot be held', () => {
  test.each([
    [{ leaseDurationSeconds: 10 }, /leaseDurationSeconds must be greater than renewDeadlineSeconds/],
    [{ renewDeadlineSeconds: 2 }, /renewDeadlineSeconds must be greater than retryPeriodSeconds/],
    [{ retryPeriodSeconds: 0 }, /spec.retryPeriodSeconds: must be at least 1/],
    [{ leaseDurationSeconds: 'long' }, /spec.leaseDurationSeconds: must be a number/],
    [{ lease: { name: 'No Name' } }, /spec.lease.name: must be the name of an object/],
  ])('with %j', (spec, reason) => {
    expect(readElectionSpec(election(spec)).invalid).toMatch(reason);
  });
});

test('a digest tells of the status who leads, and no times: renewals are no news', () => {
  const metadata = { namespace: 'shop', name: 'worker', uid: 'u', resourceVersion: '1', generation: 3 };
  const digest = (status: object) => interestIn(elections).digestOf({ metadata, spec: {}, status });
  expect(digest({ holder: 'a', renewTime: '1' })).toEqual(digest({ holder: 'a', renewTime: '2' }));
  expect(digest({ holder: 'a' })).not.toEqual(digest({ holder: 'b' }));
  expect(digest({})).toMatchObject({ kind: 'elections', generation: 3 });
  expect(digest({ term: 5 })).toMatchObject({ term: 5 });
  for (const term of [0, -1, 1.5, 'x', 2 ** 40]) expect(digest({ term })).not.toHaveProperty('term');
});
