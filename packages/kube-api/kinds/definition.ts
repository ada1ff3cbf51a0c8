/**
 * CustomResourceDefinitions: names, versions, structural schemas, and whether their rules and defaults hold.
 */
import {
  type Cause,
  duplicate,
  forbiddenField,
  immutable,
  invalidValue,
  notSupported,
  required,
} from '../causes.ts';
import { equal, isObject, type JsonObject, listAt, objectAt, objectsAt, textAt } from '../json.ts';
import { definitionRuleCauses } from '../schema/cel/definition-rules.ts';
import { defaultCauses } from '../schema/default-check.ts';
import { compiledPattern } from '../schema/formats.ts';
import type { Schema } from '../schema/schema.ts';
import type { StoredObject } from '../stored-object.ts';
import { problems } from '../validation/metadata.ts';
import { dnsLabel, dnsSubdomain } from '../validation/names.ts';
import { type Kind, plainKind, unsupportedField } from './kind.ts';

export const definitionKind: Kind = {
  ...plainKind,
  unconditionalUpdate: false,
  qualifiesFinalizers: false,
  unknownField: unsupportedField,
  generation: (definition) => definition.spec ?? null,
  fill,
  create: (definition) => {
    definition.status = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: [] };
    rememberStoredVersion(definition);
  },
  update: (definition) => rememberStoredVersion(definition),
  status: (definition, old) => {
    const { metadata } = old;
    definition.metadata = { ...metadata, resourceVersion: definition.metadata.resourceVersion };
  },
  check,
  checkUpdate,
};

function fill(definition: StoredObject): void {
  const spec = objectAt(definition, 'spec') ?? {};
  const names = objectAt(spec, 'names') ?? {};
  const kind = textAt(names, 'kind');
  definition.spec = {
    ...spec,
    names: {
      ...names,
      singular: textAt(names, 'singular') || kind.toLowerCase(),
      listKind: textAt(names, 'listKind') || (kind === '' ? '' : `${kind}List`),
    },
    conversion: spec.conversion ?? { strategy: 'None' },
  };
}

function rememberStoredVersion(definition: StoredObject): void {
  const storage = objectsAt(definition, 'spec', 'versions').find((version) => version.storage === true);
  const stored = listAt(definition, 'status', 'storedVersions');
  const name = textAt(storage, 'name');
  if (name === '' || stored.includes(name)) return;
  definition.status = { ...objectAt(definition, 'status'), storedVersions: [...stored, name] };
}

function check(definition: StoredObject): Cause[] {
  const spec = objectAt(definition, 'spec') ?? {};
  const group = textAt(spec, 'group');
  const plural = textAt(spec, 'names', 'plural');
  const scope = textAt(spec, 'scope');
  return [
    ...(definition.metadata.name === `${plural}.${group}`
      ? []
      : [
          invalidValue('metadata.name', definition.metadata.name, 'must be spec.names.plural+"."+spec.group'),
        ]),
    ...approvalCauses(definition, group),
    ...groupCauses(group),
    ...(['Cluster', 'Namespaced'].includes(scope)
      ? []
      : [
          scope === ''
            ? required('spec.scope')
            : notSupported('spec.scope', scope, ['Cluster', 'Namespaced']),
        ]),
    ...nameCauses(objectAt(spec, 'names') ?? {}),
    ...versionCauses(objectsAt(spec, 'versions')),
    ...conversionCauses(spec),
  ];
}

/** Groups of the Kubernetes project need its approval. */
function approvalCauses(definition: StoredObject, group: string): Cause[] {
  const annotation = 'api-approved.kubernetes.io';
  const isProtected = /(^|\.)(k8s|kubernetes)\.io$/.test(group);
  if (!isProtected || (definition.metadata.annotations?.[annotation] ?? '') !== '') return [];
  const text = `protected groups must have approval annotation "${annotation}", see https://github.com/kubernetes/enhancements/pull/1111`;
  return [required(`metadata.annotations[${annotation}]`, text)];
}

function groupCauses(group: string): Cause[] {
  if (group === '') return [required('spec.group')];
  const causes = problems('spec.group', group, dnsSubdomain(group));
  if (!group.includes('.'))
    causes.push(invalidValue('spec.group', group, 'should be a domain with at least one dot'));
  return causes;
}

function nameCauses(names: JsonObject): Cause[] {
  const label = (field: string) => {
    const name = textAt(names, field);
    return name === ''
      ? [required(`spec.names.${field}`)]
      : problems(`spec.names.${field}`, name, dnsLabel(name.toLowerCase()));
  };
  const shortNames = listAt(names, 'shortNames').map(String);
  return [
    ...label('plural'),
    ...label('singular'),
    ...label('kind'),
    ...label('listKind'),
    ...shortNames.flatMap((name, index) => problems(`spec.names.shortNames[${index}]`, name, dnsLabel(name))),
  ];
}

