/** What the status of a Release has to say (docs/features/releases.md, “What people are told”). */
import { releases } from '../../../src/features/releases/resources.ts';
import type { ReleaseContext } from '../../../src/machines/release/release-context.ts';
import type { StatusPromise } from '../checkers/true-statuses.ts';

export const releaseStatus: StatusPromise = {
  name: 'the Release says how its round stands',
  resource: releases,
  effect: 'release-resource.write',
  withinMs: 90_000,
  // It is written after each round, and each half minute while replicas are in the way.
  noticedMs: 45_000,
  actorOf: ({ metadata }) => `release/_/${metadata.name}`,
  wanted({ snapshot }) {
    const { seen, leader, lastError, waitingFor } = snapshot.context as ReleaseContext;
    if (seen.status === null) return null;
    const { state, release } = seen.status;
    return {
      state,
      release,
      leader,
      lastError,
      waitingFor: waitingFor.length === 0 ? null : waitingFor.join('; '),
    };
  },
};
