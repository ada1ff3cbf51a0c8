/**
 * The effects of an election on its Lease: look, write, release and follow; also for campaigns in memory.
 *
 * Each can be repeated (I5): looking and following write nothing; a write is conditional on the version, and
 * the look after a refusal shows that the Lease already says what was requested; a released Lease is found
 * released.
 */
import { type RunnableEffect, runs } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { asError, hasCode } from '../../../base/errors.ts';
import type { PlainEvent } from '../../../base/plain-event.ts';
import { within } from '../../../kube/api/deadline.ts';
import {
  type LeaseLook,
  type LeaseRelease,
  type LeaseWrite,
  leaseFollow,
  leaseLook,
  leaseRelease,
  leaseWrite,
} from '../../../machines/election/election-effects.ts';
import type { LeaseReleased } from '../../../machines/election/election-events.ts';
import type { LeaseStore } from '../lease.ts';
import type { LeaseFollower } from '../lease-follower.ts';

interface LeaseParts {
  readonly store: LeaseStore;
  readonly follower: LeaseFollower;
  /** The clock by which the election counts its deadlines. */
  readonly clock: Clock;
}

export function leaseEffects({ store, follower, clock }: LeaseParts): readonly RunnableEffect[] {
  const inTime =
    <E extends { readonly timeoutMs: number }>(what: string, run: Run<E>) =>
    (effect: E, { signal }: { readonly signal: AbortSignal }) =>
      run(effect, (work) =>
        within({ clock, ms: effect.timeoutMs, what, signal }, (both) => work(store, both)),
      );
  return [
    runs(leaseLook, inTime('reading a Lease', look)),
    runs(leaseWrite, inTime('writing a Lease', write)),
    runs(leaseRelease, inTime('giving a Lease back', giveBack)),
    // Reports lease.seen until its time is over.
    runs(leaseFollow, async ({ place, seconds, round }, { signal, emit }) => {
      const seen = { type: 'lease.seen', place, attempt: null };
      await follower.follow(place, seconds, (news) => emit({ ...seen, ...news }), signal);
      return { type: 'lease.followed', place, error: null, ...(round === undefined ? {} : { round }) };
    }),
  ];
}

/** @param bounded runs a call of the store within the effect's time limit */
type Run<E> = (
  effect: E,
  bounded: <T>(work: (store: LeaseStore, signal: AbortSignal) => Promise<T>) => Promise<T>,
) => Promise<PlainEvent>;

/** Outcome lease.seen, or lease.unseen for any failure. */
const look: Run<LeaseLook> = async ({ attempt, place }, bounded) => {
  try {
    const seen = await bounded((store, signal) => store.read(place, signal));
    return { type: 'lease.seen', place, ...(seen ?? { record: null, resourceVersion: null }), attempt };
  } catch (thrown) {
    return { type: 'lease.unseen', attempt, message: asError(thrown).message };
  }
};

/** Outcome lease.written, or lease.refused with the reason. */
const write: Run<LeaseWrite> = async (effect, bounded) => {
  const { attempt, place, record, term, resourceVersion: version, notAfter, respectMs = 0 } = effect;
  const writing = { record, resourceVersion: version, notAfter, respectMs };
  try {
    const { resourceVersion } = await bounded((store, signal) => store.write(place, writing, signal));
    return { type: 'lease.written', attempt, resourceVersion, holder: record.holder, term };
  } catch (thrown) {
    const { message } = asError(thrown);
    const refused = { type: 'lease.refused', attempt, message };
    if (hasCode(thrown, 'LEASE_HELD'))
      return { ...refused, reason: 'held', leftMs: Number(thrown.facts.leftMs) };
    if (hasCode(thrown, 'KUBE_CONFLICT')) return { ...refused, reason: 'conflict' };
    return { ...refused, reason: hasCode(thrown, 'LEASE_LATE') ? 'late' : 'error' };
  }
};

/** Outcome lease.released, with an error if it could not be released. */
const giveBack: Run<LeaseRelease> = async (effect, bounded) => {
  try {
    return await bounded((store, signal) => release(store, effect, signal));
  } catch (thrown) {
    const error = asError(thrown).message;
    return { type: 'lease.released', attempt: effect.attempt, record: null, resourceVersion: null, error };
  }
};

/**
 * Releases the Lease if a fresh look shows the expected holder and transitions. As in client-go, the released
 * Lease has no holder and lasts a second; its transitions stay, so terms keep growing.
 */
async function release(store: LeaseStore, effect: LeaseRelease, signal: AbortSignal): Promise<LeaseReleased> {
  const { attempt, place, holder, transitions, time, notAfter } = effect;
  const released = { type: 'lease.released', attempt, error: null } as const;
  const seen = await store.read(place, signal);
  if (seen === null) return { ...released, record: null, resourceVersion: null };
  const { record, resourceVersion } = seen;
  if (record.holder !== holder || record.transitions !== transitions) return { ...released, ...seen };
  const freed = { ...record, holder: '', durationSeconds: 1, acquireTime: time, renewTime: time };
  return { ...released, ...(await store.write(place, { record: freed, resourceVersion, notAfter }, signal)) };
}
