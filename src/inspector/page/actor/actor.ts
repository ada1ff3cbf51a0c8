/**
 * The view of one actor: its chart, its state in words with everything it knows, its history, and any past
 * moment.
 */

import { indexOfStep } from '../../../actors/step-order.ts';
import type { ActorId } from '../../../base/ids.ts';
import type { ActorView, HistoryStep } from '../../../base/views.ts';
import { shownTime } from '../../../base/words.ts';
import { ChartPanel } from '../chart/chart-panel.ts';
import type { ChartMoment } from '../chart/chart-view.ts';
import { healthThen, layoutOf } from '../chart/drawings.ts';
import { takenBy } from '../chart/taken.ts';
import { useKeys } from '../keys.ts';
import { goTo, stay } from '../navigation.ts';
import { type ActorPlace, eventsHref, listHref } from '../page-address.ts';
import type { Store } from '../page-store.ts';
import { Age, Mark, StateName, useTick } from '../pieces.ts';
import { html, useMemo, useState, type VNode } from '../vendor.ts';
import { ContextTree } from './context-tree.ts';
import { Details, ReasonCard } from './facts.ts';
import { SendEvent } from './send-event.ts';
import { Effects, Explained, Ownership, Related, Timers } from './side.ts';
import { TimeLine } from './time-line.ts';

export function ActorPage({ store, id, place }: { store: Store; id: ActorId; place: ActorPlace }): VNode {
  useTick(200);
  const { at, when, isSending } = place;
  const watched = store.watched?.id === id ? store.watched : null;
  const steps = watched?.steps ?? [];
  const actor = watched?.actor ?? null;
  const index = at === null ? steps.length - 1 : indexOfStep(steps, { id, rev: at, by: when });
  useActorKeys({ steps, index, at, onSend: () => stay({ isSending: true }), maySend: maySend(store) });
  const [kind = '', namespace, ...name] = id.split('/');
  if (watched?.actor === null && steps.length === 0 && !watched.isLoading) {
    return html`<div class="missing"><h1>${id}</h1><p>There is no such actor, and there has been none in the last 24 hours.</p><a href=${listHref(kind)}>all actors of kind ${kind}</a></div>`;
  }
  const step = steps[index];
  const state = at === null ? (actor?.state ?? step?.to) : step?.to;
  const now = store.now();
  const health = at === null && actor ? actor.reason.health : healthThen(kind, state ?? '');
  return html`<article class="actor ${at === null ? '' : 'past'}" aria-labelledby="actor-name">
    <header class="actor-head">
      <p class="crumbs"><a href=${listHref(kind)}>${kind}</a>${namespace !== '_' && html`<span aria-hidden="true"> / </span><a href=${listHref(kind, { ns: namespace ?? '' })}>${namespace}</a>`}</p>
      <h1 id="actor-name">${name.join('/')}</h1>
      ${
        state &&
        html`<span class="state-chip ${health}"><${Mark} health=${health} parked=${at === null && actor?.parked} /><${StateName} state=${state} />
        ${at === null && actor && html`<span class="quiet">for <${Age} since=${actor.since} now=${now} /></span>`}</span>`
      }
      <span class="spring"></span>
      ${maySend(store) && html`<button class="primary" disabled=${!actor} onClick=${() => stay({ isSending: true })} title="Send an event (s)">Send event</button>`}
    </header>
    ${at !== null && html`<${PastBanner} step=${step} at=${at} when=${when} now=${now} isLoading=${watched?.isLoading ?? true} />`}
    ${watched?.problem && html`<p class="banner" role="status">Not everything could be read, and it is tried again: ${watched.problem}</p>`}
    ${watched?.actor === null && html`<p class="banner">This actor has ended; this is its last state.</p>`}
    ${at === null && actor && html`<${ReasonCard} actor=${actor} now=${now} />`}
    <${Body} store=${store} id=${id} open=${place.open} kind=${kind} state=${state} index=${index} at=${at} now=${now} actor=${actor} steps=${steps} />
    ${isSending && actor && html`<${SendEvent} id=${id} accepts=${actor.accepts} onClose=${() => stay({ isSending: false })} />`}
  </article>`;
}

