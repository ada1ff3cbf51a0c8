/** ConfigMaps, Secrets and ServiceAccounts. */
import { type Cause, forbiddenField, immutable, required, tooLong } from '../causes.ts';
import { equal, objectAt, textAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { problems } from '../validation/metadata.ts';
import { dataKey } from '../validation/names.ts';
import { fieldsAt, type Kind, plainKind, unsupportedField } from './kind.ts';

/** All data of one object, bytes; Kubernetes' bound. */
const dataBytesMax = 1024 * 1024;

export const configMapKind: Kind = {
  ...plainKind,
  check: (object) => dataCauses(object, ['data', 'binaryData']),
  checkUpdate: (object, old) => immutableCauses(object, old, ['data', 'binaryData']),
};

/** Keys that a Secret of a known type must have. */
const neededKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
};

export const secretKind: Kind = {
  ...plainKind,
  fields: fieldsAt('type'),
  unknownField: unsupportedField,
  fill: mergeStringData,
  check: (secret) => [
    ...dataCauses(secret, ['data']),
    ...(neededKeys[textAt(secret, 'type')] ?? [])
      .filter((key) => objectAt(secret, 'data')?.[key] === undefined)
      .map((key) => required(`data[${key}]`)),
  ],
  checkUpdate: (secret, old) => [
    ...(secret.type === old.type ? [] : [immutable('type', secret.type)]),
    ...immutableCauses(secret, old, ['data']),
  ],
};

export const serviceAccountKind: Kind = { ...plainKind, answersDeleted: true };

/** `stringData` can be written but never read. */
function mergeStringData(secret: StoredObject): void {
  const texts = objectAt(secret, 'stringData');
  if (texts === undefined) return;
  const encoded = Object.entries(texts).map(([key, text]) => [
    key,
    Buffer.from(String(text)).toString('base64'),
  ]);
  secret.data = { ...objectAt(secret, 'data'), ...Object.fromEntries(encoded) };
  delete secret.stringData;
}

function dataCauses(object: StoredObject, fields: readonly string[]): Cause[] {
  const entries = fields.flatMap((field) =>
    Object.entries(objectAt(object, field) ?? {}).map(([key, value]) => ({
      field,
      key,
      value: String(value),
    })),
  );
  const bytes = entries.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
  return [
    ...entries.flatMap(({ field, key }) => problems(`${field}[${key}]`, key, dataKey(key))),
    ...(bytes > dataBytesMax ? [tooLong('', dataBytesMax)] : []),
  ];
}

function immutableCauses(object: StoredObject, old: StoredObject, fields: readonly string[]): Cause[] {
  if (old.immutable !== true) return [];
  const changed = fields.filter((field) => !equal(object[field] ?? {}, old[field] ?? {}));
  return [
    ...(object.immutable === true
      ? []
      : [forbiddenField('immutable', 'field is immutable when `immutable` is set')]),
    ...changed.map((field) => forbiddenField(field, 'field is immutable when `immutable` is set')),
  ];
}
