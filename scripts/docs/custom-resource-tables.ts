/**
 * The reference of each custom resource: scope, short name, columns, and a table of the fields, all from its
 * manifest in deploy/crds, which `kubectl explain` also prints.
 *
 * Absent: fields that every resource has in the same form (selectors, items of conditions).
 */
import { parse } from 'yaml';
import { markdownTable } from './tables.ts';

/** The part of a definition that is read here. */
interface Definition {
  readonly spec: {
    readonly scope: string;
    readonly names: { readonly shortNames: readonly string[] };
    readonly versions: readonly [Version];
  };
}
interface Version {
  readonly additionalPrinterColumns: readonly Column[];
  readonly schema: { readonly openAPIV3Schema: Field };
}
interface Column {
  readonly name: string;
  readonly priority?: number;
}
interface Field {
  readonly description?: string;
  readonly type?: string;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly items?: Field;
}

const ofKubernetes = new Set(['apiVersion', 'kind', 'metadata', 'matchLabels', 'matchExpressions']);

/** The text between the marks of one kind. */
export function customResource(manifest: string): string {
  const { scope, names, versions } = (parse(manifest) as Definition).spec;
  const [{ additionalPrinterColumns: columns, schema }] = versions;
  const shown = (isWide: boolean) =>
    columns.filter(({ priority = 0 }) => priority > 0 === isWide).map(({ name }) => name);
  const wide = shown(true).length === 0 ? '' : `; \`-o wide\` adds ${shown(true).join(', ')}`;
  const rows = [...fieldRows(schema.openAPIV3Schema, '')];
  return `${scope === 'Cluster' ? 'Cluster-scoped' : scope}, short name \`${names.shortNames.join('`, `')}\`. ${schema.openAPIV3Schema.description}

Columns in the lists of kubectl: ${shown(false).join(', ')}${wide}.

${markdownTable(['field', 'type', 'meaning', 'default'], rows)}`;
}

function* fieldRows({ properties = {}, required = [] }: Field, at: string): Generator<readonly string[]> {
  for (const [name, field] of Object.entries(properties)) {
    if (ofKubernetes.has(name) && field.description === undefined) continue;
    const path = at === '' ? name : `${at}.${name}`;
    if (at !== '')
      yield [
        `\`${path}\``,
        typeOf(field),
        field.description ?? '',
        defaultOf(field, required.includes(name)),
      ];
    if (name !== 'conditions')
      yield* fieldRows(field.items?.properties ? field.items : field, pathInto(field, path));
  }
}

const pathInto = ({ items }: Field, path: string) => (items?.properties ? `${path}[]` : path);

function typeOf({ type, items, enum: values, minimum, exclusiveMinimum, maximum }: Field): string {
  if (values !== undefined) return values.map((one) => `\`${one}\``).join(' or ');
  if (type === 'array') return items?.type === 'object' ? 'list of objects' : `list of ${items?.type}s`;
  const from = minimum === undefined ? [] : [`${exclusiveMinimum ? 'above' : 'from'} ${minimum}`];
  const to = maximum === undefined ? [] : [`to ${maximum}`];
  return [type ?? 'any', [...from, ...to].join(' ')].filter((one) => one !== '').join(', ');
}

function defaultOf({ default: value, type }: Field, isRequired: boolean): string {
  if (isRequired) return 'required';
  // An object's default repeats those of its fields.
  return value === undefined || type === 'object' ? '' : `\`${value}\``;
}
