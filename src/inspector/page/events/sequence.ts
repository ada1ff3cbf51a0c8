/** The sequence of a step across actors: each step below its cause. */
import type { ActorId } from '../../../base/ids.ts';
import { change, eventName, shownTime } from '../../../base/words.ts';
import type { SequenceView } from '../../events/sequence.ts';
import { type Answer, readSequence } from '../api.ts';
import { ActorLink } from '../pieces.ts';
import { html, useEffect, useState, type VNode } from '../vendor.ts';

export function Sequence({
  id,
  rev,
  at,
  isUtc,
  onClose,
}: {
  id: ActorId;
  rev: number;
  at: number;
  isUtc: boolean;
  onClose: () => void;
}): VNode {
  const [answer, setAnswer] = useState<Answer<SequenceView> | null>(null);
  useEffect(() => void readSequence(id, rev, at).then(setAnswer), [id, rev]);
  return html`<section class="card sequence" aria-labelledby="h-sequence">
    <h2 id="h-sequence">What caused it, and what it caused <button class="icon" onClick=${onClose} aria-label="Close the sequence">×</button></h2>
    ${answer === null && html`<p class="quiet">reading …</p>`}
    ${answer && 'refused' in answer && html`<p class="problem" role="alert">${answer.refused.reason}</p>`}
    ${answer && 'ok' in answer && html`<${Steps} view=${answer.ok} id=${id} rev=${rev} isUtc=${isUtc} />`}
  </section>`;
}

function Steps({
  view,
  id,
  rev,
  isUtc,
}: {
  view: SequenceView;
  id: ActorId;
  rev: number;
  isUtc: boolean;
}): VNode {
  const began = view.steps[0]?.step.at ?? 0;
  return html`<p class="quiet">began ${shownTime(began, isUtc)}</p><ol>
    ${view.steps.map(
      ({
        step,
        depth,
      }) => html`<li key="${step.id}@${step.rev}" class=${step.id === id && step.rev === rev ? 'shown' : ''}>
      <span class="after">+${step.at - began} ms</span><span aria-hidden="true" style=${{ marginLeft: `${depth * 18}px` }}>${depth > 0 ? '↳' : '●'}</span>
      <${ActorLink} id=${step.id} at=${step.rev} /><span class="event">${eventName(step.event.type)}</span>
      <span class="led">${step.from === step.to ? 'stays' : change(step)}</span></li>`,
    )}
  </ol>${view.isCut && html`<p class="quiet">more steps are not shown</p>`}`;
}