function Body({
  store,
  id,
  open,
  kind,
  state,
  index,
  at,
  now,
  actor,
  steps,
}: {
  store: Store;
  id: ActorId;
  open: readonly string[];
  kind: string;
  state: string | undefined;
  index: number;
  at: number | null;
  now: number;
  actor: Omit<ActorView, 'recent'> | null;
  steps: readonly HistoryStep[];
}): VNode {
  const [, setLoaded] = useState(false);
  const layout = layoutOf(kind, () => setLoaded(true));
  const step = steps[index];
  const taken = useMemo(() => (layout && step ? takenBy(layout, step) : new Set<string>()), [layout, step]);
  const isLive = at === null;
  const moment: ChartMoment | null =
    state === undefined
      ? null
      : { state, taken, turn: step?.rev ?? 0, timers: isLive ? (actor?.timers ?? []) : [], now };
  const watched = store.watched;
  const context = isLive ? (actor?.context ?? step?.context) : step?.context;
  return html`<div class="actor-body">
    <div class="main-column"><section class="chart-section" aria-label="Statechart">
      ${layout && moment ? html`<${ChartPanel} layout=${layout} moment=${moment} />` : html`<div class="chart-panel loading">${layout ? '' : 'reading the chart …'}</div>`}
    </section>
    <${TimeLine} id=${id} kind=${kind} steps=${steps} left=${watched?.left ?? 0} index=${index} at=${at} now=${now} isLoading=${watched?.isLoading ?? true} /></div>
    <aside class="side" aria-label="About this actor">
      <${Explained} actor=${actor} step=${step} layout=${layout} isLive=${isLive} now=${now} id=${id} />
      ${isLive && actor && html`<${Details} actor=${actor} />`}
      ${isLive && actor && html`<${Timers} actor=${actor} steps=${steps} now=${now} />`}
      ${isLive && actor && html`<${Effects} actor=${actor} />`}
      <${Related} id=${id} steps=${steps} rows=${store.rows} isWhole=${store.isWhole} />
      ${actor && html`<${Ownership} actor=${actor} store=${store} step=${isLive ? null : step} />`}
      <${ContextTree} context=${context} before=${steps[index - 1]?.context} rows=${store.rows} isKnown=${context !== undefined}
        isOpen=${open.includes('context')} onOpen=${(isOpen: boolean) => stay({ open: isOpen ? [...open, 'context'] : open.filter((one) => one !== 'context') })} />
    </aside>
  </div>`;
}

function PastBanner({
  step,
  at,
  when,
  now,
  isLoading,
}: {
  step: HistoryStep | undefined;
  at: number;
  when: number | null;
  now: number;
  isLoading: boolean;
}): VNode {
  const what = step
    ? html`revision ${at}, <${Age} since=${step.at} now=${now} /> ago`
    : isLoading
      ? 'reading …'
      : `revision ${at}${when === null ? '' : ` of ${shownTime(when, false)}`}, which is not among the recorded steps (those of 24 hours are kept)`;
  return html`<p class="banner" role="status"><span>You are looking at the past: ${what}.</span>${step && html`<a class="led-here" href=${eventsHref(around(step))}>what caused it, and what it caused</a>`}<button onClick=${() => stay({ at: null })}>Back to live <kbd>l</kbd></button></p>`;
}

function around({ id, rev, at }: HistoryStep) {
  const iso = (time: number) => new Date(time).toISOString();
  return { from: iso(at - 30_000), to: iso(at + 30_000), step: `${id}@${rev}`, when: at };
}

function maySend({ session }: Store): boolean {
  return session !== null && 'ok' in session && session.ok.maySend;
}

function useActorKeys({
  steps,
  index,
  at,
  onSend,
  maySend,
}: {
  steps: readonly HistoryStep[];
  index: number;
  at: number | null;
  onSend: () => void;
  maySend: boolean;
}): void {
  useKeys((key) => {
    if (key === 'ArrowLeft') goTo(steps, index - 1);
    else if (key === 'ArrowRight') goTo(steps, index + 1);
    else if ((key === 'l' || key === 'Escape') && at !== null) stay({ at: null });
    else if (key === 's' && maySend) onSend();
    else return false;
    return true;
  });
}
