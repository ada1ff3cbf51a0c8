/** Where a rule's `fieldPath` leads: `.spec.name`, `['odd-name']`, `.map['key']`. */
import type { Schema } from '../schema.ts';

const segment = /\.([A-Za-z_]\w*)|\['((?:[^'\\]|\\.)*)'\]/y;

/** The full path of the field from `path`; undefined if the schema has no such field. */
export function fieldAt(schema: Schema, fieldPath: string, path: string): string | undefined {
  let at = path;
  let inner: Schema | undefined = schema;
  segment.lastIndex = 0;
  for (let end = 0; end < fieldPath.length; end = segment.lastIndex) {
    const match = segment.exec(fieldPath);
    if (match === null || inner === undefined) return undefined;
    const name: string = match[1] ?? (match[2] ?? '').replace(/\\(.)/g, '$1');
    const own: Schema | undefined = inner.properties?.[name];
    const other: Schema | boolean | undefined = inner.additionalProperties;
    if (own !== undefined) at = at === '' ? name : `${at}.${name}`;
    else if (typeof other === 'object') at = `${at}[${name}]`;
    else return undefined;
    inner = own ?? (typeof other === 'object' ? other : undefined);
  }
  return at;
}
