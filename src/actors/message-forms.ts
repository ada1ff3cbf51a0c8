/**
 * The form of the messages that people may send, as JSON Schema, derived from the schemas that admit them;
 * for the API, the page and the reference. Pure.
 *
 * Owns which parts of a schema are included. Checks that JSON Schema cannot express (functions) are left out:
 * admission has the final say, and the form only helps a person to get the message right at once.
 */
import type { FieldForm, MessageForm } from '../base/views.ts';
import type { DeclaredKind } from './kind.ts';

export type MessageForms = Readonly<Record<string, MessageForm>>;

/** The schemas that admit messages, by type. */
type Schemas = Readonly<Record<string, unknown>>;

/** The part of a valibot schema that is read here. */
interface Schema {
  readonly type: string;
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly wrapped?: Schema;
  readonly item?: Schema;
  readonly options?: readonly (string | number)[];
  readonly literal?: string | number | boolean;
  readonly default?: unknown;
  readonly requirement?: unknown;
  readonly description?: string;
  readonly pipe?: readonly Schema[];
}

/** By kind, then by message. @param kinds of the features */
export function messageForms(kinds: readonly DeclaredKind[]): ReadonlyMap<string, MessageForms> {
  return new Map(
    kinds.flatMap(({ chart, messages }) => (messages ? [[chart.name, formsOf(messages.public)]] : [])),
  );
}

export function formsOf(schemas: Schemas): MessageForms {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [type, messageForm(schema as Schema)]),
  );
}

function messageForm(schema: Schema): MessageForm {
  const entries = Object.entries(schema.entries ?? {});
  return {
    type: 'object',
    ...described(schema),
    properties: Object.fromEntries(entries.map(([name, field]) => [name, fieldForm(field)])),
    required: entries.filter(([, { type }]) => type !== 'optional').map(([name]) => name),
  };
}

function described({ pipe = [] }: Schema): { readonly description?: string } {
  const description = pipe.find(({ type }) => type === 'description')?.description;
  return description === undefined ? {} : { description };
}

function fieldForm(schema: Schema): FieldForm {
  const { wrapped, literal, options } = schema;
  if (schema.type === 'optional' && wrapped) return { ...fieldForm(wrapped), ...described(schema) };
  if (schema.type === 'nullable' && wrapped) return nullable(fieldForm(wrapped));
  if (schema.type === 'literal' && literal !== undefined) return { const: literal };
  if (schema.type === 'picklist' && options) return { enum: options, ...described(schema) };
  const plain = ['string', 'number', 'boolean', 'array'].includes(schema.type) ? { type: schema.type } : {};
  return (schema.pipe ?? []).reduce<FieldForm>(withAction, plain);
}

function nullable(form: FieldForm): FieldForm {
  const { type } = form;
  if (type === undefined || typeof type !== 'string') return form;
  return { ...form, type: [type, 'null'] };
}

const bounds: Readonly<Record<string, 'minLength' | 'maxLength' | 'minimum' | 'maximum'>> = {
  min_length: 'minLength',
  max_length: 'maxLength',
  min_value: 'minimum',
  max_value: 'maximum',
};

function withAction(form: FieldForm, { type, requirement, description }: Schema): FieldForm {
  const bound = bounds[type];
  if (bound !== undefined) return { ...form, [bound]: requirement };
  if (type === 'integer') return { ...form, type: 'integer' };
  if (type === 'regex' && requirement instanceof RegExp) return { ...form, pattern: requirement.source };
  if (type === 'ip') return { ...form, format: 'an IP address' };
  return description === undefined ? form : { ...form, description };
}
