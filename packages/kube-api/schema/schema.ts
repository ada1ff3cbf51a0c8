/**
 * A schema of values: Kubernetes' structural schema. Custom resources bring it, and the built-in types are
 * compiled into it (`builtin-schemas.ts`). One form serves decoding, defaulting, pruning, validation and
 * patching.
 */
import type { Json, JsonObject } from '../json.ts';

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly nullable?: boolean;
  readonly default?: Json;
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
  /** Built-in objects only. */
  readonly builtin?: BuiltinType;
  /**
   * Built-in lists only: the field by which a strategic merge finds an item; empty for lists of plain values.
   */
  readonly mergeKey?: string;
}

/** A CEL rule about the value that the schema describes. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** What only built-in types have, because the real server keeps them in Go structs. */
export interface BuiltinType {
  readonly name: string;
  /** Fields that are filled in if absent. */
  readonly defaults: Readonly<JsonObject>;
  /** Fields that are written even if empty, with their empty value. */
  readonly always: Readonly<JsonObject>;
  /** Whether a strategic merge keeps only the keys that the patch names in `$retainKeys`. */
  readonly retainKeys: boolean;
}

/** The schema of field `key`, or undefined if the schema does not know it. */
export function fieldSchema(schema: Schema, key: string): Schema | undefined {
  const own = schema.properties;
  if (own !== undefined && Object.hasOwn(own, key)) return own[key];
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}
