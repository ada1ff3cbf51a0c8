/** Small components that all views use: marks of state, names, ages, owners. */
import { systemClock } from '../../base/clock.ts';
import type { ActorId } from '../../base/ids.ts';
import type { Health } from '../../base/views.ts';
import { age } from '../../base/words.ts';
import { actorHref } from './page-address.ts';
import { html, useEffect, useState, type VNode } from './vendor.ts';

/** Redraws at each interval, for ages and countdowns. */
export function useTick(pauseMs: number): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    let timer = { cancel() {} };
    const again = () => {
      timer = systemClock.after(pauseMs, () => {
        setTick((tick) => tick + 1);
        again();
      });
    };
    again();
    return () => timer.cancel();
  }, [pauseMs]);
}

/** As the style sheets ask: rows of lists have more lines then. */
export const isNarrow = (widthPx: number): boolean => matchMedia(`(max-width: ${widthPx}px)`).matches;

export const healthWords: Readonly<Record<Health, string>> = {
  wrong: 'wrong',
  waiting: 'waiting',
  ok: 'ok',
};

/** A colour and a shape: a check, a turning arc, a triangle. */
export function Mark({ health, parked = false }: { health: Health; parked?: boolean }): VNode {
  const word = parked ? 'parked' : healthWords[health];
  return html`<svg class="mark ${parked ? 'wrong' : health}" viewBox="0 0 16 16" role="img" aria-label=${word}>
    <title>${word}</title>
    ${parked ? parkedShape() : shapes[health]()}
  </svg>`;
}

const shapes: Readonly<Record<Health, () => VNode>> = {
  ok: () =>
    html`<circle cx="8" cy="8" r="7" class="fill" /><path d="M4.6 8.2l2.3 2.4 4.5-5" class="stroke-on" />`,
  waiting:
    () => html`<circle cx="8" cy="8" r="5.8" class="track" /><path d="M8 2.2a5.8 5.8 0 0 1 5.8 5.8" class="stroke" />
    <circle cx="8" cy="8" r="2" class="fill" />`,
  wrong: () =>
    html`<path d="M8 1.2l7.2 13H.8z" class="fill" /><path d="M8 5.8v4M8 12v.4" class="stroke-on" />`,
};

function parkedShape(): VNode {
  return html`<rect x="1.5" y="1.5" width="13" height="13" rx="3" class="fill" /><path d="M6 5v6M10 5v6" class="stroke-on" />`;
}

/** `proving.asking` as `proving › asking`, regions below each other. */
export function StateName({ state }: { state: string }): VNode {
  const regions = state.split(',');
  return html`<span class="state-name" title=${state}>
    ${regions.map((region, index) => html`${index > 0 && html`<span class="region-gap"> · </span>`}<span>${region.split('.').join(' › ')}</span>`)}
  </span>`;
}

/** Names of more letters are cut on a phone and in full tables, whether or not the namespace is there. */
const fittingLetters = 45;
/** Namespace and name of more letters take two lines in a list on a phone. */
const lineLetters = 26;

export function ActorLink({
  id,
  at = null,
  when = null,
  short = false,
}: {
  id: ActorId;
  at?: number | null;
  when?: number | null;
  short?: boolean;
}): VNode {
  const [kind, namespace, ...name] = id.split('/');
  const place = namespace === '_' ? '' : `${namespace}/`;
  const lead = short ? place : `${kind} ${place}`;
  const text = name.join('/');
  const size = `${text.length > fittingLetters ? 'long' : ''} ${lead.length + text.length > lineLetters ? 'broken' : ''}`;
  // Its parts are boxes of their own, which a reader of the screen would hear as separate words.
  return html`<a class="actor-link ${size}" href=${actorHref(id, at, when)} title=${id} aria-label="${lead}${text}"><span class="lead">${lead}</span><span class="name">${text}</span></a>`;
}

/** `12s`, in a fixed width. */
export function Age({ since, now }: { since: number; now: number }): VNode {
  return html`<time class="age" title=${since > 0 ? new Date(since).toISOString() : ''}>${since > 0 ? age(now - since) : '–'}</time>`;
}

export function Until({ at, now }: { at: number; now: number }): VNode {
  return html`<time class="until" title=${new Date(at).toISOString()}>${countdown(at, now)}</time>`;
}

/** With tenths of a second while they matter. */
export function countdown(at: number, now: number): string {
  const left = at - now;
  if (left <= 0) return 'due';
  return left < 9_950 ? `in ${(left / 1000).toFixed(1)}s` : `in ${age(left + 999)}`;
}

/** Each owner has a colour and a letter, in the order of their names. */
export function ownerIndex(owner: string | null, replicas: readonly string[]): number {
  return owner === null ? -1 : [...replicas].sort().indexOf(owner);
}

export function ownerLetter(index: number): string {
  return index < 0 ? '–' : String.fromCharCode(65 + (index % 26));
}

export function Owner({ owner, replicas }: { owner: string | null; replicas: readonly string[] }): VNode {
  const index = ownerIndex(owner, replicas);
  return html`<span class="owner"><span class="owner-dot owner-${index < 0 ? 'none' : index % 8}" aria-hidden="true">${ownerLetter(index)}</span>${owner ?? 'nobody'}</span>`;
}

/**
 * Fields that narrow a view down. On a narrow screen only the first shows, and a button unfolds the others.
 * @param set how many of the others narrow it down now
 */
export function FilterForm({
  first,
  set,
  children,
}: {
  first: VNode;
  set: number;
  children: unknown;
}): VNode {
  const [isOpen, setOpen] = useState(false);
  return html`<form class="filters ${isOpen ? 'open' : ''}" onSubmit=${(event: Event) => event.preventDefault()}>
    ${first}
    <button type="button" class="unfold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Filters${set === 0 ? '' : ` (${set})`}</button>
    ${children}
  </form>`;
}

/** A small area chart of numbers over time, with a label. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }): VNode {
  const most = Math.max(1, ...values);
  const [width, height] = [120, 28];
  const x = (index: number) => ((index / Math.max(1, values.length - 1)) * width).toFixed(1);
  const y = (value: number) => (height - 2 - (value / most) * (height - 5)).toFixed(1);
  const line = values.map((value, index) => `${x(index)} ${y(value)}`).join('L');
  return html`<svg class="sparkline" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label=${label}>
    <path class="area" d="M0 ${height}L${line}L${width} ${height}z" /><path class="line" d="M${line}" />
  </svg>`;
}
