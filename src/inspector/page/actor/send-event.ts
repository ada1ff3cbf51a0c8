/** Sends the actor an event: one that its chart takes now, after a look at what will be sent. */
import type { ActorId } from '../../../base/ids.ts';
import type { SendAnswer } from '../../../base/views.ts';
import { change } from '../../../base/words.ts';
import { type Answer, sendEvent } from '../api.ts';
import { html, useEffect, useRef, useState, type VNode } from '../vendor.ts';

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
  // Commands need no fields, as a rule, and are what people send: `pod.recheck` before what other actors say.
  const [kind = ''] = id.split('/', 1);
  const sorted = [...accepts].sort(
    (a, b) => Number(b.startsWith(`${kind}.`)) - Number(a.startsWith(`${kind}.`)),
  );
  const [type, setType] = useState(sorted[0] ?? '');
  const [fields, setFields] = useState('');
  const [isSure, setSure] = useState(false);
  const [result, setResult] = useState<{ readonly ok: boolean; readonly text: string } | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const event = eventOf(type, fields);
  const send = async () => {
    if (!event) return;
    setSure(false);
    setResult({ ok: true, text: 'sending …' });
    setResult(told(await sendEvent(id, event)));
  };
  return html`<dialog ref=${dialog} class="send" aria-labelledby="send-title" onClose=${onClose}>
    <h2 id="send-title">Send an event to ${id}</h2>
    ${sorted.length === 0 && html`<p>In this state it takes no event from outside.</p>`}
    ${
      sorted.length > 0 &&
      html`<fieldset><legend>Its chart takes these now</legend>
      ${sorted.map(
        (one) =>
          html`<label key=${one}><input type="radio" name="event" value=${one} checked=${one === type} onChange=${() => {
            setType(one);
            setSure(false);
          }} /> <span class="mono">${one}</span></label>`,
      )}
    </fieldset>
    <label class="fields">Further fields, as JSON <textarea rows="3" spellcheck=${false} placeholder="{ }" value=${fields} aria-invalid=${event === null}
      onInput=${({ currentTarget }: { currentTarget: HTMLTextAreaElement }) => {
        setFields(currentTarget.value);
        setSure(false);
      }}></textarea></label>
    ${event === null && html`<p class="problem" role="alert">this is no JSON object</p>`}`
    }
    ${result && html`<p class=${result.ok ? 'result' : 'problem'} role="status">${result.text}</p>`}
    ${isSure && html`<p class="sure" role="alert">This changes the cluster: <span class="mono">${JSON.stringify(event)}</span> goes to <b>${id}</b>.</p>`}
    <div class="buttons">
      <button onClick=${() => dialog.current?.close()}>Close</button>
      ${sorted.length > 0 && (isSure ? html`<button class="primary danger" onClick=${send}>Yes, send it</button>` : html`<button class="primary" disabled=${event === null} onClick=${() => setSure(true)}>Send …</button>`)}
    </div>
  </dialog>`;
}

/** null: the fields are no JSON object. */
function eventOf(type: string, fields: string): { readonly type: string } | null {
  if (fields.trim() === '') return { type };
  try {
    const value: unknown = JSON.parse(fields);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return { ...value, type };
  } catch {
    return null;
  }
}

function told(answer: Answer<SendAnswer>): { readonly ok: boolean; readonly text: string } {
  if ('refused' in answer) return { ok: false, text: answer.refused.reason };
  const { ok } = answer;
  if (!ok.accepted) return { ok: false, text: `${ok.code}: ${ok.reason}` };
  if (ok.transition === null) return { ok: true, text: 'It was taken and changed nothing.' };
  const { transition } = ok;
  return {
    ok: true,
    text:
      transition.from === transition.to
        ? `It stays in ${transition.to} (revision ${transition.rev}).`
        : `It went ${change(transition)} (revision ${transition.rev}).`,
  };
}
