/**
 * Causes: which field is wrong and why, in the words of Kubernetes' field errors.
 */
import type { Json } from './json.ts';

export type CauseReason =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueDuplicate'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany';

export interface Cause {
  readonly reason: CauseReason;
  /** Path of the field: `spec.ports[0].name`. */
  readonly field: string;
  readonly message: string;
}

export function required(field: string, detail = ''): Cause {
  return { reason: 'FieldValueRequired', field, message: withDetail('Required value', detail) };
}

export function invalidValue(field: string, value: Json | undefined, detail: string): Cause {
  return {
    reason: 'FieldValueInvalid',
    field,
    message: withDetail(`Invalid value: ${shown(value)}`, detail),
  };
}

export function immutable(field: string, value: Json | undefined): Cause {
  return invalidValue(field, value, 'field is immutable');
}

export function wrongType(field: string, value: Json | undefined, detail: string): Cause {
  return {
    reason: 'FieldValueTypeInvalid',
    field,
    message: withDetail(`Invalid value: ${shown(value)}`, detail),
  };
}

/** `supported` is shown in the order given; the real server sorts it. */
export function notSupported(field: string, value: Json | undefined, supported: readonly string[]): Cause {
  const values = supported.map((text) => JSON.stringify(text)).join(', ');
  const message = `Unsupported value: ${shown(value)}: supported values: ${values}`;
  return { reason: 'FieldValueNotSupported', field, message };
}

export function forbiddenField(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

export function duplicate(field: string, value: Json | undefined): Cause {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${shown(value)}` };
}

export function tooLong(field: string, bytesMax: number): Cause {
  return {
    reason: 'FieldValueTooLong',
    field,
    message: `Too long: may not be more than ${bytesMax} bytes`,
  };
}

export function tooMany(field: string, count: number, max: number): Cause {
  return {
    reason: 'FieldValueTooMany',
    field,
    message: `Too many: ${count}: must have at most ${max} items`,
  };
}

function withDetail(text: string, detail: string): string {
  return detail === '' ? text : `${text}: ${detail}`;
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'null' : JSON.stringify(value);
}
