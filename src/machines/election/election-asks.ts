/** What an election requests of the API server, computed from its context. Pure. */

import { kubeMicroTime } from '../../base/kube-time.ts';
import type { Stamp } from '../stamp.ts';
import { deadlineMsOf, deadlineOf } from './election-candidates.ts';
import { type ElectionContext, placeOf, requestMs } from './election-context.ts';
import type { LeaseFollow, LeaseLook, LeaseRelease, LeaseWrite } from './election-effects.ts';

type Args = { readonly context: ElectionContext; readonly event: unknown };

/** Length of one following of a Lease: each costs one step. */
const followSeconds = 300;

export function lookOf({ context }: Args): Omit<LeaseLook, 'type'> {
  return { attempt: context.attempt, place: placeOf(context), timeoutMs: requestMs(context) };
}

export function followOf({ context }: Args): Omit<LeaseFollow, 'type'> {
  return { place: placeOf(context), seconds: followSeconds, round: context.follows };
}

/** The last requested write. A claim after its deadline would be useless, and a renewal too late. */
export function writeOf({ context, event }: Args): Omit<LeaseWrite, 'type'> {
  const { attempt, seen, asked, reign } = context;
  if (asked === null) throw new Error('a write was not asked for');
  return {
    attempt,
    place: placeOf(context),
    resourceVersion: seen?.record == null ? null : seen.resourceVersion,
    record: asked.record,
    term: asked.record.transitions + 1,
    ...(asked.respectMs === undefined ? {} : { respectMs: asked.respectMs }),
    notAfter: reign === null ? (event as Stamp).at + deadlineMsOf(context, asked) : deadlineOf(context),
    timeoutMs: requestMs(context),
  };
}

export function releaseOf({ context, event }: Args): Omit<LeaseRelease, 'type'> {
  const { attempt, former } = context;
  return {
    attempt,
    place: former?.place ?? placeOf(context),
    holder: former?.holder ?? '',
    transitions: former?.transitions ?? 0,
    time: kubeMicroTime((event as Stamp).at),
    notAfter: former?.leaseEnd ?? 0,
    timeoutMs: requestMs(context),
  };
}
