/**
 * The time line of the cluster: what happened when, in which actor, and how one step led to others. From a
 * time on the oldest steps come first; who names none sees the newest first.
 */

import { indexOfStep, type StepName, stepKey } from '../../../actors/step-order.ts';
import type { ActorId } from '../../../base/ids.ts';
import type { Transition } from '../../../base/views.ts';
import { change, effectList, eventName, senderOf, shownTime } from '../../../base/words.ts';
import type { Answer } from '../answer.ts';
import { readEvents, readNewest } from '../api.ts';
import { healthThen, layoutOf } from '../chart/drawings.ts';
import { go } from '../navigation.ts';
import { VirtualList } from '../overview/virtual-list.ts';
import { type EventsPlace, eventsHref } from '../page-address.ts';
import type { Store } from '../page-store.ts';
import { ActorLink, FilterForm, isNarrow, Mark } from '../pieces.ts';
import { html, useEffect, useRef, useState, type VNode } from '../vendor.ts';
import { Sequence } from './sequence.ts';
import { readWhen } from './when.ts';

const rowHeight = { wide: 32, narrow: 50 } as const;

interface Read {
  readonly steps: readonly Transition[];
  /** Where to go on; null: there are no more. */
  readonly next: number | null;
  /** null: all is well. */
  readonly problem: string | null;
  readonly isReading: boolean;
  /** When it was read, ms since the epoch; what happened later is not shown. 0: not yet. */
  readonly at: number;
}

const nothing: Read = { steps: [], next: null, problem: null, isReading: true, at: 0 };

export function EventsPage({ store, place }: { store: Store; place: EventsPlace }): VNode {
  const [read, setRead] = useState<Read>(nothing);
  const [, setLoaded] = useState(0);
  const { from, to, kind, text, utc } = place;
  const turn = useRef(0);
  const load = async (before: Read) => {
    turn.current++;
    const mine = turn.current;
    setRead({ ...before, isReading: true });
    const found = await readOn(store, place, before);
    // An earlier question may be answered last.
    if (mine === turn.current) setRead(found);
  };
  const { isTimed } = store;
  useEffect(() => void (isTimed && load(nothing)), [from, to, kind, text, utc, isTimed]);
  for (const one of new Set(read.steps.map(({ id }) => id.split('/', 1)[0] ?? '')))
    layoutOf(one, () => setLoaded((count) => count + 1));
  const change = (part: Partial<EventsPlace>) => go(eventsHref({ ...place, ...part }), { replace: true });
  const order = from === '' ? 'newest first' : 'oldest first';
  const name = stepOf(place);
  const chosen = name === null ? -1 : indexOfStep(read.steps, name);
  return html`<div class="list-page events-page">
    <h1>Time line <span class="quiet">${read.steps.length}${read.next === null ? '' : '+'} step${read.steps.length === 1 ? '' : 's'}, ${order}${read.at > 0 && `, read at ${shownTime(read.at, utc).slice(11, 19)}`}</span> ${read.at > 0 && html`<button onClick=${() => load(nothing)} disabled=${read.isReading}>Read again</button>`}</h1>
    <${Filters} place=${place} kinds=${store.allKinds ?? []} change=${change} />
    ${name && html`<${Sequence} key="${name.id}@${name.rev}@${name.by}" name=${name} isUtc=${utc} onClose=${() => change({ step: '' })} />`}
    ${read.problem && html`<p class="problem" role="alert">${read.problem} <button onClick=${() => load(read)}>Try again</button></p>`}
    <${VirtualList} items=${read.steps} rowHeight=${isNarrow(700) ? rowHeight.narrow : rowHeight.wide} label="Steps, ${order}" selected=${chosen}
      keyOf=${(one: Transition) => `${one.id}/${stepKey(one)}`}
      row=${(one: Transition, index: number) => html`<${Row} step=${one} isUtc=${utc} isChosen=${index === chosen} onChoose=${() => change({ step: `${one.id}@${one.rev}`, when: one.at })} />`} />
    ${read.isReading && html`<p class="empty">reading …</p>`}
    ${!read.isReading && read.steps.length === 0 && !read.problem && html`<p class="empty">${read.next === null ? 'nothing recorded for that time (24 hours are kept)' : 'nothing found so far'}</p>`}
    ${!read.isReading && read.next !== null && html`<p class="empty"><button onClick=${() => load(read)}>Read ${from === '' ? 'earlier ones' : 'more'}</button></p>`}
  </div>`;
}

