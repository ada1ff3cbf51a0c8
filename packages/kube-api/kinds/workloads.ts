/**
 * Deployments, ReplicaSets and StatefulSets: defaults of the roll-out, and a selector that must match the
 * template.
 */

import { type LabelSelector, selects } from '../../../src/base/digests.ts';
import { type Cause, forbiddenField, immutable, invalidValue, required } from '../causes.ts';
import { equal, type Json, type JsonObject, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { labelCauses } from '../validation/metadata.ts';
import { fieldsAt, type Kind, plainKind, unsupportedField } from './kind.ts';
import { filledPodSpec, podSpecCauses } from './pod-spec.ts';

const workload: Kind = {
  ...plainKind,
  unknownField: unsupportedField,
  generation: (object) => object.spec ?? null,
  fill: fillTemplate,
  create: (object) => {
    object.status = {};
  },
  check,
  checkUpdate: (object, old) => selectorChange(object, old),
};

export const deploymentKind: Kind = {
  ...workload,
  generation: (object): Json => [object.spec ?? null, object.metadata.annotations ?? {}],
  fill: (object) => {
    fillTemplate(object);
    fillRollingUpdate(object, 'strategy', { maxUnavailable: '25%', maxSurge: '25%' });
  },
  status: (object, old) => {
    const { labels: _, ...meta } = object.metadata;
    const labels = old.metadata.labels;
    object.metadata = labels === undefined ? meta : { ...meta, labels };
  },
};

export const replicaSetKind: Kind = {
  ...workload,
  fields: { ...fieldsAt(), 'status.replicas': (set) => String(numberAt(set, 'status', 'replicas') ?? 0) },
  create: (object) => {
    object.status = { replicas: 0 };
  },
};

/** Fields of a StatefulSet that may change. */
const changeable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

export const statefulSetKind: Kind = {
  ...workload,
  fill: (object) => {
    fillTemplate(object);
    fillRollingUpdate(object, 'updateStrategy', { partition: 0 });
  },
  create: (object) => {
    object.status = { replicas: 0, availableReplicas: 0 };
  },
  checkUpdate: (object, old) => {
    const fixed = (whole: StoredObject) => {
      const spec = { ...objectAt(whole, 'spec') };
      for (const field of changeable) delete spec[field];
      return spec;
    };
    if (equal(fixed(object), fixed(old))) return [];
    const names = changeable.map((field) => `'${field}'`);
    const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
    return [
      forbiddenField('spec', `updates to statefulset spec for fields other than ${list} are forbidden`),
    ];
  },
};

function fillTemplate(object: StoredObject): void {
  const spec = objectAt(object, 'spec') ?? {};
  const template = objectAt(spec, 'template') ?? {};
  object.spec = { ...spec, template: { ...template, spec: filledPodSpec(objectAt(template, 'spec') ?? {}) } };
}

function fillRollingUpdate(object: StoredObject, field: string, values: JsonObject): void {
  const spec = objectAt(object, 'spec') ?? {};
  const strategy = objectAt(spec, field) ?? {};
  if (textAt(strategy, 'type') !== 'RollingUpdate') return;
  const rollingUpdate = { ...values, ...objectAt(strategy, 'rollingUpdate') };
  object.spec = { ...spec, [field]: { ...strategy, rollingUpdate } };
}

function check(object: StoredObject): Cause[] {
  const spec = objectAt(object, 'spec');
  const labels = objectAt(spec, 'template', 'metadata', 'labels') ?? {};
  const replicas = numberAt(spec, 'replicas') ?? 0;
  return [
    ...(replicas < 0 ? [invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')] : []),
    ...selectorCauses(objectAt(spec, 'selector'), labels),
    ...labelCauses('spec.template.labels', labels as Record<string, string>),
    ...podSpecCauses(objectAt(spec, 'template', 'spec'), 'spec.template.spec', claimsOf(spec)),
    ...restartPolicyCauses(textAt(spec, 'template', 'spec', 'restartPolicy')),
  ];
}

/** Each claim that a StatefulSet makes for its Pods is one of their volumes. */
function claimsOf(spec: JsonObject | undefined): string[] {
  return objectsAt(spec, 'volumeClaimTemplates').map((claim) => textAt(claim, 'metadata', 'name') ?? '');
}

function selectorCauses(selector: JsonObject | undefined, labels: JsonObject): Cause[] {
  const mismatch = invalidValue(
    'spec.template.metadata.labels',
    labels,
    '`selector` does not match template `labels`',
  );
  if (selector === undefined) return [required('spec.selector'), mismatch];
  if (Object.keys(selector).length === 0)
    return [invalidValue('spec.selector', selector, 'empty selector is invalid for deployment')];
  if (selects(selector as LabelSelector, labels as Record<string, string>)) return [];
  return [mismatch];
}

function restartPolicyCauses(policy: string): Cause[] {
  if (policy === 'Always') return [];
  const field = 'spec.template.spec.restartPolicy';
  return [
    {
      reason: 'FieldValueNotSupported',
      field,
      message: `Unsupported value: ${JSON.stringify(policy)}: supported values: "Always"`,
    },
  ];
}

function selectorChange(object: StoredObject, old: StoredObject): Cause[] {
  const selector = objectAt(object, 'spec', 'selector');
  return equal(selector, objectAt(old, 'spec', 'selector')) ? [] : [immutable('spec.selector', selector)];
}
