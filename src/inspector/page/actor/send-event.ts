/**
 * Sends the actor an event that its chart takes now: a form of its fields, then a preview, then the sending.
 */

import type { ActorId } from '../../../base/ids.ts';
import type { MessageForm, SendAnswer } from '../../../base/views.ts';
import { change } from '../../../base/words.ts';
import type { Answer } from '../answer.ts';
import { readForms, sendEvent } from '../api.ts';
import { html, useEffect, useRef, useState, type VNode } from '../vendor.ts';
import { EventChoice, EventField, type Forms } from './event-fields.ts';
import { fieldsOf, readForm, type Texts } from './event-form.ts';

const noFields: MessageForm = { type: 'object', properties: {}, required: [] };

export function SendEvent({
  id,
  accepts,
  onClose,
}: {
  id: ActorId;
  accepts: readonly string[];
  onClose: () => void;
}): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [kind = ''] = id.split('/', 1);
  const [forms, setForms] = useState<Forms | null>(null);
  const [type, setType] = useState(accepts[0] ?? '');
  const [texts, setTexts] = useState<Texts>({});
  const [isAsked, setAsked] = useState(false);
  const [isSure, setSure] = useState(false);
  const [result, setResult] = useState<{ readonly ok: boolean; readonly text: string } | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => void readForms(kind).then(setForms), [kind]);
  const form = forms?.[type] ?? noFields;
  const { event, faults } = readForm(type, form, texts);
  const isRight = Object.keys(faults).length === 0;
  const choose = (next: string) => {
    setType(next);
    setTexts({});
    setAsked(false);
    setSure(false);
  };
  const write = (name: string, text: string) => {
    setTexts({ ...texts, [name]: text });
    setSure(false);
  };
  const ask = () => {
    setAsked(true);
    setSure(isRight);
  };
  const send = async () => {
    setSure(false);
    setResult({ ok: true, text: 'sending …' });
    setResult(told(await sendEvent(id, event)));
  };
  return html`<dialog ref=${dialog} class="send" aria-labelledby="send-title" onClose=${onClose}>
    <h2 id="send-title">Send an event to ${id}</h2>
    ${accepts.length === 0 && html`<p>In this state it takes no event from outside.</p>`}
    ${accepts.length > 0 && html`<${EventChoice} accepts=${accepts} forms=${forms} type=${type} choose=${choose} />`}
    ${fieldsOf(form).map(
      ([name, field]) =>
        html`<${EventField} key="${type} ${name}" name=${name} field=${field} isRequired=${form.required.includes(name)} text=${texts[name] ?? ''}
          fault=${isAsked || (texts[name] ?? '') !== '' ? (faults[name] ?? null) : null} write=${(text: string) => write(name, text)} />`,
    )}
    ${result && html`<p class=${result.ok ? 'result' : 'problem'} role="status">${result.text}</p>`}
    ${isSure && html`<p class="sure" role="alert">This changes the cluster: <span class="mono">${JSON.stringify(event)}</span> goes to <b>${id}</b>.</p>`}
    <div class="buttons">
      <button onClick=${() => dialog.current?.close()}>Close</button>
      ${accepts.length > 0 && (isSure ? html`<button class="primary danger" onClick=${send}>Yes, send it</button>` : html`<button class="primary" onClick=${ask}>Send …</button>`)}
    </div>
  </dialog>`;
}

function told(answer: Answer<SendAnswer>): { readonly ok: boolean; readonly text: string } {
  if ('refused' in answer) return { ok: false, text: answer.refused.reason };
  const { ok } = answer;
  if (!ok.accepted) return { ok: false, text: `${ok.code}: ${ok.reason}` };
  if (ok.transition === null) return { ok: true, text: 'The actor took it, and nothing changed.' };
  const { transition } = ok;
  return {
    ok: true,
    text:
      transition.from === transition.to
        ? `It stays in ${transition.to} (revision ${transition.rev}).`
        : `It went ${change(transition)} (revision ${transition.rev}).`,
  };
}
