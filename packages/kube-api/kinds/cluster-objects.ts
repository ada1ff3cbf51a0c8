/** Namespaces, Nodes and Leases. */
import { type Cause, invalidValue } from '../causes.ts';
import { equal, listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { dnsLabel } from '../validation/names.ts';
import { fieldsAt, type Kind, plainKind, unsupportedField } from './kind.ts';

export const namespaceKind: Kind = {
  ...plainKind,
  nameRule: dnsLabel,
  answersDeleted: true,
  fields: fieldsAt('status.phase'),
  unknownField: unsupportedField,
  create: (namespace) => {
    const finalizers = new Set([...listAt(namespace, 'spec', 'finalizers'), 'kubernetes']);
    namespace.spec = { finalizers: [...finalizers] };
    namespace.status = { phase: 'Active' };
    labelWithName(namespace);
  },
  // A default, so that the creator of the namespace owns the label.
  fill: (namespace) => {
    if (namespace.metadata.name !== '') labelWithName(namespace);
  },
  update: (namespace, old) => {
    namespace.spec = { ...objectAt(old, 'spec') };
    labelWithName(namespace);
  },
};

function labelWithName(namespace: StoredObject): void {
  const { name, labels } = namespace.metadata;
  namespace.metadata = { ...namespace.metadata, labels: { ...labels, 'kubernetes.io/metadata.name': name } };
}

export const nodeKind: Kind = {
  ...plainKind,
  fields: {
    ...fieldsAt(),
    'spec.unschedulable': (node) => String(objectAt(node, 'spec')?.unschedulable === true),
  },
  unknownField: unsupportedField,
  fill: (node) => {
    const status = objectAt(node, 'status') ?? {};
    if (status.capacity !== undefined && status.allocatable === undefined)
      node.status = { ...status, allocatable: status.capacity };
  },
  checkUpdate: (node, old) => {
    const id = textAt(old, 'spec', 'providerID');
    if (id === '' || equal(id, textAt(node, 'spec', 'providerID'))) return [];
    return [
      {
        reason: 'FieldValueForbidden',
        field: 'spec.providerID',
        message: 'Forbidden: node updates may not change providerID except from "" to valid',
      },
    ];
  },
};

export const leaseKind: Kind = {
  ...plainKind,
  unconditionalUpdate: false,
  createsOnUpdate: true,
  qualifiesFinalizers: false,
  unknownField: unsupportedField,
  check: (lease): Cause[] => {
    const duration = numberAt(lease, 'spec', 'leaseDurationSeconds');
    const transitions = numberAt(lease, 'spec', 'leaseTransitions');
    return [
      ...(duration === undefined || duration > 0
        ? []
        : [invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0')]),
      ...(transitions === undefined || transitions >= 0
        ? []
        : [invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]),
    ];
  },
};
