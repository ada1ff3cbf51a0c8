/** Rules of `metadata` that apply to every kind. */
import { type Cause, forbiddenField, immutable, invalidValue, required, tooLong } from '../causes.ts';
import { equal, type Json, textAt } from '../json.ts';
import type { ObjectMeta, OwnerReference } from '../stored-object.ts';
import { asPrefix, labelValue, type NameRule, qualifiedName } from './names.ts';

/** All annotations together, bytes; Kubernetes' bound. */
const annotationsBytesMax = 256 * 1024;

export function metadataCauses(meta: ObjectMeta, nameRule: NameRule): Cause[] {
  const { name, generateName } = meta;
  const causes: Cause[] = [];
  if (generateName !== undefined)
    causes.push(...problems('metadata.generateName', generateName, asPrefix(nameRule)(generateName)));
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'));
  else causes.push(...problems('metadata.name', name, nameRule(name)));
  return [...causes, ...commonCauses(meta)];
}

export function metadataUpdateCauses(meta: ObjectMeta, old: ObjectMeta): Cause[] {
  const causes: Cause[] = [];
  const added = (meta.finalizers ?? []).filter((finalizer) => !old.finalizers?.includes(finalizer));
  if (old.deletionTimestamp !== undefined && added.length > 0) {
    const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
    const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
    causes.push(forbiddenField('metadata.finalizers', detail));
  }
  const fixed = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ];
  for (const field of fixed) causes.push(...unchanged(`metadata.${field}`, meta[field], old[field]));
  return [...causes, ...commonCauses(meta)];
}

/** A field that may never change. */
export function unchanged(field: string, value: Json | undefined, old: Json | undefined): Cause[] {
  return equal(value, old) ? [] : [immutable(field, value)];
}

/** One cause for each problem of a value. */
export function problems(field: string, value: Json, texts: readonly string[]): Cause[] {
  return texts.map((text) => invalidValue(field, value, text));
}

/** Labels and their values, at `field`. */
export function labelCauses(field: string, labels: Readonly<Record<string, string>> | undefined): Cause[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...problems(field, key, qualifiedName(key)),
    ...problems(field, value, labelValue(value)),
  ]);
}

function commonCauses(meta: ObjectMeta): Cause[] {
  const annotations = Object.entries(meta.annotations ?? {});
  const bytes = annotations.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  return [
    ...labelCauses('metadata.labels', meta.labels),
    ...annotations.flatMap(([key]) =>
      problems('metadata.annotations', key, qualifiedName(key.toLowerCase())),
    ),
    ...(bytes > annotationsBytesMax ? [tooLong('metadata.annotations', annotationsBytesMax)] : []),
    ...ownerCauses(meta.ownerReferences ?? []),
    ...finalizerCauses(meta.finalizers ?? []),
  ];
}

function ownerCauses(references: readonly OwnerReference[]): Cause[] {
  const path = 'metadata.ownerReferences';
  const causes = references.flatMap((reference) => [
    ...emptyCause(reference, 'apiVersion', 'version must not be empty'),
    ...emptyCause(reference, 'kind', 'must not be empty'),
    ...emptyCause(reference, 'name', 'must not be empty'),
    ...emptyCause(reference, 'uid', 'must not be empty'),
  ]);
  const [first, second] = references.filter((reference) => reference.controller === true);
  if (first !== undefined && second !== undefined) {
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`;
    causes.push(invalidValue(path, [...references], detail));
  }
  return causes;
}

function emptyCause(reference: OwnerReference, field: string, text: string): Cause[] {
  if (textAt(reference, field) !== '') return [];
  return [invalidValue(`metadata.ownerReferences.${field}`, '', text)];
}

function finalizerCauses(finalizers: readonly string[]): Cause[] {
  const path = 'metadata.finalizers';
  const causes = finalizers.flatMap((finalizer) => problems(path, finalizer, qualifiedName(finalizer)));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    causes.push(
      invalidValue(path, [...finalizers], 'finalizer orphan and foregroundDeletion cannot be both set'),
    );
  return causes;
}
