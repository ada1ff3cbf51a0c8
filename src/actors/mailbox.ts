/**
 * The rules of a mailbox: what is turned away, what goes first, and how the one who sent an item is told what became of it.
 */
import { limits } from '../limits.ts';
import { type Cell, type Hot, isRepetition, type MailboxItem, type Taken } from './cell.ts';
import type { HostPorts } from './host-parts.ts';
import { idsOf } from './next-record.ts';

/** Observations have a place of their own: at most one of each sort waits, the latest. */
export function isTurnedAway(cell: Cell, hot: Hot, item: MailboxItem): boolean {
  if (item.replaces !== undefined) return false;
  return hot.mailbox.length >= limits.mailboxEvents || (cell.overflowed && item.mail !== undefined);
}

/**
 * Outcomes go before what is new: they make room in the outbox, and an actor should know what it did before it does more. But what
 * the effect itself had to say on the way goes before its end.
 */
export function placeOfOutcome(mailbox: readonly MailboxItem[], effect: string): number {
  const first = mailbox.findIndex(({ completes }) => completes === undefined);
  const own = mailbox.findLastIndex(({ cause, completes }) => cause === effect && completes === undefined);
  return Math.max(first < 0 ? mailbox.length : first, own + 1);
}

/**
 * One item for the last that waits and the one behind it, if their events can be taken in one step; null otherwise. Only messages with
 * messages, and what an effect says on the way with what it said before; what was taken already does not become part of what was not.
 */
export function joinedWithLast(
  { mailbox, record }: Hot,
  next: MailboxItem,
  join: HostPorts['join'],
): MailboxItem | null {
  const waiting = mailbox.at(-1);
  if (waiting === undefined || join === undefined || isRepetition(record, next)) return null;
  const isLoose = (item: MailboxItem) =>
    item.completes === undefined && item.timer === undefined && item.failures === undefined;
  const isOfOneKind = next.mail === undefined ? waiting.cause === next.cause : waiting.mail !== undefined;
  if (!isLoose(waiting) || !isLoose(next) || !isOfOneKind) return null;
  const event = join(waiting.event, next.event);
  if (event === null) return null;
  const { messageId: _, ...rest } = waiting;
  return {
    ...rest,
    ...(next.mail === undefined ? {} : { mail: next.mail }),
    event,
    messageIds: [...idsOf(waiting), ...idsOf(next)],
    onTaken: (outcome) => {
      waiting.onTaken?.(outcome);
      next.onTaken?.(outcome);
    },
  };
}

/** One step asks for a handful of effects at most; the rest of the limit is for it. */
export function isOutboxFull({ record }: Hot): boolean {
  return (record?.outbox.length ?? 0) > limits.outboxEffects - 32;
}

export function settle(cell: Cell, item: MailboxItem, outcome: Taken): undefined {
  if (outcome.kind === 'stepped') cell.error = null;
  item.onTaken?.(outcome);
  return undefined;
}

export function refuse(item: MailboxItem, code: string, reason: string): void {
  item.onTaken?.({ kind: 'refused', code, reason });
}
