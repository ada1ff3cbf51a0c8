/**
 * How times, timers and transitions are said to a person, and how typed times are read. Pure but for the zone
 * of this machine.
 */
import { timestamp } from './clock.ts';
import type { Fact, Transition } from './views.ts';

const dayMs = 24 * 3_600_000;
const clockForm = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const dateForm = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** An age as kubectl writes it: two units at most, and the smaller one only while it matters. */
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

/** `5m ago`, `in 29d`: a time as a person compares it with now. */
export function fromNow(at: number, now: number): string {
  return at > now ? until(at, now) : `${age(now - at)} ago`;
}

/** The value of a fact, with its unit. */
export function factText({ value, unit }: Fact, now: number): string {
  if (typeof value !== 'number' || unit === undefined) return String(value);
  if (unit === 'time') return fromNow(value, now);
  if (unit === 's' || unit === 'ms') return age(unit === 's' ? value * 1000 : value);
  return `${value} ${unit}`;
}

/**
 * Labels of facts as columns, each once: what some actors tell and others do not comes where those tell it,
 * after the label before it, or else before the one behind it.
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

/** The type of an event; a deadline that came is called by the delay's name: `after askAgain`. */
export function eventName(type: string): string {
  const name = timerName(type);
  return name === type || name.startsWith('after ') ? name : `after ${name}`;
}

/**
 * `proving → marking`; of parallel regions only those that changed; an actor that begins has only the second.
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

/** A message says what is sent and to whom. */
function effectText(effect: Transition['effects'][number]): string {
  const { type, event, to } = effect as { type: string; event?: { type: string }; to?: readonly string[] };
  if (type !== 'message.send' || event === undefined || to === undefined) return type;
  return `${type} (${event.type} to ${to.length === 1 ? to[0] : `${to.length} actors`})`;
}

/**
 * What caused a step: of another actor's step its name, by which `orrery events` shows the sequence:
 * `service/shop/web@9` for the effect `service/shop/web/9/0`.
 */
export function causeText(cause: string): string {
  const [, id, rev] = /^([a-z][a-z0-9-]*\/[^/]+\/.+)\/(\d+)\/\d+$/.exec(cause) ?? [];
  return id === undefined ? cause : `${id}@${rev}`;
}

/** Local to no zone: people compare it with logs. */
export function clockTime(at: number): string {
  return timestamp(at).slice(11, 23);
}

/** `2026-11-22 03:12:05.123 +01:00`, or `2026-11-22 02:12:05.123 UTC`. */
export function shownTime(at: number, isUtc: boolean): string {
  const offset = isUtc ? 0 : -new Date(at).getTimezoneOffset();
  const text = new Date(at + offset * 60_000).toISOString().replace('T', ' ').slice(0, 23);
  return `${text} ${isUtc ? 'UTC' : zone(offset)}`;
}

/** The same to the second. */
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

/** JSON as a person reads it; anything else stays as it is. */
export function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

export const isTimeOfDay = (text: string): boolean => clockForm.test(text);

/**
 * A time of day is the latest one that is past; what names no zone is local, or UTC where `isUtc`.
 *
 * @returns ms since the epoch; NaN: it is no time
 */
export function readMoment(text: string, now: number, isUtc: boolean): number {
  const [, hours, minutes, seconds = '0'] = clockForm.exec(text) ?? [];
  if (hours !== undefined) return timeOfDay([Number(hours), Number(minutes), Number(seconds)], now, isUtc);
  const [, day, time = '00:00', zone] = dateForm.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone ?? (isUtc ? 'Z' : '')}`);
}

/** The same time of the day after. */
export const nextDay = (at: number): number => at + dayMs;

function timeOfDay(parts: readonly [number, number, number], now: number, isUtc: boolean): number {
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return Number.NaN;
  const today = new Date(now);
  const at = isUtc ? today.setUTCHours(...parts, 0) : today.setHours(...parts, 0);
  return at <= now ? at : at - dayMs;
}
