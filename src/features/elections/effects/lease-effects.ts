/** What an election does with its Lease; for those who campaign in memory, too. */
import { type RunnableEffect, runs } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import {
  leaseFollow,
  leaseLook,
  leaseRelease,
  leaseWrite,
} from '../../../machines/election/election-effects.ts';
import type { LeaseStore } from '../lease.ts';
import type { LeaseFollower } from '../lease-follower.ts';
import { followLease } from './lease-follow.ts';
import { lookAtLease } from './lease-look.ts';
import { releaseLease } from './lease-release.ts';
import { writeLease } from './lease-write.ts';

export function leaseEffects(parts: {
  readonly store: LeaseStore;
  readonly follower: LeaseFollower;
  /** The one by which the election counts its deadlines. */
  readonly clock: Clock;
}): readonly RunnableEffect[] {
  return [
    runs(leaseLook, lookAtLease(parts)),
    runs(leaseWrite, writeLease(parts)),
    runs(leaseRelease, releaseLease(parts)),
    runs(leaseFollow, followLease(parts)),
  ];
}
