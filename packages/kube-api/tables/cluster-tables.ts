/** The tables of nodes, namespaces, Events, configuration, leases, definitions and rights. */
import { type JsonObject, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import { age } from './ages.ts';
import { ageColumn, ageOf, column, type KindTable, nameColumn, nameOf, orNone, wide } from './column.ts';

export const nodeTable: KindTable = {
  columns: [
    nameColumn,
    column('Status', 'Whether the node works, and takes Pods.'),
    column('Roles', 'What the node is for.'),
    ageColumn,
    column('Version', 'Version of the kubelet.'),
    wide('Internal-IP', 'Address within the cluster.'),
    wide('External-IP', 'Address outside of it.'),
    wide('OS-Image', 'Operating system.'),
    wide('Kernel-Version', 'Kernel, and the machine that it is for.'),
    wide('Container-Runtime', 'What runs the containers.'),
  ],
  cells: (node, nowMs) => {
    const info = objectAt(node, 'status', 'nodeInfo');
    const fact = (field: string) => textAt(info, field) || '<unknown>';
    const machine = textAt(info, 'architecture');
    return [
      nameOf(node),
      nodeStatus(node),
      orNone(rolesOf(node).join(',')),
      ageOf(node, nowMs),
      textAt(info, 'kubeletVersion'),
      addressOf(node, 'InternalIP'),
      addressOf(node, 'ExternalIP'),
      fact('osImage'),
      machine === '' ? fact('kernelVersion') : `${fact('kernelVersion')} (${machine})`,
      fact('containerRuntimeVersion'),
    ];
  },
};

function nodeStatus(node: JsonObject): string {
  const ready = objectsAt(node, 'status', 'conditions').findLast((condition) => condition.type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return objectAt(node, 'spec')?.unschedulable === true ? `${status},SchedulingDisabled` : status;
}

const rolePrefix = 'node-role.kubernetes.io/';

function rolesOf(node: JsonObject): string[] {
  const labels = Object.entries(objectAt(node, 'metadata', 'labels') ?? {});
  const roles = labels.map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length);
    return key === 'kubernetes.io/role' ? String(value) : '';
  });
  return [...new Set(roles.filter((role) => role !== ''))].sort();
}

function addressOf(node: JsonObject, type: string): string {
  const found = objectsAt(node, 'status', 'addresses').find((address) => address.type === type);
  return orNone(textAt(found, 'address'));
}

export const namespaceTable: KindTable = {
  columns: [nameColumn, column('Status', 'Whether the namespace is in use or going.'), ageColumn],
  cells: (object, nowMs) => [nameOf(object), textAt(object, 'status', 'phase'), ageOf(object, nowMs)],
};

export const eventTable: KindTable = {
  columns: [
    column('Last Seen', 'Time since it happened last.'),
    column('Type', 'Normal or Warning.'),
    column('Reason', 'What happened, as one word.'),
    column('Object', 'What it happened to.'),
    wide('Subobject', 'Which part of it.'),
    wide('Source', 'Who tells.'),
    column('Message', 'What happened, for people.'),
    wide('First Seen', 'Time since it happened first.'),
    wide('Count', 'How often it happened.'),
    { ...nameColumn, priority: 1 },
  ],
  cells: (event, nowMs) => {
    const first = age(textAt(event, 'firstTimestamp') || textAt(event, 'eventTime'), nowMs);
    const last = textAt(event, 'lastTimestamp');
    const series = objectAt(event, 'series');
    return [
      series !== undefined
        ? age(textAt(series, 'lastObservedTime'), nowMs)
        : last === ''
          ? first
          : age(last, nowMs),
      textAt(event, 'type'),
      textAt(event, 'reason'),
      targetOf(event),
      textAt(event, 'involvedObject', 'fieldPath'),
      sourceOf(event),
      textAt(event, 'message').trim(),
      first,
      series === undefined ? numberAt(event, 'count') || 1 : (numberAt(series, 'count') ?? 0),
      nameOf(event),
    ];
  },
};

function targetOf(event: JsonObject): string {
  const kind = textAt(event, 'involvedObject', 'kind').toLowerCase();
  const name = textAt(event, 'involvedObject', 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function sourceOf(event: JsonObject): string {
  const component = textAt(event, 'source', 'component') || textAt(event, 'reportingComponent');
  const instance = textAt(event, 'source', 'host') || textAt(event, 'reportingInstance');
  return instance === '' ? component : `${component}, ${instance}`;
}

export const configMapTable: KindTable = {
  columns: [nameColumn, column('Data', 'Number of entries.'), ageColumn],
  cells: (object, nowMs) => [
    nameOf(object),
    sizeOf(object, 'data') + sizeOf(object, 'binaryData'),
    ageOf(object, nowMs),
  ],
};

export const secretTable: KindTable = {
  columns: [
    nameColumn,
    column('Type', 'What the Secret is for.'),
    column('Data', 'Number of entries.'),
    ageColumn,
  ],
  cells: (object, nowMs) => [
    nameOf(object),
    textAt(object, 'type'),
    sizeOf(object, 'data'),
    ageOf(object, nowMs),
  ],
};

function sizeOf(object: JsonObject, field: string): number {
  return Object.keys(objectAt(object, field) ?? {}).length;
}

export const leaseTable: KindTable = {
  columns: [nameColumn, column('Holder', 'Who has the lease.'), ageColumn],
  cells: (object, nowMs) => [nameOf(object), textAt(object, 'spec', 'holderIdentity'), ageOf(object, nowMs)],
};

export const bindingTable: KindTable = {
  columns: [
    nameColumn,
    column('Role', 'What the subjects may do.'),
    ageColumn,
    wide('Users', 'Users it is given to.'),
    wide('Groups', 'Groups it is given to.'),
    wide('ServiceAccounts', 'Service accounts it is given to.'),
  ],
  cells: (object, nowMs) => {
    const names = (kind: string) =>
      objectsAt(object, 'subjects')
        .filter((subject) => subject.kind === kind)
        .map((subject) =>
          kind === 'ServiceAccount' ? `${subject.namespace}/${subject.name}` : `${subject.name}`,
        )
        .join(', ');
    return [
      nameOf(object),
      `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`,
      ageOf(object, nowMs),
      names('User'),
      names('Group'),
      names('ServiceAccount'),
    ];
  },
};

/** Kinds that show nothing but their age. */
export const agedTable: KindTable = {
  columns: [nameColumn, ageColumn],
  cells: (object, nowMs) => [nameOf(object), ageOf(object, nowMs)],
};

/** Kinds without a table of their own, as the real server shows them. */
export const plainTable: KindTable = {
  columns: [nameColumn, column('Created At', 'When the object was created.', { type: 'date' })],
  cells: (object) => [nameOf(object), textAt(object, 'metadata', 'creationTimestamp')],
};
