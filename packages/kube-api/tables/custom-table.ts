/** The tables of custom resources, as their definitions describe them (`additionalPrinterColumns`). */
import { type Json, type JsonObject, numberAt, textAt } from '../json.ts';
import { age } from './ages.ts';
import { column, type KindTable, nameColumn, nameOf } from './column.ts';
import { follow } from './json-path.ts';

/** What a definition without columns of its own shows. */
const ageOnly: readonly JsonObject[] = [
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

export function customTable(given: readonly JsonObject[]): KindTable {
  const columns = given.length === 0 ? ageOnly : given;
  return {
    columns: [nameColumn, ...columns.map(columnOf)],
    cells: (object, nowMs) => [nameOf(object), ...columns.map((one) => cell(one, object, nowMs))],
  };
}

function columnOf(definition: JsonObject) {
  const path = textAt(definition, 'jsonPath');
  const description = textAt(definition, 'description') || `Column of the definition, from ${path}.`;
  return column(textAt(definition, 'name'), description, {
    type: textAt(definition, 'type'),
    format: textAt(definition, 'format'),
    priority: numberAt(definition, 'priority') ?? 0,
  });
}

function cell(definition: JsonObject, object: JsonObject, nowMs: number): Json {
  const value = follow(textAt(definition, 'jsonPath'), object)[0] ?? null;
  if (value === null) return null;
  switch (textAt(definition, 'type')) {
    case 'string':
      return typeof value === 'string' ? value : JSON.stringify(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? dateCell(value, nowMs) : null;
    default:
      return null;
  }
}

function dateCell(value: string, nowMs: number): string {
  return Number.isNaN(Date.parse(value)) ? '<invalid>' : age(value, nowMs);
}
