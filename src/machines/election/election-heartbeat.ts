/**
 * Which steps of an election are heartbeats: the Lease or a candidate was renewed, and nothing else changed
 * (§8.1). Pure.
 *
 * The comparison covers what others can see: who campaigns, who leads in which term, and the Lease without
 * its times.
 */
import { equal } from '../../base/equal.ts';
import type { DeferrableStep, QuietStep } from '../chart.ts';
import { isSoonAfterSaved } from './election-candidates.ts';
import type { ElectionContext } from './election-context.ts';

/** A healthy leader alternates between these states. */
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
/** The effects that a heartbeat may request: the next renewal, and the status that shows it. */
const renewals = new Set(['lease.write', 'lease.follow', 'election-status.patch']);

export function isHeartbeat({ from, to, event, effects, before, after }: QuietStep): boolean {
  const isInPlace = from === to || (beating.has(from) && beating.has(to));
  const isBeat = heartbeats.has(event.type) || event.type.startsWith('xstate.after.');
  if (!isInPlace || !isBeat || effects.some(({ type }) => !renewals.has(type))) return false;
  return equal(faceOf(before as ElectionContext), faceOf(after as ElectionContext));
}

/**
 * Renewals of candidates that request nothing. What candidates are promised depends on the saved context
 * (election-candidates.ts), so the next owner keeps it.
 */
export function isDeferrable({ event, effects, saved, after }: DeferrableStep): boolean {
  if (event.type !== 'election.campaign' && event.type !== 'election.renew') return false;
  const { candidate } = event as { readonly candidate?: unknown };
  if (effects.length > 0 || typeof candidate !== 'string') return false;
  return isSoonAfterSaved(saved as ElectionContext, after as ElectionContext, candidate);
}

/** What is known of an election, except when it was last heard. */
function faceOf(context: ElectionContext) {
  const { facts, ending, term, bound, former, failures, lastError, unwritten = null } = context;
  const { seen, reign, told, candidates } = context;
  return {
    ...{ facts, ending, term, bound, former, failures, lastError, unwritten },
    record: timeless(seen?.record),
    reign: reign && { ...reign, renewedAt: 0 },
    // While a status is being written, the previous one says nothing about it.
    told: timeless(told),
    candidates: Object.entries(candidates).map(([id, { ttlMs, since }]) => [id, ttlMs, since]),
  };
}

const timeless = (what: object | null | undefined) => (what ? { ...what, renewTime: '' } : null);
