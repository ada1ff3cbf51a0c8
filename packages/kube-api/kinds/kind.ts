/**
 * What a kind adds to the common life of an object: rules, defaults that depend on other fields, what a write
 * may change.
 *
 * The hooks `fill`, `create`, `update` and `status` change the object that they are given, which belongs to
 * the request. They touch metadata, spec and status only through new values, because these parts may be
 * shared with the stored object.
 */
import type { Cause } from '../causes.ts';
import { type Json, textAt } from '../json.ts';
import type { FieldLabels } from '../selectors/fields.ts';
import type { StoredObject } from '../stored-object.ts';
import { dnsSubdomain, type NameRule } from '../validation/names.ts';

export interface Kind {
  readonly nameRule: NameRule;
  /** A PUT without resourceVersion is allowed. */
  readonly unconditionalUpdate: boolean;
  /** A PUT creates the object if there is none. */
  readonly createsOnUpdate: boolean;
  /** DELETE answers with the object; other kinds answer with a Status. */
  readonly answersDeleted: boolean;
  /** Deleted in two steps: first marked, then removed when the kubelet says so. */
  readonly deletesGracefully: boolean;
  /** Finalizers must have the form `example.com/name`, except Kubernetes' own. */
  readonly qualifiesFinalizers: boolean;
  readonly fields: FieldLabels;
  /** The complaint about a field that is not selectable. */
  readonly unknownField: (field: string) => string;
  /** The part whose change raises metadata.generation; absent: the kind has none. */
  readonly generation?: (object: StoredObject) => Json;
  /** Defaults that depend on other fields; runs on everything that comes in. */
  readonly fill?: (object: StoredObject) => void;
  readonly create?: (object: StoredObject) => void;
  readonly update?: (object: StoredObject, old: StoredObject) => void;
  /**
   * Runs on a write of the status subresource, after everything except metadata and status was taken from
   * `old`.
   */
  readonly status?: (object: StoredObject, old: StoredObject) => void;
  readonly check?: (object: StoredObject, request: CheckRequest) => Cause[];
  readonly checkUpdate?: (object: StoredObject, old: StoredObject, request: CheckRequest) => Cause[];
  readonly checkStatus?: (object: StoredObject, old: StoredObject) => Cause[];
}

/** What rules may depend on besides the object. */
export interface CheckRequest {
  /** API group of the request's path. */
  readonly group: string;
}

export const metaFields: FieldLabels = {
  'metadata.name': (object) => object.metadata.name,
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

/** A kind without rules of its own; the other kinds override parts of it. */
export const plainKind: Kind = {
  nameRule: dnsSubdomain,
  unconditionalUpdate: true,
  createsOnUpdate: false,
  answersDeleted: false,
  deletesGracefully: false,
  qualifiesFinalizers: true,
  fields: metaFields,
  unknownField: (field) =>
    `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
};

/** Selectable fields by path, besides the name and the namespace. */
export function fieldsAt(...paths: string[]): FieldLabels {
  const own = paths.map((path): [string, FieldLabels[string]] => [path, (object) => valueText(object, path)]);
  return { ...metaFields, ...Object.fromEntries(own) };
}

function valueText(object: StoredObject, path: string): string {
  return textAt(object, ...path.split('.'));
}

export function unsupportedField(field: string): string {
  return `field label not supported: ${field}`;
}
