/** Names of the schemas in OpenAPI documents: the group's domain reversed, the version, the type. */
import { builtinResources } from '../resources/builtin-resources.ts';
import type { Resource } from '../resources/resource.ts';
import type { Schema } from '../schema/schema.ts';

const metaTypes: ReadonlySet<string> = new Set([
  'Condition',
  'DeleteOptions',
  'LabelSelector',
  'LabelSelectorRequirement',
  'ListMeta',
  'ManagedFieldsEntry',
  'ObjectMeta',
  'OwnerReference',
  'Preconditions',
]);

export const objectMetaName = schemaName('ObjectMeta');
export const listMetaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';

/** Name of a built-in type. A type that several groups use belongs to the first of them. */
export function schemaName(type: string): string {
  if (metaTypes.has(type)) return `io.k8s.apimachinery.pkg.apis.meta.v1.${type}`;
  const group = groups().get(type) ?? '';
  const short = type.replace(/^(?:Core|Events|Discovery|Apiextensions)V1(?=[A-Z])/, '');
  return `io.k8s.api.${group === '' ? 'core' : (group.split('.')[0] ?? group)}.v1.${short}`;
}

/** Name of the schema that a resource shows. */
export function resourceSchemaName(resource: Resource): string {
  if (!resource.isCustom) return schemaName(resource.schema.builtin?.name ?? resource.kind);
  return `${resource.group.split('.').reverse().join('.')}.${resource.version}.${resource.kind}`;
}

let cached: ReadonlyMap<string, string> | undefined;

/** Type → group. */
function groups(): ReadonlyMap<string, string> {
  if (cached !== undefined) return cached;
  const found = new Map<string, string>();
  for (const { group, schema } of builtinResources) collect(schema, group, found);
  cached = found;
  return found;
}

function collect(schema: Schema, group: string, found: Map<string, string>): void {
  const name = schema.builtin?.name;
  if (name !== undefined) {
    if (found.has(name)) return;
    found.set(name, group);
  }
  for (const field of Object.values(schema.properties ?? {})) collect(field, group, found);
  if (schema.items !== undefined) collect(schema.items, group, found);
  if (typeof schema.additionalProperties === 'object') collect(schema.additionalProperties, group, found);
}
