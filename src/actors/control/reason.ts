/**
 * The reason why an actor stands as it does, for people and programs: the chart's words, the health of its
 * state, and what only the host knows (the actor is parked, or has not started). Never throws: if a chart's
 * `tell` fails, its state is described instead.
 */
import { attempt } from '../../base/errors.ts';
import type { Fact, Health, Reason } from '../../base/views.ts';
import { deadlineText, timerName } from '../../base/words.ts';
import { asOfNow, type Chart } from '../../machines/chart.ts';
import { healthIn, type Standing, stateWords, type Told } from '../../machines/tell.ts';
import type { Cell } from '../host/owned.ts';
import type { ActorRecord } from '../host/records.ts';
import { stateText } from '../host/step.ts';

/** As a list shows it, without unpacking the record. */
export function healthOf(cell: Cell, chart: Chart | undefined): Health {
  if (isParked(cell)) return 'wrong';
  if (cell.state === '' || chart === undefined) return 'waiting';
  return cell.needsLook ? 'wrong' : stateWords(chart, cell.state).health;
}

/** Whether its chart failed over the event that would have created the actor. */
export const isStillborn = ({ state, error }: Cell): boolean => state === '' && error !== null;

export const isParked = (cell: Cell): boolean =>
  cell.unreadable !== null || (cell.hot?.parkedUntil ?? 0) > 0 || isStillborn(cell);

export interface Explained {
  readonly reason: Reason;
  readonly facts: readonly Fact[];
}

/** @param at time of the request, ms since the epoch */
export function reasonOf(
  cell: Cell,
  record: ActorRecord | null,
  chart: Chart | undefined,
  at: number,
): Explained {
  if (isParked(cell)) return { reason: parked(cell, record), facts: [] };
  if (record === null || chart === undefined) return { reason: unborn(at), facts: [] };
  const now = asOfNow(chart, record.snapshot, record.version);
  const state = stateText(now.value);
  const { text } = stateWords(chart, state);
  const health = healthIn(chart, state, now.context);
  const told: Told = ask(chart, {
    states: state.split(','),
    context: now.context,
    at,
    since: record.since,
  }) ?? {
    text,
  };
  const since = health === 'ok' ? (told.since ?? record.since) : (record.trouble ?? record.since);
  const next = told.next === undefined ? deadline(record) : told.next;
  const words = (told.text || text).replace(/\.$/, '') || state;
  const held = cell.hot?.held;
  return {
    reason: { text: held && held !== words ? `${held}; ${words}` : words, health, since, next },
    facts: told.facts ?? [],
  };
}

/** The reason for a row from a replica of an earlier release, which sends none. */
export function reasonWithout({
  state,
  since,
  parked,
  lastError,
}: {
  readonly state: string;
  readonly since: number;
  readonly parked: boolean;
  readonly lastError: string | null;
}): Reason {
  const text = lastError ?? `in ${state}; its owner runs an earlier release, which gives no reason`;
  return { text, health: parked ? 'wrong' : 'waiting', since, next: null };
}

function ask({ tell }: Chart, standing: Standing): Told | null {
  return attempt(() => {
    const told = tell?.(standing) ?? null;
    return told !== null && isPlain(told) ? told : null;
  }, null);
}

/** What cannot be written would hide all actors of the replica from lists. */
function isPlain({ text, next, since, facts = [] }: Told): boolean {
  const isNext = next == null || (typeof next.text === 'string' && typeof next.at === 'number');
  const isSince = since === undefined || typeof since === 'number';
  return typeof text === 'string' && isNext && isSince && facts.every(isFact);
}

const isFact = ({ label, value, unit = '', ends = true }: Fact): boolean =>
  typeof label === 'string' &&
  typeof unit === 'string' &&
  ends === true &&
  (typeof value === 'string' || typeof value === 'number');

function deadline({ timers }: ActorRecord): Reason['next'] {
  const next = timers.reduce<ActorRecord['timers'][number] | null>(
    (earliest, timer) => (earliest === null || timer.at < earliest.at ? timer : earliest),
    null,
  );
  return next === null ? null : { text: deadlineText(timerName(next.event.type)), at: next.at };
}

function parked(cell: Cell, record: ActorRecord | null): Reason {
  const { unreadable, error, hot } = cell;
  const until = hot?.parkedUntil ?? 0;
  return {
    text:
      unreadable === null
        ? `parked, it takes no events: its chart failed: ${error ?? 'unknown error'}`
        : `parked, it takes no events: ${unreadable}`,
    health: 'wrong',
    since: record?.trouble ?? record?.at ?? record?.since ?? cell.trouble ?? 0,
    next: until > 0 && Number.isFinite(until) ? { text: 'the actor is tried again', at: until } : null,
  };
}

function unborn(at: number): Reason {
  return { text: 'it takes its first event', health: 'waiting', since: at, next: null };
}
