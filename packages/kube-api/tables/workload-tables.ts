/** The tables of Deployments, ReplicaSets, StatefulSets and their revisions. */
import { type Json, type JsonObject, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import {
  ageColumn,
  ageOf,
  column,
  type KindTable,
  nameColumn,
  nameOf,
  selectorText,
  wide,
} from './column.ts';

const templateColumns = [
  wide('Containers', 'Names of the containers.'),
  wide('Images', 'Images of the containers.'),
];
const selector = wide('Selector', 'Labels of the Pods.');
const number = { type: 'integer' };

export const deploymentTable: KindTable = {
  columns: [
    nameColumn,
    column('Ready', 'Pods that are ready, of those wanted.'),
    column('Up-to-date', 'Pods of the current template.'),
    column('Available', 'Pods that have been ready for long enough.'),
    ageColumn,
    ...templateColumns,
    selector,
  ],
  cells: (object, nowMs) => [
    nameOf(object),
    `${status(object, 'readyReplicas')}/${replicas(object)}`,
    status(object, 'updatedReplicas'),
    status(object, 'availableReplicas'),
    ageOf(object, nowMs),
    ...templateCells(object),
    selectorText(objectAt(object, 'spec', 'selector')),
  ],
};

export const disruptionBudgetTable: KindTable = {
  columns: [
    nameColumn,
    column('Min Available', 'Pods that must stay available.'),
    column('Max Unavailable', 'Pods that may be away.'),
    column('Allowed Disruptions', 'Pods that may be evicted now.', number),
    ageColumn,
  ],
  cells: (object, nowMs) => [
    nameOf(object),
    boundText(objectAt(object, 'spec')?.minAvailable),
    boundText(objectAt(object, 'spec')?.maxUnavailable),
    numberAt(object, 'status', 'disruptionsAllowed') ?? 0,
    ageOf(object, nowMs),
  ],
};

const boundText = (bound: Json | undefined) => (bound === undefined ? 'N/A' : String(bound));

export const replicaSetTable: KindTable = {
  columns: [
    nameColumn,
    column('Desired', 'Pods that are wanted.', number),
    column('Current', 'Pods that there are.', number),
    column('Ready', 'Pods that are ready.', number),
    ageColumn,
    ...templateColumns,
    selector,
  ],
  cells: (object, nowMs) => [
    nameOf(object),
    replicas(object),
    status(object, 'replicas'),
    status(object, 'readyReplicas'),
    ageOf(object, nowMs),
    ...templateCells(object),
    selectorText(objectAt(object, 'spec', 'selector')),
  ],
};

export const statefulSetTable: KindTable = {
  columns: [
    nameColumn,
    column('Ready', 'Pods that are ready, of those wanted.'),
    ageColumn,
    ...templateColumns,
  ],
  cells: (object, nowMs) => [
    nameOf(object),
    `${status(object, 'readyReplicas')}/${replicas(object)}`,
    ageOf(object, nowMs),
    ...templateCells(object),
  ],
};

export const revisionTable: KindTable = {
  columns: [
    nameColumn,
    column('Controller', 'Whose revision it is.'),
    column('Revision', 'Its number.'),
    ageColumn,
  ],
  cells: (object, nowMs) => [
    nameOf(object),
    controllerText(object),
    numberAt(object, 'revision') ?? 0,
    ageOf(object, nowMs),
  ],
};

function replicas(object: JsonObject): number {
  return numberAt(object, 'spec', 'replicas') ?? 0;
}

function status(object: JsonObject, field: string): number {
  return numberAt(object, 'status', field) ?? 0;
}

function templateCells(object: JsonObject): Json[] {
  const held = objectsAt(object, 'spec', 'template', 'spec', 'containers');
  const all = (field: string) => held.map((container) => textAt(container, field)).join(',');
  return [all('name'), all('image')];
}

function controllerText(object: JsonObject): string {
  const owner = objectsAt(object, 'metadata', 'ownerReferences').find((one) => one.controller === true);
  if (owner === undefined) return '<none>';
  const [group = '', version] = textAt(owner, 'apiVersion').split('/');
  const kind = textAt(owner, 'kind').toLowerCase();
  return `${version === undefined ? kind : `${kind}.${group}`}/${textAt(owner, 'name')}`;
}
