/** Field selectors in the form of a query: `spec.nodeName=n1,status.phase!=Failed`. Parsing and matching. */

import { badRequest } from '../status.ts';
import type { StoredObject } from '../stored-object.ts';

/** How a resource names its selectable fields, and the value of each for an object. */
export type FieldLabels = Readonly<Record<string, (object: StoredObject) => string>>;

export interface FieldTerm {
  readonly field: string;
  readonly value: string;
  readonly isEqual: boolean;
}

export type FieldSelector = readonly FieldTerm[];

/** @throws ApiError 400 */
export function parseFieldSelector(text: string): FieldSelector {
  return splitTerms(text)
    .filter((term) => term !== '')
    .map(parseTerm);
}

/** @throws ApiError 400 if the resource has no such field; `unknown` makes the message */
export function checkFields(
  selector: FieldSelector,
  labels: FieldLabels,
  unknown: (field: string) => string,
): void {
  for (const { field } of selector) if (!Object.hasOwn(labels, field)) throw badRequest(unknown(field));
}

export function matchesFields(selector: FieldSelector, labels: FieldLabels, object: StoredObject): boolean {
  return selector.every(
    ({ field, value, isEqual }) => ((labels[field]?.(object) ?? '') === value) === isEqual,
  );
}

/** Commas separate terms unless a backslash precedes them. */
function splitTerms(text: string): string[] {
  return text.match(/(?:\\.|[^,\\])+/g) ?? [];
}

function parseTerm(term: string): FieldTerm {
  const match = /^((?:\\.|[^=!\\])*)(!=|==|=)(.*)$/s.exec(term);
  if (match === null) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const [, field = '', sign, value = ''] = match;
  return { field, value: value.replace(/\\([\\,=])/g, '$1'), isEqual: sign !== '!=' };
}
