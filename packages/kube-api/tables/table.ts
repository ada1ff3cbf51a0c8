/**
 * meta.k8s.io Table and PartialObjectMetadata: other forms of the objects that a client requested, made from
 * their JSON.
 *
 * Owns: which kind has which table. Absent: which form a client wants (`http/forms.ts`).
 */
import { isObject, type JsonObject, objectAt, objectsAt } from '../json.ts';
import type { Resource } from '../resources/resource.ts';
import type { StoredObject } from '../stored-object.ts';
import {
  agedTable,
  bindingTable,
  configMapTable,
  eventTable,
  leaseTable,
  namespaceTable,
  nodeTable,
  plainTable,
  secretTable,
} from './cluster-tables.ts';
import type { KindTable } from './column.ts';
import { customTable } from './custom-table.ts';
import { endpointSliceTable, serviceTable } from './network-tables.ts';
import { podTable } from './pod-table.ts';
import {
  deploymentTable,
  disruptionBudgetTable,
  replicaSetTable,
  revisionTable,
  statefulSetTable,
} from './workload-tables.ts';

/** By name of the storage, which both views of Events share. */
const tables: Readonly<Record<string, KindTable>> = {
  configmaps: configMapTable,
  events: eventTable,
  namespaces: namespaceTable,
  nodes: nodeTable,
  pods: podTable,
  secrets: secretTable,
  serviceaccounts: agedTable,
  services: serviceTable,
  'apps/controllerrevisions': revisionTable,
  'apps/deployments': deploymentTable,
  'apps/replicasets': replicaSetTable,
  'apps/statefulsets': statefulSetTable,
  'coordination.k8s.io/leases': leaseTable,
  'discovery.k8s.io/endpointslices': endpointSliceTable,
  'policy/poddisruptionbudgets': disruptionBudgetTable,
  'rbac.authorization.k8s.io/clusterrolebindings': bindingTable,
  'rbac.authorization.k8s.io/rolebindings': bindingTable,
};

/** What accompanies each row of its object. */
export type IncludedObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  readonly include: IncludedObject;
  readonly hasHeaders: boolean;
  readonly nowMs: number;
}

/** @param value an object or a list, as the API shows it */
export function toTable(resource: Resource, value: JsonObject, options: TableOptions): JsonObject {
  const table = tableOf(resource);
  const objects = Array.isArray(value.items) ? objectsAt(value, 'items') : [value];
  const { resourceVersion, continue: token, remainingItemCount } = objectAt(value, 'metadata') ?? {};
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: Array.isArray(value.items)
      ? { resourceVersion, ...defined({ continue: token, remainingItemCount }) }
      : { resourceVersion },
    columnDefinitions: options.hasHeaders ? table.columns.map((column) => ({ ...column })) : null,
    rows: objects.map((object) => rowOf(resource, table, object, options)),
  };
}

function tableOf(resource: Resource): KindTable {
  if (resource.isCustom) return customTable(resource.printerColumns ?? []);
  return tables[resource.storage] ?? plainTable;
}

function rowOf(resource: Resource, table: KindTable, object: JsonObject, options: TableOptions): JsonObject {
  const stored = resource.view === undefined ? object : resource.view.store(object as StoredObject);
  const conditions = table.conditions?.(stored) ?? [];
  return {
    cells: table.cells(stored, options.nowMs),
    ...(conditions.length === 0 ? {} : { conditions }),
    object: includedOf(resource, object, options.include),
  };
}

function includedOf(resource: Resource, object: JsonObject, include: IncludedObject): JsonObject | null {
  if (include === 'None') return null;
  if (include === 'Metadata') return toMetadata(object);
  const { group, version, kind } = resource;
  return { kind, apiVersion: group === '' ? version : `${group}/${version}`, ...object };
}

/** PartialObjectMetadata, or the list of it. */
export function toMetadata(value: JsonObject): JsonObject {
  const apiVersion = 'meta.k8s.io/v1';
  const metadata = objectAt(value, 'metadata') ?? {};
  if (!Array.isArray(value.items)) return { kind: 'PartialObjectMetadata', apiVersion, metadata };
  const items = value.items.filter(isObject).map(toMetadata);
  return { kind: 'PartialObjectMetadataList', apiVersion, metadata, items };
}

function defined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
