/**
 * Steps that need not be saved at once, as the chart defines (`Chart.deferrable`), and what its actors lose
 * if the replica dies.
 *
 * Promises: the next save of the record contains the deferred step; a cell with one does not rest; a step
 * that took a message, an outcome, a deadline or an observation is always saved, because a record must not
 * name what is over.
 */
import type { Stamp } from '../../machines/stamp.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { NextRecord } from '../host/next-record.ts';
import type { Cell, Hot, MailboxItem } from '../host/owned.ts';
import type { StampedEvent, Stepper, StepResult } from '../host/step.ts';

export interface TakenStep {
  readonly stepper: Stepper;
  readonly item: MailboxItem;
  readonly event: StampedEvent;
  readonly result: StepResult;
  readonly next: NextRecord;
}

/** Keeps the step in memory only, if allowed. @returns whether it did */
export function defer(hot: Hot, step: TakenStep): boolean {
  const { record } = hot;
  if (record === null || !mayWait(hot, record.snapshot.context, step)) return false;
  const { next, result } = step;
  hot.deferred ??= { saved: record.snapshot.context };
  hot.record = { ...next.record, feed: record.feed };
  hot.snapshot = result.snapshot;
  return true;
}

function mayWait(hot: Hot, before: unknown, { stepper, item, event, result, next }: TakenStep): boolean {
  const { deferrable } = stepper.chart;
  if (deferrable === undefined || !next.isQuiet || isOwed(item) || event.moved === true) return false;
  const { from, to } = next.transition;
  if (from === null || from !== to) return false;
  const step = { from, to, event, effects: result.effects, before, after: next.record.snapshot.context };
  return deferrable({ ...step, saved: hot.deferred?.saved ?? before });
}

const isOwed = ({ mail, messageId, messageIds, completes, timer, world }: MailboxItem): boolean =>
  [mail, messageId, messageIds, completes, timer, world].some((one) => one !== undefined);

/** The stored record is up to date. */
export function saved(hot: Hot): void {
  hot.stale = false;
  hot.deferred = null;
}

/** If its chart wants it, the actor learns with its first step here that it has moved. */
export function stampOf(
  { clock, random }: Pick<HostParts, 'clock' | 'random'>,
  { shard, hot }: Cell,
  { chart }: Stepper,
): Stamp {
  const fence = hot?.record?.gone === false ? hot.record.fence : shard.fence;
  const moved = chart.moves === true && fence !== shard.fence;
  return { at: clock.now(), random: random.next(), ...(moved ? { moved: true } : {}) };
}
