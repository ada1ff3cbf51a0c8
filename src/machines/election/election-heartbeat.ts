/**
 * Which steps of an election are heartbeats: the Lease or a candidate was renewed, and nothing is different
 * for anybody (§8.1). Pure.
 *
 * What is looked at is what others can tell: who campaigns, who leads under which term, what the Lease says
 * but for its times.
 */
import { equal } from '../../base/equal.ts';
import type { DeferrableStep, QuietStep } from '../chart.ts';
import { isSoonAfterSaved } from './election-candidates.ts';
import type { ElectionContext } from './election-context.ts';

/** Between these a leader goes to and fro while all is well. */
const beating = new Set(['leading.holding', 'leading.renewing']);
const heartbeats = new Set([
  'election.campaign',
  'election.renew',
  'election.holder.due',
  'election-status.patched',
  'lease.followed',
  'lease.seen',
  'lease.written',
]);
/** What a heartbeat may ask for: the next renewal, and that the status shows it. */
const renewals = new Set(['lease.write', 'lease.follow', 'election-status.patch']);

export function isHeartbeat({ from, to, event, effects, before, after }: QuietStep): boolean {
  const isInPlace = from === to || (beating.has(from) && beating.has(to));
  const isBeat = heartbeats.has(event.type) || event.type.startsWith('xstate.after.');
  if (!isInPlace || !isBeat || effects.some(({ type }) => !renewals.has(type))) return false;
  return equal(faceOf(before as ElectionContext), faceOf(after as ElectionContext));
}

/**
 * Renewals of candidates alone: nothing was asked for. What they are told rests on what is saved
 * (election-candidates.ts), so that whoever owns the election next keeps it.
 */
export function isDeferrable({ event, effects, saved, after }: DeferrableStep): boolean {
  if (event.type !== 'election.campaign' && event.type !== 'election.renew') return false;
  const { candidate } = event as { readonly candidate?: unknown };
  if (effects.length > 0 || typeof candidate !== 'string') return false;
  return isSoonAfterSaved(saved as ElectionContext, after as ElectionContext, candidate);
}

/** What is known of an election beside when it was heard of last. */
function faceOf(context: ElectionContext) {
  const { facts, ending, term, bound, former, failures, lastError } = context;
  const { seen, reign, told, candidates } = context;
  return {
    ...{ facts, ending, term, bound, former, failures, lastError },
    record: timeless(seen?.record),
    reign: reign && { ...reign, renewedAt: 0 },
    // While a status is on its way, what was told before says nothing of it.
    told: timeless(told),
    candidates: Object.entries(candidates).map(([id, { ttlMs, since }]) => [id, ttlMs, since]),
  };
}

const timeless = (what: object | null | undefined) => (what ? { ...what, renewTime: '' } : null);
