/** Resources that a CustomResourceDefinition brings: one for each served version. */
import { at, type Json, type JsonObject, listAt, objectAt, objectsAt, textAt } from '../json.ts';
import { fieldsAt, type Kind, plainKind, unsupportedField } from '../kinds/kind.ts';
import type { Schema } from '../schema/schema.ts';
import { type StoredObject, withoutMetadata } from '../stored-object.ts';
import { storageName } from './builtin-resources.ts';
import { pathOf, type Resource, type ScalePaths, type Verb } from './resource.ts';

const verbs: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];

export function customResources(definition: StoredObject): Resource[] {
  return objectsAt(definition, 'spec', 'versions')
    .filter((version) => version.served === true)
    .map((version) => customResource(definition, version));
}

export function customStorage(definition: StoredObject): string {
  return storageName(textAt(definition, 'spec', 'group'), textAt(definition, 'spec', 'names', 'plural'));
}

function customResource(definition: StoredObject, version: JsonObject): Resource {
  const names = objectAt(definition, 'spec', 'names') ?? {};
  const hasStatus = at(version, 'subresources', 'status') !== undefined;
  return {
    group: textAt(definition, 'spec', 'group'),
    version: textAt(version, 'name'),
    plural: textAt(names, 'plural'),
    singular: textAt(names, 'singular'),
    kind: textAt(names, 'kind'),
    listKind: textAt(names, 'listKind'),
    namespaced: textAt(definition, 'spec', 'scope') === 'Namespaced',
    shortNames: listAt(names, 'shortNames').map(String),
    categories: listAt(names, 'categories').map(String),
    verbs,
    hasStatus,
    scale: scaleOf(objectAt(version, 'subresources', 'scale')),
    storage: customStorage(definition),
    schema: (objectAt(version, 'schema', 'openAPIV3Schema') ?? {}) as Schema,
    isCustom: true,
    rules: customRules(version, hasStatus),
    printerColumns: objectsAt(version, 'additionalPrinterColumns'),
    isTerminating: definition.metadata.deletionTimestamp !== undefined,
  };
}

function scaleOf(scale: JsonObject | undefined): ScalePaths | null {
  if (scale === undefined) return null;
  return {
    spec: textAt(scale, 'specReplicasPath'),
    status: textAt(scale, 'statusReplicasPath'),
    selector: textAt(scale, 'labelSelectorPath'),
  };
}

function customRules(version: JsonObject, hasStatus: boolean): Kind {
  const paths = objectsAt(version, 'selectableFields').map((field) =>
    pathOf(textAt(field, 'jsonPath')).join('.'),
  );
  return {
    ...plainKind,
    unconditionalUpdate: false,
    qualifiesFinalizers: false,
    fields: fieldsAt(...paths),
    unknownField: unsupportedField,
    generation: (object): Json => (hasStatus ? withoutMetadata(object, 'status') : withoutMetadata(object)),
    create: (object) => {
      if (hasStatus) delete object.status;
    },
    status: (object, old) => {
      object.metadata = { ...old.metadata, resourceVersion: object.metadata.resourceVersion };
    },
  };
}
