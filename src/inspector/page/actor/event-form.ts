/** Converts the texts in an event's form to the event, with the faults of each field. Pure. */
import { fieldFault } from '../../../actors/message-words.ts';
import type { FieldForm, MessageForm } from '../../../base/views.ts';

export type Texts = Readonly<Record<string, string>>;

export interface FormRead {
  readonly event: Readonly<Record<string, unknown>> & { readonly type: string };
  /** By field; empty: the event can be sent. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The fields that a person fills in. */
export function fieldsOf({ properties }: MessageForm): ReadonlyArray<readonly [string, FieldForm]> {
  return Object.entries(properties).filter(([name]) => name !== 'type');
}

/** @param texts as typed; an empty field is left out of the event */
export function readForm(type: string, form: MessageForm, texts: Texts): FormRead {
  const event: Record<string, unknown> & { type: string } = { type };
  const faults: Record<string, string> = {};
  for (const [name, field] of fieldsOf(form)) {
    const value = typedValue(field, texts[name] ?? '');
    const fault = fieldFault(field, value, form.required.includes(name));
    if (fault !== null) faults[name] = `${name} ${fault}`;
    else if (value !== undefined) event[name] = value;
  }
  return { event, faults };
}

function typedValue({ type, enum: options }: FieldForm, text: string): unknown {
  if (text === '') return undefined;
  if (options !== undefined) return options.find((option) => String(option) === text) ?? text;
  const types = type === undefined ? [] : [type].flat();
  if (types.includes('string')) return text;
  try {
    return JSON.parse(text);
  } catch {
    // A value of any type may be text; for a number, this is the fault.
    return text;
  }
}
