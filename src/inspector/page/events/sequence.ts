/** The sequence of a step across actors: each step below its cause. */
import { indexOfStep, type StepName, stepKey } from '../../../actors/step-order.ts';
import { change, eventName, shownTime } from '../../../base/words.ts';
import type { SequenceView } from '../../events/sequence.ts';
import type { Answer } from '../answer.ts';
import { readSequence } from '../api.ts';
import { ActorLink } from '../pieces.ts';
import { html, useEffect, useState, type VNode } from '../vendor.ts';

export function Sequence({
  name,
  isUtc,
  onClose,
}: {
  name: StepName;
  isUtc: boolean;
  onClose: () => void;
}): VNode {
  const [answer, setAnswer] = useState<Answer<SequenceView> | null>(null);
  useEffect(() => void readSequence(name).then(setAnswer), [name.id, name.rev, name.by]);
  return html`<section class="card sequence" aria-labelledby="h-sequence">
    <h2 id="h-sequence">What caused it, and what it caused <button class="icon" onClick=${onClose} aria-label="Close the sequence">×</button></h2>
    ${answer === null && html`<p class="quiet">reading …</p>`}
    ${answer && 'refused' in answer && html`<p class="problem" role="alert">${answer.refused.reason}</p>`}
    ${answer && 'ok' in answer && html`<${Steps} view=${answer.ok} name=${name} isUtc=${isUtc} />`}
  </section>`;
}

function Steps({ view, name, isUtc }: { view: SequenceView; name: StepName; isUtc: boolean }): VNode {
  const steps = view.steps.map(({ step }) => step);
  const began = steps[0]?.at ?? 0;
  const chosen = indexOfStep(steps, name);
  return html`<p class="quiet">began ${shownTime(began, isUtc)}</p><ol>
    ${view.steps.map(
      (
        { step, depth },
        index,
      ) => html`<li key="${step.id}/${stepKey(step)}" class=${index === chosen ? 'shown' : ''}>
      <span class="after">${step.at < began ? '' : '+'}${step.at - began} ms</span><span aria-hidden="true" style=${{ marginLeft: `${depth * 18}px` }}>${depth > 0 ? '↳' : '●'}</span>
      <${ActorLink} id=${step.id} at=${step.rev} when=${step.at} /><span class="event">${eventName(step.event.type)}</span>
      <span class="led">${step.from === step.to ? 'stays' : change(step)}</span></li>`,
    )}
  </ol>${view.isCut && html`<p class="quiet">more steps are not shown</p>`}`;
}
