/**
 * The rules of a mailbox: what is turned away, what goes first, and how the one who sent an item is told what became of it.
 */
import { limits } from '../limits.ts';
import type { Cell, Hot, MailboxItem, Taken } from './cell.ts';

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

/** One step asks for a handful of effects at most; the rest of the limit is for it. */
export function isOutboxFull({ record }: Hot): boolean {
  return (record?.outbox.length ?? 0) > limits.outboxEffects - 32;
}

/** @returns resolves when the next event may be taken; undefined: at once */
export function settle(cell: Cell, item: MailboxItem, outcome: Taken): Promise<void> | undefined {
  if (outcome.kind === 'stepped') cell.error = null;
  const held = item.onTaken?.(outcome);
  return held instanceof Promise ? held : undefined;
}

export function refuse(item: MailboxItem, code: string, reason: string): void {
  item.onTaken?.({ kind: 'refused', code, reason });
}
