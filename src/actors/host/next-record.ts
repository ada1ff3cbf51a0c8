/** Computes the record that follows from a step. Pure. */
import { invariant } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import type { Transition } from '../../base/views.ts';
import { type Chart, stateOfNow } from '../../machines/chart.ts';
import { messageSend } from '../../machines/effects.ts';
import { healthIn } from '../../machines/tell.ts';
import { remembrance } from '../shards/message-ids.ts';
import type { MailboxItem } from './owned.ts';
import type { ActorRecord, OutboxEntry, TimerRecord } from './records.ts';
import { type StampedEvent, type Stepper, type StepResult, stateText, type TimerChange } from './step.ts';

export interface StepFacts {
  readonly id: ActorId;
  readonly stepper: Stepper;
  /** null: this is the actor's first step. */
  readonly before: ActorRecord | null;
  readonly item: MailboxItem;
  readonly event: StampedEvent;
  readonly result: StepResult;
  readonly fence: number;
  /** The mail stream in which the shard's positions are. */
  readonly mailOf: string;
  readonly replica: string;
  readonly random: Pick<Random, 'id'>;
}

export interface NextRecord {
  readonly record: ActorRecord;
  readonly transition: Transition;
  /** Saved at the revision of the previous step, and not reported. */
  readonly isQuiet: boolean;
  readonly newTimers: readonly TimerRecord[];
  readonly newEffects: readonly OutboxEntry[];
}

/** @throws OrreryError INVARIANT if the actor would exceed the limit of waiting effects */
export function nextRecord(facts: StepFacts): NextRecord {
  const { id, stepper, before, item, event, result, fence, mailOf, replica, random } = facts;
  const snapshot = stepper.persist(result.snapshot);
  const from = before === null || before.gone ? null : stateBefore(stepper.chart, before);
  const to = stateText(snapshot.value);
  const isQuiet = isQuietStep(facts, from, to, snapshot.context);
  const rev = (before?.rev ?? 0) + (isQuiet ? 0 : 1);
  const quiet = isQuiet ? (before?.quiet ?? 0) + 1 : 0;
  const place = quiet === 0 ? `${rev}` : `${rev}/${quiet}`;
  const timers = changedTimers(withoutTimer(before, item), result.timers, event.at);
  const newEffects = result.effects.map((effect, index) => ({
    ...{ key: `${id}/${place}/${index}`, effect },
    ...(effect.type === messageSend.type ? { word: random.id() } : {}),
  }));
  const outbox = [...inherited(before, item), ...newEffects];
  invariant(outbox.length <= limits.outboxEffects, 'an actor has a bounded number of effects waiting', {
    id,
  });
  const transition: Transition = {
    id,
    rev,
    fence,
    replica,
    at: event.at,
    event,
    cause: item.cause,
    from,
    to,
    effects: result.effects,
    resumes: isQuiet ? undefined : resumption(before),
  };
  const record: ActorRecord = {
    format: 1,
    machine: stepper.chart.name,
    version: stepper.chart.version,
    rev,
    quiet: quiet === 0 ? undefined : quiet,
    fence,
    at: event.at,
    since: before !== null && from === to ? before.since : event.at,
    trouble: troubleOf(stepper.chart, { before, from, to, context: snapshot.context, at: event.at }),
    snapshot,
    timers: result.done ? [] : timers,
    outbox,
    feed: isQuiet ? (before?.feed ?? []) : [...(before?.feed ?? []), transition],
    world: item.world ?? before?.world ?? 0,
    mail: item.mail ?? before?.mail ?? 0,
    mailOf,
    recentIds: remembered(before, item),
    lastError: lastErrorOf(snapshot.context),
    gone: result.done,
  };
  return {
    record,
    transition,
    isQuiet,
    newEffects,
    newTimers: record.timers.filter((timer) => !before?.timers.includes(timer)),
  };
}

/** In the terms of the present chart: an earlier version may have had another name for the state. */
function stateBefore(chart: Chart, { snapshot, version }: ActorRecord): string {
  return stateText(stateOfNow(chart, snapshot, version));
}

/**
 * When the trouble began. Retries and detours do not end a trouble: it lasts from the first state that was
 * not ok.
 */
