/**
 * The schemas of custom resources' specifications, from the declarations of their features, and the table of
 * their fields. Bounds, patterns, defaults and rules are only in src/features; what is for people
 * (descriptions, columns, the status that Orrery writes) is only in deploy/crds, and is kept.
 */
import type { GenericSchema } from 'valibot';
import { parse, parseDocument } from 'yaml';
import { domainSpec } from '../../src/features/certificates/domain-spec.ts';
import { issuerSpec } from '../../src/features/certificates/issuer-spec.ts';
import { electionSpec } from '../../src/features/elections/election-spec.ts';
import { routeGateSpec } from '../../src/features/routes/route-gate.ts';

/** OpenAPI v3 in the form that Kubernetes accepts. */
export type Schema = Readonly<Record<string, unknown>>;

export const declared: Readonly<Record<string, GenericSchema>> = {
  domains: domainSpec,
  elections: electionSpec,
  issuers: issuerSpec,
  routegates: routeGateSpec,
};

export const definitionOf = (plural: string) => `deploy/crds/orrery.dev_${plural}.yaml`;

const place = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', 'spec'];

/** The manifest with the declared schema; the text stays as it is if it already says the same. */
export function withSpec(text: string, spec: GenericSchema): string {
  const document = parseDocument(text);
  const standing = parse(String(document.getIn(place))) as Schema;
  const schema = described(schemaOf(spec), standing);
  if (isSame(schema, standing)) return text;
  document.setIn(place, document.createNode(schema));
  return document.toString({ lineWidth: 130 });
}

const isSame = (one: unknown, other: unknown) =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

/** The order of keys has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

/** Keeps the descriptions of the present schema. */
function described(made: Schema, standing: unknown): Schema {
  const { description, ...there } = fieldsOf(standing);
  const inner = Object.entries(made).map(([key, value]) => {
    if (key === 'properties')
      return [key, mapped(fieldsOf(value), (one, name) => described(one, fieldsOf(there.properties)[name]))];
    if (key === 'items' || key === 'additionalProperties')
      return [key, described(fieldsOf(value), there[key])];
    return [key, value];
  });
  return { ...(description === undefined ? {} : { description }), ...Object.fromEntries(inner) };
}

const fieldsOf = (value: unknown) =>
  (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;

function mapped(fields: Schema, make: (one: Schema, name: string) => Schema): Schema {
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, make(fieldsOf(one), name)]));
}

/** The part of a valibot schema or action that is read here. */
interface Part {
  readonly type: string;
  readonly pipe?: readonly Part[];
  readonly wrapped?: Part;
  readonly default?: unknown;
  readonly entries?: Readonly<Record<string, Part>>;
  readonly item?: Part;
  readonly key?: Part;
  readonly value?: Part;
  readonly options?: readonly string[];
  readonly requirement?: unknown;
  readonly metadata?: Schema;
  readonly message?: unknown;
  readonly cel?: string;
  readonly title?: string;
}

/** @throws Error for what Kubernetes' schemas cannot express */
export function schemaOf(schema: GenericSchema): Schema {
  return ofPart(schema as unknown as Part);
}

const isOptional = ({ type }: Part) => /^(exact_)?optional$/.test(type);

function ofPart(part: Part): Schema {
  const [first, ...actions] = part.pipe ?? [];
  // The first item of a schema's pipe is the schema itself.
  if (first !== undefined) return actions.reduce(withAction, ofPart(first === part ? plain(part) : first));
  if (part.wrapped !== undefined) {
    const { wrapped, default: value } = part;
    // The program also accepts functions and null as defaults; the API server is given only values.
    const isTold = isOptional(part) && value != null && typeof value !== 'function';
    return { ...ofPart(wrapped), ...(isTold ? { default: value } : {}) };
  }
  const make = forms[part.type];
  if (make === undefined) throw new Error(`a ${part.type} has no form in a schema`);
  return make(part);
}

const plain = ({ pipe: _, ...part }: Part): Part => part;

const forms: Readonly<Record<string, (part: Part) => Schema>> = {
  string: () => ({ type: 'string' }),
  number: () => ({ type: 'number' }),
  boolean: () => ({ type: 'boolean' }),
  picklist: ({ options }) => ({ type: 'string', enum: options }),
  unknown: () => ({ 'x-kubernetes-preserve-unknown-fields': true }),
  union: () => ({}),
  array: ({ item }) => ({ type: 'array', ...(item && { items: ofPart(item) }) }),
  record: ({ key, value }) => ({
    type: 'object',
    ...(value && { additionalProperties: ofPart(value) }),
    ...(key && rulesOfKeys(key)),
  }),
  object({ entries = {} }) {
    const required = Object.keys(entries).filter((name) => !isOptional(entries[name] ?? { type: '' }));
    const properties = mapped(entries, (one) => ofPart(one as unknown as Part));
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties };
  },
};

/** A schema cannot constrain keys, so a rule does; CEL texts have no `\.`. */
function rulesOfKeys(key: Part): Schema {
  const { pattern, maxLength } = ofPart(key);
  if (typeof pattern !== 'string') return {};
  const actions = (key.pipe ?? []).flatMap(({ pipe, ...one }) => [one, ...(pipe ?? [])]);
  const name = actions.find(({ type }) => type === 'title')?.title ?? 'key';
  const says = actions.find(({ type }) => type === 'regex')?.message;
  const rule = `self.all(${name}, size(${name}) <= ${maxLength} && ${name}.matches('${pattern.replaceAll('\\.', '[.]')}'))`;
  return { 'x-kubernetes-validations': [{ rule, message: `every key ${says}` }] };
}

function withAction(schema: Schema, { type, requirement, metadata, cel, message }: Part): Schema {
  const size = schema.type === 'array' ? 'Items' : 'Length';
  const rules = (schema['x-kubernetes-validations'] ?? []) as readonly Schema[];
  if (cel !== undefined) return { ...schema, 'x-kubernetes-validations': [...rules, { rule: cel, message }] };
  if (requirement === Number.MAX_SAFE_INTEGER) return schema;
  const keywords: Readonly<Record<string, Schema | undefined>> = {
    integer: { type: 'integer', format: 'int32' },
    min_length: { [`min${size}`]: requirement },
    max_length: { [`max${size}`]: requirement },
    max_entries: { maxProperties: requirement },
    min_value: { minimum: requirement },
    gt_value: { minimum: requirement, exclusiveMinimum: true },
    max_value: { maximum: requirement },
    regex: { pattern: requirement instanceof RegExp ? requirement.source.replaceAll('\\/', '/') : undefined },
    metadata,
  };
  return { ...schema, ...keywords[type] };
}
