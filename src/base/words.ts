/**
 * How times, timers and transitions are worded for people, and how times that people type are read. Pure
 * except for the time zone of this machine.
 */
import { timestamp } from './clock.ts';
import type { ActorId } from './ids.ts';
import type { ActorSummary, ActorView, Fact, Transition } from './views.ts';

const dayMs = 24 * 3_600_000;
const clockForm = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const dateForm = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** An age in kubectl's style: at most two units, the smaller one only while it matters. */
export function age(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 8 ? pair(days, 'd', hours % 24, 'h') : `${days}d`;
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** `in 12s`, or `due` once the time has come. */
export function until(at: number, now: number): string {
  return at > now ? `in ${age(at - now + 999)}` : 'due';
}

/** A time relative to now: `5m ago`, `in 29d`. */
function fromNow(at: number, now: number): string {
  return at > now ? until(at, now) : `${age(now - at)} ago`;
}

export function factText({ value, unit }: Fact, now: number): string {
  if (typeof value !== 'number' || unit === undefined) return String(value);
  if (unit === 'time') return fromNow(value, now);
  if (unit === 's' || unit === 'ms') return age(unit === 's' ? value * 1000 : value);
  return `${value} ${unit}`;
}

/**
 * The labels of facts as columns, each once. A label that only some actors have comes after the label that
 * precedes it there, or before the one that follows it.
 */
export function factLabels(all: Iterable<readonly Fact[]>): readonly string[] {
  const labels: string[] = [];
  for (const facts of all) {
    facts.forEach(({ label }, index) => {
      if (labels.includes(label)) return;
      const before = facts[index - 1]?.label;
      const behind = facts.slice(index + 1).find((one) => labels.includes(one.label))?.label;
      const place =
        before !== undefined
          ? labels.indexOf(before) + 1
          : behind !== undefined
            ? labels.indexOf(behind)
            : labels.length;
      labels.splice(place, 0, label);
    });
  }
  return labels;
}

/** The name of a deadline: `xstate.after.askAgain.pod.proving` is the delay `askAgain`. */
export function timerName(event: string): string {
  const delay = /^xstate\.after\.([^.]+)\./.exec(event)?.[1];
  if (delay === undefined) return event;
  return /^\d+$/.test(delay) ? `after ${Number(delay) / 1000} s` : delay;
}

/** Delays whose names say too little by themselves. */
const deadlineTexts: Readonly<Record<string, string>> = {
  askAfterOutage: 'its Issuer is asked again',
  backOff: 'it is tried again',
  checkPause: 'its routes are checked again',
  compactionPause: 'its slices are compacted',
  contestPause: 'it is put back again',
  driftPause: 'the next round',
  restate: 'its status is compared again',
  retryPause: 'it is tried again',
  stuckPause: 'it is tried again',
  period: 'the next probe',
  pause: 'the next round',
  probe: 'it is checked again',
  waitPause: 'it is counted again',
};

/** A deadline's name (`timerName`) for people: `askAgain`: ask again; `roundPatience`: round timeout. */
export function deadlineText(name: string): string {
  return (
    deadlineTexts[name] ??
    name
      .replace(/Patience$/, 'Timeout')
      .replaceAll(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`)
  );
}

/**
 * What happens next. If the chart names nothing, something may come nonetheless: the outcome of what it asked
 * for, or a deadline.
 *
 * @returns `at`: when, ms since the epoch; null: unknown, or never
 */
export function nextOf({
  reason: { next },
  parked,
  pending,
  timers,
}: Pick<ActorView, 'reason' | 'parked' | 'pending' | 'timers'>): {
  readonly text: string;
  readonly at: number | null;
} {
  if (next !== null) return next;
  if (parked) return { text: 'nothing happens until what parked it has ended', at: null };
  if (pending.length > 0) {
    const isFollowing = pending.every(({ type }) => type.endsWith('.follow'));
    return {
      text: isFollowing ? 'news of what it follows' : `the outcome of ${effectList(pending)}`,
      at: null,
    };
  }
  const [first] = [...timers].sort((a, b) => a.at - b.at);
  if (first === undefined) return { text: 'nothing happens by itself', at: null };
  return { text: `only its deadline, ${deadlineText(timerName(first.event))}`, at: first.at };
}

/** What an actor waits for that has no deadline and takes no event from outside. */
export function idleText({ parked }: Pick<ActorSummary, 'parked'>): string {
  return parked
    ? 'the end of what parked it'
    : 'news of what it watches: it has no deadline, and takes no event from outside now';
}

/** The type of an event; for a deadline, the name of its delay: `after askAgain`. */
export function eventName(type: string): string {
  const name = timerName(type);
  return name === type || name.startsWith('after ') ? name : `after ${name}`;
}

/**
 * `proving → marking`. Of parallel regions, only those that changed; for an actor's first step, only the new
 * state.
 */
export function change({ from, to }: Pick<Transition, 'from' | 'to'>): string {
  if (from === null) return `began in ${to}`;
  if (from === to) return `stays ${to}`;
  const [before, after] = [from.split(','), to.split(',')];
  const left = before.filter((part) => !after.includes(part));
  const entered = after.filter((part) => !before.includes(part));
  return `${left.join(',')} → ${entered.join(',')}`;
}

/** `message.send (route.proven to pod/shop/web-0), pod-condition.patch ×2` */
export function effectList(effects: Transition['effects']): string {
  const counts = new Map<string, number>();
  for (const effect of effects) {
    const text = effectText(effect);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([type, count]) => (count === 1 ? type : `${type} ×${count}`)).join(', ');
}

/** For a message, also its event and receiver. */
function effectText(effect: Transition['effects'][number]): string {
  const { type, event, to } = effect as { type: string; event?: { type: string }; to?: readonly string[] };
  if (type !== 'message.send' || event === undefined || to === undefined) return type;
  return `${type} (${event.type} to ${to.length === 1 ? to[0] : `${to.length} actors`})`;
}

/**
 * The cause of a step. For a step of another actor: the name of that step, which `orrery events` accepts:
 * `service/shop/web@9` for the effect `service/shop/web/9/0`.
 */
export function causeText(cause: string): string {
  const sender = senderOf(cause);
  return sender === null ? cause : `${sender.id}@${sender.rev}`;
}

/** `pod/shop/web-0/12/0`: effect 0 of revision 12 of pod/shop/web-0. */
export function senderOf(cause: string | null): { readonly id: ActorId; readonly rev: number } | null {
  const [, id, rev] = /^([a-z][a-z0-9-]*\/[^/]+\/.+)\/(\d+)\/\d+$/.exec(cause ?? '') ?? [];
  return id && rev ? { id: id as ActorId, rev: Number(rev) } : null;
}

/** In UTC, so that people can compare it with logs. */
export function clockTime(at: number): string {
  return timestamp(at).slice(11, 23);
}

/** `2026-11-22 03:12:05.123 +01:00`, or `2026-11-22 02:12:05.123 UTC`. */
export function shownTime(at: number, isUtc: boolean): string {
  const offset = isUtc ? 0 : -new Date(at).getTimezoneOffset();
  const text = new Date(at + offset * 60_000).toISOString().replace('T', ' ').slice(0, 23);
  return `${text} ${isUtc ? 'UTC' : zone(offset)}`;
}

/** As `shownTime`, to the second. */
export function shownSecond(at: number, isUtc: boolean): string {
  return shownTime(at, isUtc).replace(/\.\d{3}/, '');
}

/** Only the time of day: `03:12:05`. */
export function shownClock(at: number): string {
  return shownTime(at, false).slice(11, 19);
}

/** @param minutes east of UTC */
function zone(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const away = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

/** Indented JSON; other text stays as it is. */
export function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

export const isTimeOfDay = (text: string): boolean => clockForm.test(text);

/**
 * Reads a time that a person typed. A time of day means its latest occurrence in the past; a time without a
 * zone is local, or UTC if `isUtc`.
 *
 * @returns ms since the epoch; NaN if the text is no time
 */
export function readMoment(text: string, now: number, isUtc: boolean): number {
  const [, hours, minutes, seconds = '0'] = clockForm.exec(text) ?? [];
  if (hours !== undefined) return timeOfDay([Number(hours), Number(minutes), Number(seconds)], now, isUtc);
  const [, day, time = '00:00', zone] = dateForm.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone ?? (isUtc ? 'Z' : '')}`);
}

/** The same time on the next day. */
export const nextDay = (at: number): number => at + dayMs;

function timeOfDay(parts: readonly [number, number, number], now: number, isUtc: boolean): number {
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return Number.NaN;
  const today = new Date(now);
  const at = isUtc ? today.setUTCHours(...parts, 0) : today.setHours(...parts, 0);
  return at <= now ? at : at - dayMs;
}