function troubleOf(
  chart: Chart,
  step: {
    readonly before: ActorRecord | null;
    readonly from: string | null;
    readonly to: string;
    readonly context: unknown;
    readonly at: number;
  },
): number | undefined {
  const { before, from, to, context, at } = step;
  if (healthIn(chart, to, context) === 'ok') return undefined;
  if (before === null || from === null || healthIn(chart, from, before.snapshot.context) === 'ok') return at;
  return before.trouble ?? before.since;
}

function isQuietStep(
  { stepper, before, event, result }: StepFacts,
  from: string | null,
  to: string,
  after: unknown,
): boolean {
  const { quiet } = stepper.chart;
  if (quiet === undefined || before === null || from === null || result.done) return false;
  return quiet({ from, to, event, effects: result.effects, before: before.snapshot.context, after });
}

/**
 * A step after unreported ones names the snapshot from which it continued, so that a replay gives the same
 * result.
 */
function resumption(before: ActorRecord | null): Transition['resumes'] {
  if (before === null || before.gone || (before.quiet ?? 0) === 0) return undefined;
  const { value, context } = before.snapshot;
  const isSmall = JSON.stringify(context).length <= limits.resumptionChars;
  return isSmall ? { value, context } : null;
}

/** The record after an event that the chart ignored: only what the event completed is removed. */
export function afterIgnored(before: ActorRecord, item: MailboxItem): ActorRecord {
  if (item.completes === undefined && item.timer === undefined) return before;
  return { ...before, timers: withoutTimer(before, item), outbox: withoutEffect(before, item) };
}

/**
 * The record after its save. Publishing may have continued since `before`, up to `now`; then the saved feed
 * names transitions that are published.
 */
export function afterSave(
  { record, transition, isQuiet }: NextRecord,
  before: ActorRecord | null,
  now: ActorRecord | null,
): ActorRecord {
  if (now?.feed === before?.feed) return record;
  return { ...record, feed: [...(now?.feed ?? []), ...(isQuiet ? [] : [transition])] };
}

function withoutTimer(before: ActorRecord | null, { timer }: MailboxItem): readonly TimerRecord[] {
  const timers = before?.gone === false ? before.timers : [];
  return timer === undefined ? timers : timers.filter(({ id, at }) => id !== timer.id || at !== timer.at);
}

function withoutEffect(before: ActorRecord | null, { completes }: MailboxItem) {
  const outbox = before?.outbox ?? [];
  return completes === undefined ? outbox : outbox.filter(({ key }) => key !== completes);
}

/** A new actor finishes the effects of the former actor of its name, and learns nothing of their outcome. */
function inherited(before: ActorRecord | null, item: MailboxItem): readonly OutboxEntry[] {
  const rest = withoutEffect(before, item);
  return before?.gone ? rest.map((entry) => ({ ...entry, former: true })) : rest;
}

/** Whether an effect of a former actor of this name sent this event. */
export function isForFormer({ outbox }: ActorRecord, { completes, cause }: MailboxItem): boolean {
  return outbox.some(({ key, former }) => former === true && (key === completes || key === cause));
}

function changedTimers(
  timers: readonly TimerRecord[],
  changes: readonly TimerChange[],
  at: number,
): readonly TimerRecord[] {
  let changed = timers;
  for (const change of changes) {
    changed = changed.filter(({ id }) => id !== change.id);
    if (change.kind === 'set') {
      const delayMs = Math.max(0, Math.round(change.delayMs));
      changed = [...changed, { id: change.id, event: change.event, at: at + delayMs, delayMs }];
    }
  }
  return changed;
}

function remembered(before: ActorRecord | null, item: MailboxItem): readonly string[] {
  const known = before?.recentIds ?? [];
  const news = idsOf(item);
  // One entry for each step: merged messages displace no more than a single message would.
  const entry = news.map(remembrance).join(' ');
  return entry === '' ? known : [...known, entry].slice(-limits.recentMessageIds);
}

export function idsOf({ messageId, messageIds = [] }: MailboxItem): readonly string[] {
  return messageId === undefined ? messageIds : [messageId];
}

function lastErrorOf(context: unknown): string | null {
  const error = (context as { lastError?: unknown } | null)?.lastError;
  return typeof error === 'string' ? error : null;
}