async function readOn(store: Store, { from, to, kind, text, utc }: EventsPlace, before: Read): Promise<Read> {
  const now = store.now();
  const [since, until] = [
    from === '' ? null : readWhen(from, now, utc),
    to === '' ? now + 60_000 : readWhen(to, now, utc),
  ];
  const wrong = from !== '' && since === null ? from : until === null ? to : null;
  if (wrong !== null || until === null)
    return {
      ...nothing,
      isReading: false,
      problem: `“${wrong}” is not a time; use 03:10, 2026-11-22T03:10, with Z for UTC, or an age such as 15m`,
    };
  const wanted = { kind, text };
  const answer =
    since === null
      ? placed(await readNewest({ ...wanted, to: before.next ?? until }), ({ earlier }) => earlier)
      : placed(
          await readEvents({ ...wanted, from: since, to: until, after: before.next }),
          ({ next }) => next,
        );
  if ('refused' in answer) return { ...before, isReading: false, problem: answer.refused.reason };
  const { steps, next } = answer.ok;
  return { steps: [...before.steps, ...steps], next, problem: null, isReading: false, at: before.at || now };
}

/** An answer with where to go on. */
function placed<P extends { readonly steps: readonly Transition[] }>(
  answer: Answer<P>,
  next: (page: P) => number | null,
): Answer<Pick<Read, 'steps' | 'next'>> {
  return 'ok' in answer ? { ok: { steps: answer.ok.steps, next: next(answer.ok) } } : answer;
}

function stepOf({ step, when }: EventsPlace): StepName | null {
  const [, id, rev] = /^(.+)@(\d+)$/.exec(step) ?? [];
  return id && rev ? { id: id as ActorId, rev: Number(rev), by: when } : null;
}

function Filters({
  place,
  kinds,
  change,
}: {
  place: EventsPlace;
  kinds: readonly string[];
  change: (part: Partial<EventsPlace>) => void;
}): VNode {
  type Field = { currentTarget: HTMLInputElement | HTMLSelectElement };
  const field = (name: 'from' | 'to' | 'text', label: string, placeholder: string) =>
    html`<label>${label} <input type="text" value=${place[name]} placeholder=${placeholder} spellcheck=${false}
      onChange=${({ currentTarget }: Field) => change({ [name]: currentTarget.value.trim() })} /></label>`;
  const first = field('from', 'From', '15m, 03:10, 2026-11-22T03:10');
  const set = (['to', 'kind', 'text'] as const).filter((name) => place[name] !== '');
  return html`<${FilterForm} first=${first} set=${set.length}>
    ${field('to', 'To', 'now')}
    <label>Kind <select value=${place.kind} onChange=${({ currentTarget }: Field) => change({ kind: currentTarget.value })}>
      <option value="">all</option>${kinds.map((one) => html`<option value=${one} selected=${place.kind === one}>${one}</option>`)}</select></label>
    ${field('text', 'Saying', 'event, state, effect, field')}
    <label>Times <select value=${place.utc ? 'utc' : 'local'} onChange=${({ currentTarget }: Field) => change({ utc: currentTarget.value === 'utc' })}>
      <option value="local">local</option><option value="utc" selected=${place.utc}>UTC</option></select></label>
  <//>`;
}

function Row({
  step,
  isUtc,
  isChosen,
  onChoose,
}: {
  step: Transition;
  isUtc: boolean;
  isChosen: boolean;
  onChoose: () => void;
}): VNode {
  const sender = senderOf(step.cause);
  const choose = ({ target }: MouseEvent) => {
    if (!(target instanceof HTMLAnchorElement)) onChoose();
  };
  const [date, clock, zone] = shownTime(step.at, isUtc).split(' ');
  return html`<div class="event-row ${isChosen ? 'shown' : ''}" onClick=${choose}>
    <button class="when" aria-pressed=${isChosen} title="What caused it, and what it caused"><span class="date">${date} </span>${clock}<span class="zone"> ${zone}</span></button>
    <${Mark} health=${healthThen(step.id.split('/', 1)[0] ?? '', step.to)} />
    <${ActorLink} id=${step.id} at=${step.rev} when=${step.at} />
    <span class="event">${eventName(step.event.type)}</span>
    <span class="led">${step.from === step.to ? 'stays' : change(step)}</span>
    <span class="cause">${sender && html`<${ActorLink} id=${sender.id} at=${sender.rev} when=${step.at} />`}</span>
    <span class="asked">${effectList(step.effects)}</span>
  </div>`;
}
