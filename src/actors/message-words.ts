/**
 * A message's form in words: what each field takes, and what is wrong with a value. Admission, the API and
 * the page use the same words. Pure; also runs in the browser.
 */
import type { FieldForm, MessageForm } from '../base/views.ts';

/** `candidate (text, 1 to 253 characters), ttlMs (optional: a whole number, 100 to 3600000, or null)` */
export function formWords({ properties, required }: MessageForm): string {
  const fields = Object.entries(properties).filter(([name]) => name !== 'type');
  if (fields.length === 0) return 'no fields';
  return fields
    .map(([name, form]) => `${name} (${required.includes(name) ? '' : 'optional: '}${fieldWords(form)})`)
    .join(', ');
}

/** `text, 1 to 253 characters` */
export function fieldWords({ type, enum: options, ...form }: FieldForm): string {
  const [kind = 'any'] = typesOf(type);
  const words = options === undefined ? kindWords(kind, form) : options.map(String).join(' or ');
  const instead = typesOf(type).includes('null') ? ', or null' : '';
  return `${words}${instead}${form.description === undefined ? '' : `: ${form.description}`}`;
}

const typesOf = (type: FieldForm['type']): readonly string[] =>
  type === undefined ? [] : typeof type === 'string' ? [type] : type;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  any: 'any value',
};

function kindWords(kind: string, form: Omit<FieldForm, 'type' | 'enum'>): string {
  const { minLength, maxLength, minimum, maximum, pattern, format } = form;
  return [
    kinds[kind] ?? kind,
    ...span(minLength, maxLength, ' characters'),
    ...span(minimum, maximum, ''),
    ...(format === undefined ? [] : [format]),
    ...(pattern === undefined || form.description !== undefined ? [] : [`as ${pattern}`]),
  ].join(', ');
}

function span(least: number | undefined, most: number | undefined, unit: string): readonly string[] {
  if (least === undefined && most === undefined) return [];
  if (most === undefined || most === Number.MAX_SAFE_INTEGER) return [`from ${least} on${unit}`];
  return least === undefined ? [`at most ${most}${unit}`] : [`${least} to ${most}${unit}`];
}

/** What is wrong with a field's value; null: nothing. @param value undefined: the field is left out */
export function fieldFault(form: FieldForm, value: unknown, isRequired: boolean): string | null {
  if (value === undefined) return isRequired ? `is missing: ${fieldWords(form)}` : null;
  return fits(form, value) ? null : `takes ${fieldWords(form)}`;
}

function fits(form: FieldForm, value: unknown): boolean {
  const types = typesOf(form.type);
  if (value === null) return types.length === 0 || types.includes('null');
  if (form.enum !== undefined) return form.enum.some((option) => option === value);
  if (types.length > 0 && !types.some((type) => isOf(type, value))) return false;
  if (typeof value === 'string') return fitsText(form, value);
  return typeof value !== 'number' || isWithin(value, form.minimum, form.maximum);
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  return typeof value === type && !Array.isArray(value);
}

function fitsText({ minLength, maxLength, pattern }: FieldForm, value: string): boolean {
  return (
    isWithin(value.length, minLength, maxLength) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(value))
  );
}

const isWithin = (value: number, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) =>
  value >= least && value <= most;