function versionCauses(versions: readonly JsonObject[]): Cause[] {
  const seen = new Set<string>();
  const causes = versions.flatMap((version, index) => {
    const name = textAt(version, 'name');
    const path = `spec.versions[${index}]`;
    const isSecond = seen.has(name);
    seen.add(name);
    return [
      ...problems(`${path}.name`, name, dnsLabel(name)),
      ...(isSecond ? [duplicate(`${path}.name`, name)] : []),
      ...schemaCauses(version, `${path}.schema.openAPIV3Schema`, versions.length === 1),
    ];
  });
  const stored = versions.filter((version) => version.storage === true).length;
  if (stored !== 1) {
    causes.push(
      invalidValue('spec.versions', [...versions], 'must have exactly one version marked as storage version'),
    );
    if (stored === 0)
      causes.push(invalidValue('status.storedVersions', null, 'must have at least one stored version'));
  }
  return causes;
}

function conversionCauses(spec: JsonObject): Cause[] {
  const strategy = textAt(spec, 'conversion', 'strategy');
  if (strategy === 'None') return [];
  if (strategy === 'Webhook')
    return [
      forbiddenField('spec.conversion.strategy', 'the development API server converts by strategy None only'),
    ];
  return [notSupported('spec.conversion.strategy', strategy, ['None', 'Webhook'])];
}

/** For a definition with one version, the real server reports problems of the schema where v1beta1 had it. */
function schemaCauses(version: JsonObject, path: string, isOnly: boolean): Cause[] {
  const schema = objectAt(version, 'schema', 'openAPIV3Schema');
  if (schema === undefined) return [required(path)];
  const root = isOnly ? 'spec.validation.openAPIV3Schema' : path;
  if (textAt(schema, 'type') === '') return [required(`${root}.type`, 'must not be empty at the root')];
  if (schema.type !== 'object')
    return [invalidValue(`${root}.type`, schema.type, 'must be object at the root')];
  const structure = structureCauses(schema, root, 'must not be empty for specified object fields');
  if (structure.length > 0) return structure;
  const rules = definitionRuleCauses(schema as Schema, root);
  return rules.length > 0 ? rules : defaultCauses(schema as Schema, root);
}

function structureCauses(schema: JsonObject, path: string, emptyType: string): Cause[] {
  const causes: Cause[] = [];
  const isFree =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema['x-kubernetes-int-or-string'] === true;
  if (textAt(schema, 'type') === '' && !isFree) causes.push(required(`${path}.type`, emptyType));
  if (schema.type === 'array' && schema.items === undefined)
    causes.push(required(`${path}.items`, 'must be specified'));
  if (schema.uniqueItems === true)
    causes.push(
      forbiddenField(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  if (schema.$ref !== undefined) causes.push(forbiddenField(`${path}.$ref`, '$ref is not supported'));
  if (typeof schema.pattern === 'string' && compiledPattern(schema.pattern) === undefined)
    causes.push(invalidValue(`${path}.pattern`, schema.pattern, 'must be a valid regular expression'));
  if (
    isObject(schema.properties) &&
    isObject(schema.additionalProperties) &&
    Object.keys(schema.properties).length > 0
  )
    causes.push(
      forbiddenField(
        `${path}.additionalProperties`,
        'additionalProperties and properties are mutual exclusive',
      ),
    );
  return [...causes, ...childCauses(schema, path)];
}

function childCauses(schema: JsonObject, path: string): Cause[] {
  const { items, additionalProperties } = schema;
  const properties = Object.entries(objectAt(schema, 'properties') ?? {});
  return [
    ...properties.flatMap(([key, value]) =>
      isObject(value)
        ? structureCauses(
            value,
            `${path}.properties[${key}]`,
            'must not be empty for specified object fields',
          )
        : [],
    ),
    ...(isObject(items)
      ? structureCauses(items, `${path}.items`, 'must not be empty for specified array items')
      : []),
    ...(isObject(additionalProperties)
      ? structureCauses(
          additionalProperties,
          `${path}.additionalProperties`,
          'must not be empty for specified object fields',
        )
      : []),
  ];
}

function checkUpdate(definition: StoredObject, old: StoredObject): Cause[] {
  const fixed = ['group', 'scope'].filter(
    (field) => !equal(objectAt(definition, 'spec')?.[field], objectAt(old, 'spec')?.[field]),
  );
  const kinds = ['plural', 'kind'].filter(
    (field) => textAt(definition, 'spec', 'names', field) !== textAt(old, 'spec', 'names', field),
  );
  return [
    ...fixed.map((field) => immutable(`spec.${field}`, objectAt(definition, 'spec')?.[field])),
    ...kinds.map((field) => immutable(`spec.names.${field}`, textAt(definition, 'spec', 'names', field))),
  ];
}
