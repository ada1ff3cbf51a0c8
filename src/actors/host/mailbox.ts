/**
 * The rules of a mailbox: which items it refuses, which come first, and how an item's sender learns the
 * outcome.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Chart } from '../../machines/chart.ts';
import { isRepetition, kindOf } from './cell.ts';
import type { HostParts } from './host-parts.ts';
import { idsOf } from './next-record.ts';
import type { Cell, Hot, MailboxItem, ShardRun, Taken } from './owned.ts';
import type { Stepper } from './step.ts';

/** Observations have their own rule: at most one of each sort waits, the latest. */
export function isTurnedAway(cell: Cell, hot: Hot, item: MailboxItem): boolean {
  if (item.replaces !== undefined) return false;
  return hot.mailbox.length >= limits.mailboxEvents || (cell.overflowed && item.mail !== undefined);
}

/**
 * Puts an item into its place. A new observation replaces the older one of its sort. What comes while
 * observations wait for company goes before them: nobody promises an order between the world and messages,
 * and they would split what one step can take.
 */
export function put({ mailbox, company }: Hot, item: MailboxItem, now: number): void {
  const older = item.replaces ? mailbox.findIndex(({ replaces }) => replaces === item.replaces) : -1;
  if (older >= 0) renew(mailbox, older, item);
  else if (item.completes !== undefined) mailbox.splice(placeOfOutcome(mailbox, item.completes), 0, item);
  else if (item.replaces !== undefined || company === null || company.until <= now) mailbox.push(item);
  else mailbox.splice(mailbox.findLastIndex(({ replaces }) => replaces === undefined) + 1, 0, item);
}

/**
 * Replaces an observation by the next of its sort. Those behind it are the latest of their sorts, so they are
 * true of the newer world as well, and what the actor is told never goes back (I10).
 */
function renew(mailbox: MailboxItem[], at: number, item: MailboxItem): void {
  const { world } = item;
  mailbox[at] = item;
  for (const [place, behind] of mailbox.entries()) {
    if (place > at && behind.world !== undefined && world !== undefined)
      mailbox[place] = { ...behind, world };
  }
}

/**
 * Outcomes come before new events: they make room in the outbox, and an actor should know what it did before
 * it does more. But an effect's intermediate events come before its outcome.
 */
function placeOfOutcome(mailbox: readonly MailboxItem[], effect: string): number {
  const first = mailbox.findIndex(({ completes }) => completes === undefined);
  const own = mailbox.findLastIndex(({ cause, completes }) => cause === effect && completes === undefined);
  return Math.max(first < 0 ? mailbox.length : first, own + 1);
}

/**
 * Takes the next item out of the mailbox that its sender does not take back, with those right behind it whose
 * events can be merged into one step: messages with messages, and an effect's intermediate events with each
 * other. An item that was taken before is never merged.
 */
export function takeNext({ mailbox, record }: Hot, merge: Chart['merge']): MailboxItem | undefined {
  let item = mailbox.shift();
  while (item?.takesBack?.()) item = mailbox.shift();
  if (item === undefined || merge === undefined || isRepetition(record, item)) return item;
  for (let next = mailbox[0]; next !== undefined && !isRepetition(record, next); next = mailbox[0]) {
    const merged = mergedItems(item, next, merge);
    if (merged === null) break;
    mailbox.shift();
    item = merged;
  }
  return item;
}

function mergedItems(
  first: MailboxItem,
  next: MailboxItem,
  merge: NonNullable<Chart['merge']>,
): MailboxItem | null {
  const isOfOneKind = next.mail === undefined ? first.cause === next.cause : first.mail !== undefined;
  const isAgain = next.messageId !== undefined && idsOf(first).includes(next.messageId);
  if (!isLoose(first) || !isLoose(next) || !isOfOneKind || isAgain) return null;
  const event = merge(first.event, next.event);
  if (event === null) return null;
  const { messageId: _, ...rest } = first;
  return {
    ...rest,
    ...(next.mail === undefined ? {} : { mail: Math.max(first.mail ?? 0, next.mail) }),
    event,
    messageIds: [...idsOf(first), ...idsOf(next)],
    onTaken: (outcome) => {
      first.onTaken?.(outcome);
      next.onTaken?.(outcome);
    },
  };
}

/** Outcomes, deadlines and retried events never wait. */
export const canWait = ({ completes, timer, failures }: MailboxItem): boolean =>
  completes === undefined && timer === undefined && failures === undefined;

/** Observations replace each other by a rule of their own, so they are not merged. */
const isLoose = (item: MailboxItem): boolean => canWait(item) && item.replaces === undefined;

/** One step requests a handful of effects at most; the rest of the limit is reserved for it. */
export function isOutboxFull({ record }: Hot): boolean {
  return (record?.outbox.length ?? 0) > limits.outboxEffects - 32;
}

/** An actor without a record is no longer listed as parked. */
export function forgetFailure(cell: Cell): void {
  if (cell.state === '' && cell.error !== null) {
    cell.trouble = null;
    cell.shard.living = null;
  }
  cell.error = null;
}

/** @returns a promise that resolves when the next event may be taken; undefined: at once */
export function settle(cell: Cell, item: MailboxItem, outcome: Taken): Promise<void> | undefined {
  if (outcome.kind === 'stepped' || (outcome.kind === 'ignored' && cell.state === '')) forgetFailure(cell);
  const held = item.onTaken?.(outcome);
  return held instanceof Promise ? held : undefined;
}

interface RefusalParts extends Pick<HostParts, 'isInWorld'> {
  readonly steppers: ReadonlyMap<string, Pick<Stepper, 'chart'>>;
}

/** Why the item creates no actor of this name; null: it does. */
export function refusedToCreate(
  { steppers, isInWorld }: RefusalParts,
  run: Pick<ShardRun, 'cells'>,
  id: ActorId,
  { event, world }: MailboxItem,
): readonly [ErrorCode, string] | null {
  const name = parseActorId(id);
  const chart = steppers.get(name.kind)?.chart;
  if (!chart?.createdBy.includes(event.type)) return ['ACTOR_MISSING', `there is no ${id}`];
  if (chart.refuses === undefined || world !== undefined) return null;
  const alike = [...run.cells.values()].filter((cell) => kindOf(cell) === name.kind).length;
  const reason = chart.refuses(name, { alike, isInWorld: isInWorld(name) });
  return reason === null ? null : ['MESSAGE_NOT_ALLOWED', `${id}: ${reason}`];
}

export function refuse(item: MailboxItem, code: ErrorCode, reason: string): void {
  item.onTaken?.({ kind: 'refused', code, reason });
}
