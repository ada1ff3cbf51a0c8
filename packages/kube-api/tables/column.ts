/** Tables as kinds describe them: their columns, and the cells of an object. */
import { type Json, type JsonObject, objectAt, objectsAt, textAt } from '../json.ts';
import { age } from './ages.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0: always shown; more: in wide output only. */
  readonly priority: number;
}

export interface KindTable {
  readonly columns: readonly Column[];
  /** One value for each column. */
  readonly cells: (object: JsonObject, nowMs: number) => Json[];
  /** What kubectl may say of the row, e.g. that a Pod has completed. */
  readonly conditions?: (object: JsonObject) => JsonObject[];
}

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
  priority: 0,
};

export const ageColumn = column('Age', 'Time since the object was created.');

export function column(name: string, description: string, more: Partial<Column> = {}): Column {
  return { name, type: 'string', format: '', description, priority: 0, ...more };
}

/** A column of wide output. */
export function wide(name: string, description: string): Column {
  return column(name, description, { priority: 1 });
}

export function nameOf(object: JsonObject): string {
  return textAt(object, 'metadata', 'name');
}

export function ageOf(object: JsonObject, nowMs: number): string {
  return age(textAt(object, 'metadata', 'creationTimestamp'), nowMs);
}

/** `text`, or what tables show instead of an empty one. */
export function orNone(text: string): string {
  return text === '' ? '<none>' : text;
}

/** `a=1,b=2`, sorted. */
export function labelsText(labels: JsonObject | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return orNone(pairs.sort().join(','));
}

/** A label selector in the words of `kubectl -l`. */
export function selectorText(selector: JsonObject | undefined): string {
  if (selector === undefined) return '<none>';
  const labels = Object.entries(objectAt(selector, 'matchLabels') ?? {}).map(
    ([key, value]) => `${key}=${value}`,
  );
  return orNone([...labels.sort(), ...objectsAt(selector, 'matchExpressions').map(expressionText)].join(','));
}

function expressionText(expression: JsonObject): string {
  const key = textAt(expression, 'key');
  const values = Array.isArray(expression.values) ? expression.values.map(String).sort().join(',') : '';
  if (expression.operator === 'Exists') return key;
  if (expression.operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${expression.operator === 'In' ? 'in' : 'notin'} (${values})`;
}

/** The first three of a list, and how many more there are. */
export function listText(items: readonly string[]): string {
  const shown = items.slice(0, 3).join(',');
  if (items.length === 0) return '<unset>';
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown;
}
