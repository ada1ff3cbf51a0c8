/** The input fields of an event: its type, and for each field what it takes or what is wrong with it. */
import { fieldWords } from '../../../actors/message-words.ts';
import type { FieldForm, MessageForm } from '../../../base/views.ts';
import { html, type VNode } from '../vendor.ts';

export type Forms = Readonly<Record<string, MessageForm>>;

/** Of the events that people may send, those that the chart takes in its present state. */
export function EventChoice({
  accepts,
  forms,
  type,
  choose,
}: {
  accepts: readonly string[];
  forms: Forms | null;
  type: string;
  choose: (type: string) => void;
}): VNode {
  return html`<fieldset><legend>Its chart takes these now</legend>
    ${accepts.map(
      (one) =>
        html`<label key=${one}><input type="radio" name="event" value=${one} checked=${one === type} onChange=${() => choose(one)} />
          <span class="mono">${one}</span>${forms?.[one]?.description && html` <span class="quiet">${forms[one]?.description}</span>`}</label>`,
    )}
  </fieldset>`;
}

export function EventField({
  name,
  field,
  isRequired,
  text,
  fault,
  write,
}: {
  name: string;
  field: FieldForm;
  isRequired: boolean;
  text: string;
  /** null: nothing is wrong, or nothing was entered yet. */
  fault: string | null;
  write: (text: string) => void;
}): VNode {
  type Typed = { currentTarget: HTMLInputElement | HTMLSelectElement };
  const onInput = ({ currentTarget }: Typed) => write(currentTarget.value);
  const about = `about-${name}`;
  const input =
    field.enum === undefined
      ? html`<input type="text" value=${text} spellcheck=${false} autocomplete="off" aria-describedby=${about} aria-invalid=${fault !== null} onInput=${onInput} />`
      : html`<select value=${text} aria-describedby=${about} aria-invalid=${fault !== null} onChange=${onInput}>
          <option value=""></option>${field.enum.map((option) => html`<option value=${option} selected=${text === String(option)}>${option}</option>`)}</select>`;
  return html`<div class="fields"><label><span><b class="mono">${name}</b>${!isRequired && html` <span class="quiet">optional</span>`}</span>
    ${input}</label><span id=${about} class=${fault === null ? 'quiet' : 'problem'} role=${fault === null ? undefined : 'alert'}>${fault ?? fieldWords(field)}</span></div>`;
}
