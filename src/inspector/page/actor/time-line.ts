/**
 * The actor's history, newest first: event, cause, new state, effects; and a strip for moving through it.
 */

import { stepKey } from '../../../actors/step-order.ts';
import type { ActorId } from '../../../base/ids.ts';
import type { HistoryStep } from '../../../base/views.ts';
import { change, clockTime, effectList, eventName, senderOf } from '../../../base/words.ts';
import { healthThen } from '../chart/drawings.ts';
import { goTo, stay } from '../navigation.ts';
import { VirtualList } from '../overview/virtual-list.ts';
import { actorHref } from '../page-address.ts';
import { ActorLink, Mark } from '../pieces.ts';
import { html, type VNode } from '../vendor.ts';

const rowHeight = 32;
/** More ticks cannot be distinguished on the strip. */
const ticksMax = 160;

interface TimeLineParts {
  id: ActorId;
  kind: string;
  steps: readonly HistoryStep[];
  left: number;
  index: number;
  at: number | null;
  now: number;
  isLoading: boolean;
}

export function TimeLine({ id, kind, steps, left, index, at, isLoading }: TimeLineParts): VNode {
  const newestFirst = steps.toReversed();
  const selected = index < 0 ? -1 : steps.length - 1 - index;
  return html`<section class="card time-line" aria-labelledby="h-time">
    <div class="time-head">
      <h2 id="h-time">Time line <span class="quiet">${steps.length} step${steps.length === 1 ? '' : 's'}${left > 0 ? `, ${left} earlier ones` : ''}, last 24 h</span></h2>
      <div class="time-buttons" role="group" aria-label="Go through time">
        <button class="icon" aria-label="One step back" disabled=${index <= 0} onClick=${() => goTo(steps, index - 1)}>◀</button>
        <button class="icon" aria-label="One step forward" disabled=${at === null} onClick=${() => goTo(steps, index + 1)}>▶</button>
        <button aria-pressed=${at === null} onClick=${() => stay({ at: null })} title="l">Live</button>
      </div>
    </div>
    <${Strip} kind=${kind} steps=${steps} index=${index} />
    ${steps.length === 0 && html`<p class="quiet">${isLoading ? 'reading …' : 'nothing in the last 24 hours'}</p>`}
    <${VirtualList} items=${newestFirst} rowHeight=${rowHeight} label="Steps, newest first" selected=${at === null ? -1 : selected} keyOf=${stepKey}
      row=${(step: HistoryStep) => html`<${StepRow} id=${id} kind=${kind} step=${step} isShown=${step === steps[index]} isPast=${at !== null} />`} />
  </section>`;
}

function Strip({
  kind,
  steps,
  index,
}: {
  kind: string;
  steps: readonly HistoryStep[];
  index: number;
}): VNode {
  const first = Math.max(0, Math.min(index - ticksMax / 2, steps.length - ticksMax));
  const shown = steps.slice(first, first + ticksMax);
  return html`<div class="strip" aria-hidden="true">${shown.map(
    (
      step,
      offset,
    ) => html`<i key=${stepKey(step)} class="${healthThen(kind, step.to)} ${step.from === step.to ? 'stay' : ''} ${first + offset === index ? 'here' : ''}"
    title="rev ${step.rev}: ${eventName(step.event.type)}" onClick=${() => goTo(steps, first + offset)}></i>`,
  )}</div>`;
}

/** `routes › sampling → pausing`: a common parent is named once. */
function led(step: HistoryStep): string {
  const text = change(step);
  const [, outer, from, to] = /^([^,]+)\.([^.,]+) → \1\.([^.,]+)$/.exec(text) ?? [];
  return outer === undefined ? text : `${outer} › ${from} → ${to}`;
}

function StepRow({
  id,
  kind,
  step,
  isShown,
  isPast,
}: {
  id: ActorId;
  kind: string;
  step: HistoryStep;
  isShown: boolean;
  isPast: boolean;
}): VNode {
  const sender = senderOf(step.cause);
  const select = (event: MouseEvent) => {
    if (!(event.target instanceof HTMLAnchorElement)) stay({ at: step.rev, when: step.at });
  };
  return html`<div class="step-row ${isShown && isPast ? 'shown' : ''}" aria-current=${isShown ? 'step' : undefined} onClick=${select}>
    <a class="rev" href=${actorHref(id, step.rev, step.at)} aria-label="Revision ${step.rev}">${step.rev}</a>
    <time class="clock" title=${new Date(step.at).toISOString()}>${clockTime(step.at)}</time>
    <${Mark} health=${healthThen(kind, step.to)} />
    <span class="event">${eventName(step.event.type)}</span>
    <span class="led">${step.from === step.to ? html`<span class="quiet">stays</span>` : led(step)}</span>
    <span class="cause">${sender ? html`<${ActorLink} id=${sender.id} at=${sender.rev} when=${step.at} />` : step.cause ? html`<span class="quiet">${step.cause}</span>` : ''}</span>
    <span class="asked">${effectList(step.effects)}</span>
  </div>`;
}
