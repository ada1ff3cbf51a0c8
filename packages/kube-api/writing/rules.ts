/** Applies all rules that an object must keep before it is stored. */
import { type Cause, invalidValue } from '../causes.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { ruleCauses } from '../schema/cel/rule-check.ts';
import { validate } from '../schema/validate.ts';
import { invalid } from '../status.ts';
import type { StoredObject } from '../stored-object.ts';
import { metadataCauses, metadataUpdateCauses } from '../validation/metadata.ts';

/** @throws ApiError 422 with every violation */
export function checkNew(resource: Resource, object: StoredObject): void {
  refuse(resource, object, [
    ...metadataCauses(object.metadata, resource.rules.nameRule),
    ...finalizerCauses(resource, object),
    ...contentCauses(resource, object),
  ]);
}

/** @throws ApiError 422 with every violation */
export function checkChanged(resource: Resource, object: StoredObject, old: StoredObject): void {
  refuse(resource, object, [
    ...metadataUpdateCauses(object.metadata, old.metadata),
    ...finalizerCauses(resource, object),
    ...contentCauses(resource, object, old),
    ...(resource.rules.checkUpdate?.(object, old, resource) ?? []),
  ]);
}

/** @throws ApiError 422 with every violation */
export function checkStatusChanged(resource: Resource, object: StoredObject, old: StoredObject): void {
  refuse(resource, object, [
    ...metadataUpdateCauses(object.metadata, old.metadata),
    ...(resource.isCustom ? contentCauses(resource, object, old) : []),
    ...(resource.rules.checkStatus?.(object, old) ?? []),
  ]);
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

function finalizerCauses(resource: Resource, { metadata }: StoredObject): Cause[] {
  if (!resource.rules.qualifiesFinalizers) return [];
  return (metadata.finalizers ?? []).flatMap((finalizer, index) => {
    if (finalizer.includes('/') || standardFinalizers.includes(finalizer)) return [];
    const text = 'name is neither a standard finalizer name nor is it fully qualified';
    return [invalidValue(`metadata.finalizers[${index}]`, finalizer, text)];
  });
}

function contentCauses(resource: Resource, object: StoredObject, old?: StoredObject): Cause[] {
  if (!resource.isCustom) return resource.rules.check?.(object, resource) ?? [];
  const type = { apiVersion: apiVersionOf(resource), kind: resource.kind };
  const whole = { ...object, ...type };
  const causes = validate(resource.schema, whole);
  const before = old === undefined ? undefined : { ...old, ...type };
  return [...causes, ...ruleCauses(resource.schema, whole, before, causes)];
}

function refuse(resource: Resource, object: StoredObject, causes: readonly Cause[]): void {
  // Events are reported as core/v1, whichever group they came through.
  const group = resource.view === undefined ? resource.group : '';
  if (causes.length > 0) throw invalid({ kind: resource.kind, group }, object.metadata.name, causes);
}
