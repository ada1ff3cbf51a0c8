/** The tables of Services and EndpointSlices. */
import { type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import {
  ageColumn,
  ageOf,
  column,
  type KindTable,
  labelsText,
  listText,
  nameColumn,
  nameOf,
  orNone,
  wide,
} from './column.ts';

export const serviceTable: KindTable = {
  columns: [
    nameColumn,
    column('Type', 'How the Service can be reached.'),
    column('Cluster-IP', 'Address within the cluster.'),
    column('External-IP', 'Addresses outside of it.'),
    column('Port(s)', 'Ports, with their node ports.'),
    ageColumn,
    wide('Selector', 'Labels of the Pods that the Service leads to.'),
  ],
  cells: (service, nowMs) => [
    nameOf(service),
    textAt(service, 'spec', 'type'),
    orNone(String(listAt(service, 'spec', 'clusterIPs')[0] ?? '')),
    externalAddress(service),
    orNone(objectsAt(service, 'spec', 'ports').map(portText).join(',')),
    ageOf(service, nowMs),
    labelsText(objectAt(service, 'spec', 'selector')),
  ],
};

function portText(port: JsonObject): string {
  const nodePort = numberAt(port, 'nodePort') ?? 0;
  const number = nodePort > 0 ? `${port.port}:${nodePort}` : `${port.port}`;
  return `${number}/${port.protocol}`;
}

function externalAddress(service: JsonObject): string {
  const given = listAt(service, 'spec', 'externalIPs').map(String);
  switch (textAt(service, 'spec', 'type')) {
    case 'ExternalName':
      return textAt(service, 'spec', 'externalName');
    case 'LoadBalancer': {
      const ingress = objectsAt(service, 'status', 'loadBalancer', 'ingress');
      const balanced = ingress.map((entry) => textAt(entry, 'ip') || textAt(entry, 'hostname')).sort();
      return [...balanced, ...given].join(',') || '<pending>';
    }
    default:
      return orNone(given.join(','));
  }
}

export const endpointSliceTable: KindTable = {
  columns: [
    nameColumn,
    column('AddressType', 'Kind of the addresses.'),
    column('Ports', 'Ports of every endpoint.'),
    column('Endpoints', 'Addresses of the endpoints.'),
    ageColumn,
  ],
  cells: (slice, nowMs) => [
    nameOf(slice),
    textAt(slice, 'addressType'),
    listText(objectsAt(slice, 'ports').map((port) => String(port.port ?? port.name ?? '*'))),
    listText(objectsAt(slice, 'endpoints').flatMap((endpoint) => listAt(endpoint, 'addresses').map(String))),
    ageOf(slice, nowMs),
  ],
};
