/**
 * What a proxier takes from outside, and when that happened.
 *
 * A load balancer takes a node out of service by these times, so a sender's own time counts only where the sender is known: who may use
 * the request subjects (`rpc.send`) is decided by the permissions of NATS, while `send` is open to any program that drives actors.
 * Everybody else's message happened when it was received: when the mail stream stored it, however long its owner was away after that.
 */
import * as v from 'valibot';
import type { PlainEvent } from '../../actors/host/host-parts.ts';
import { OrreryError } from '../../base/errors.ts';

/** Where a message comes from, as far as admission cares. */
export interface Origin {
  /** When Orrery or its stream got it, milliseconds since the epoch. */
  readonly receivedAt: number;
  /** It came by a request subject. */
  readonly isTrusted: boolean;
}

const form = (type: string) =>
  v.object({
    type: v.literal(type),
    family: v.picklist(['IPv4', 'IPv6']),
    at: v.optional(v.unknown()),
  });

export const proxierEvents = {
  'proxier.queued': form('proxier.queued'),
  'proxier.updated': form('proxier.updated'),
};

/** The event with the time that counts. @throws OrreryError MESSAGE_UNKNOWN_EVENT for a trusted sender's time that is none */
export function datedProxierEvent({ at, ...event }: PlainEvent, origin: Origin): PlainEvent {
  const told = origin.isTrusted && at !== undefined && at !== null ? timeOf(at) : undefined;
  return { ...event, happenedAt: told ?? origin.receivedAt };
}

/** Milliseconds since the epoch, or a time of RFC 3339. */
function timeOf(at: unknown): number {
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return Math.floor(ms);
  throw new OrreryError(
    'MESSAGE_UNKNOWN_EVENT',
    'field "at": milliseconds since the epoch or a time such as 2026-01-02T03:04:05.678Z',
  );
}
