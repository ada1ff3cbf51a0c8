/**
 * Events: one storage, two forms. They are stored as core/v1; events.k8s.io/v1 is a view with other names and
 * stricter rules.
 */
import { type Cause, invalidValue, required } from '../causes.ts';
import { equal, type JsonObject, numberAt, objectAt, textAt } from '../json.ts';
import type { FieldLabels } from '../selectors/fields.ts';
import type { StoredObject } from '../stored-object.ts';
import { problems } from '../validation/metadata.ts';
import { qualifiedName } from '../validation/names.ts';
import { type CheckRequest, type Kind, metaFields, plainKind, unsupportedField } from './kind.ts';

/** core/v1 name → events.k8s.io/v1 name; the other fields have the same name in both. */
const names: ReadonlyArray<readonly [core: string, events: string]> = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

export function toEventsView(event: StoredObject): StoredObject {
  const view = renamed(event, names) as StoredObject;
  for (const field of ['reportingController', 'reportingInstance'])
    if (view[field] === '') delete view[field];
  return view;
}

export function fromEventsView(view: StoredObject): StoredObject {
  const swapped = names.map(([core, events]) => [events, core] as const);
  return { reportingComponent: '', reportingInstance: '', ...(renamed(view, swapped) as StoredObject) };
}

function renamed(object: JsonObject, pairs: ReadonlyArray<readonly [from: string, to: string]>): JsonObject {
  const byOld = new Map(pairs);
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [byOld.get(key) ?? key, value]));
}

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/**
 * Selectable fields. Those of the object are called `involvedObject.*` in core/v1, `regarding.*` in
 * events.k8s.io/v1.
 */
export function eventFields(reference: 'involvedObject' | 'regarding'): FieldLabels {
  const component = reference === 'regarding' ? 'reportingController' : 'reportingComponent';
  const ofReference = referenceFields.map((field): [string, FieldLabels[string]] => [
    `${reference}.${field}`,
    (event) => textAt(event, 'involvedObject', field),
  ]);
  return {
    ...metaFields,
    ...Object.fromEntries(ofReference),
    reason: (event) => textAt(event, 'reason'),
    type: (event) => textAt(event, 'type'),
    source: (event) => textAt(event, 'source', 'component') || textAt(event, 'reportingComponent'),
    [component]: (event) => textAt(event, 'reportingComponent'),
  };
}

export const eventKind: Kind = {
  ...plainKind,
  createsOnUpdate: true,
  fields: eventFields('involvedObject'),
  unknownField: unsupportedField,
  check: (event, request) =>
    request.group === ''
      ? commonCauses(event, request)
      : [...commonCauses(event, request), ...strictCauses(event)],
  checkUpdate: (event, old, request) => (request.group === '' ? [] : changedCauses(event, old)),
};

function commonCauses(event: StoredObject, { group }: CheckRequest): Cause[] {
  const namespace = event.metadata.namespace ?? '';
  const about = textAt(event, 'involvedObject', 'namespace');
  const hasTime = textAt(event, 'eventTime') !== '';
  const isElsewhere =
    about === ''
      ? !['default', ...(hasTime ? ['kube-system'] : [])].includes(namespace)
      : !hasTime && about !== namespace;
  const causes = isElsewhere
    ? [invalidValue('involvedObject.namespace', about, 'does not match event.namespace')]
    : [];
  if (!hasTime) return causes;
  const controller = textAt(event, 'reportingComponent');
  const controllerField = group === '' ? 'reportingComponent' : 'reportingController';
  if (controller === '') causes.push(required(controllerField));
  causes.push(...problems(controllerField, controller, qualifiedName(controller)));
  for (const field of ['reportingInstance', 'action', 'reason'])
    causes.push(...textCauses(event, field, 128, true));
  causes.push(...textCauses(event, 'message', 1024, false));
  return causes;
}

function textCauses(event: StoredObject, field: string, lengthMax: number, isNeeded: boolean): Cause[] {
  const text = textAt(event, field);
  if (text === '') return isNeeded ? [required(field)] : [];
  if (Buffer.byteLength(text) <= lengthMax) return [];
  return [invalidValue(field, '', `can have at most ${lengthMax} characters`)];
}

function strictCauses(event: StoredObject): Cause[] {
  const causes: Cause[] = [];
  const type = textAt(event, 'type');
  if (textAt(event, 'eventTime') === '') causes.push(required('eventTime'));
  if (type !== 'Normal' && type !== 'Warning')
    causes.push(invalidValue('type', '', `has invalid value: ${type}`));
  for (const field of ['firstTimestamp', 'lastTimestamp'])
    if (textAt(event, field) !== '') causes.push(invalidValue(field, '', 'needs to be unset'));
  if ((numberAt(event, 'count') ?? 0) !== 0) causes.push(invalidValue('count', '', 'needs to be unset'));
  if (Object.keys(objectAt(event, 'source') ?? {}).length > 0)
    causes.push(invalidValue('source', '', 'needs to be unset'));
  return [...causes, ...seriesCauses(event)];
}

function seriesCauses(event: StoredObject): Cause[] {
  const series = objectAt(event, 'series');
  if (series === undefined) return [];
  const count = numberAt(series, 'count') ?? 0;
  return [
    ...(count < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(textAt(series, 'lastObservedTime') === '' ? [required('series.lastObservedTime')] : []),
  ];
}

/** Only the series of an Event may change. */
const fixedFields = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
];

function changedCauses(event: StoredObject, old: StoredObject): Cause[] {
  return fixedFields
    .filter((field) => !equal(event[field] ?? null, old[field] ?? null))
    .map((field) => invalidValue(field, event[field] ?? null, 'field is immutable'));
}
