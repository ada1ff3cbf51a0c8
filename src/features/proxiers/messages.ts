/**
 * The messages that a proxier accepts from outside, and the time that counts for each.
 *
 * A load balancer takes a node out of service by these times, so a sender's own time counts only for a known
 * sender: NATS permissions decide who may use the request subjects (`rpc.send`), while `send` is open to any
 * program that drives actors. Any other message counts from its receipt: when the mail stream stored it,
 * however long the owner was away after that.
 */
import * as v from 'valibot';
import type { MessageOptions, Origin } from '../../actors/kind.ts';
import { OrreryError } from '../../base/errors.ts';
import type { PlainEvent } from '../../base/plain-event.ts';

const time = v.pipe(v.unknown(), v.description('milliseconds since the epoch, or a time of RFC 3339'));

const family = v.picklist(['IPv4', 'IPv6']);
const happening = (does: string) => v.pipe(v.object({ family, at: v.optional(time) }), v.description(does));

export const proxierMessages: MessageOptions = {
  messages: {
    'proxier.queued': happening('a change waits for the proxy'),
    'proxier.updated': happening('the proxy has applied every change'),
    'proxier.reported': v.pipe(
      v.object({
        family,
        queuedAt: v.optional(time, null),
        updatedAt: v.optional(time, null),
        seq: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER)),
      }),
      v.description('the state of a family'),
    ),
  },
  refine: dated,
};

/**
 * The event with the time that counts. @throws OrreryError MESSAGE_UNKNOWN_EVENT for an invalid time of a
 * trusted sender
 */
function dated({ at, ...event }: PlainEvent, origin: Origin): PlainEvent {
  if (event.type === 'proxier.reported') return levelled(event, origin);
  const told = origin.isTrusted && at !== undefined && at !== null ? timeOf(at, 'at') : undefined;
  return { ...event, happenedAt: told ?? origin.receivedAt };
}

/** Times of an untrusted sender still have to be times, because they distinguish changes. */
function levelled(event: PlainEvent, { receivedAt, isTrusted }: Origin): PlainEvent {
  const time = (field: 'queuedAt' | 'updatedAt') =>
    event[field] === null ? null : timeOf(event[field], field);
  const level = { queuedAt: time('queuedAt'), updatedAt: time('updatedAt') };
  return { ...event, ...level, happenedAt: receivedAt, isTimed: isTrusted };
}

/** Milliseconds since the epoch, or a time of RFC 3339. */
function timeOf(at: unknown, field: string): number {
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return Math.floor(ms);
  throw new OrreryError(
    'MESSAGE_UNKNOWN_EVENT',
    `field "${field}": milliseconds since the epoch or a time such as 2026-01-02T03:04:05.678Z`,
  );
}
