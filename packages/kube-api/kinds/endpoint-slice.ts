/** EndpointSlices: canonical addresses of one type, ports with unique names. */
import { type Cause, duplicate, notSupported, required, tooMany } from '../causes.ts';
import { type Json, type JsonObject, listAt, objectsAt, textAt } from '../json.ts';
import { type StoredObject, withoutMetadata } from '../stored-object.ts';
import { endpointAddressCauses } from '../validation/addresses.ts';
import { problems, unchanged } from '../validation/metadata.ts';
import { dnsLabel, dnsSubdomain, qualifiedName } from '../validation/names.ts';
import { type Kind, plainKind, unsupportedField } from './kind.ts';
import { oneOf, protocols } from './pod-spec.ts';

const addressTypes = ['FQDN', 'IPv4', 'IPv6'];

/** Kubernetes' bounds: endpoints of a slice, addresses of an endpoint, ports of a slice. */
const endpointsMax = 1_000;
const addressesMax = 100;
const portsMax = 20_000;

export const endpointSliceKind: Kind = {
  ...plainKind,
  unknownField: unsupportedField,
  generation: (slice): Json => [withoutMetadata(slice), slice.metadata.labels ?? {}],
  check,
  checkUpdate: (slice, old) => unchanged('addressType', slice.addressType, old.addressType),
};

function check(slice: StoredObject): Cause[] {
  const type = textAt(slice, 'addressType');
  const endpoints = objectsAt(slice, 'endpoints');
  const ports = objectsAt(slice, 'ports');
  return [
    ...(type === '' ? [required('addressType')] : []),
    ...(type === '' || addressTypes.includes(type) ? [] : [notSupported('addressType', type, addressTypes)]),
    ...(ports.length > portsMax ? [tooMany('ports', ports.length, portsMax)] : portCauses(ports)),
    ...(endpoints.length > endpointsMax
      ? [tooMany('endpoints', endpoints.length, endpointsMax)]
      : endpoints.flatMap((endpoint, index) => endpointCauses(endpoint, type, `endpoints[${index}]`))),
  ];
}

function portCauses(ports: readonly JsonObject[]): Cause[] {
  const names = new Set<string>();
  return ports.flatMap((port, index) => {
    const name = textAt(port, 'name');
    const path = `ports[${index}]`;
    const isSecond = names.has(name);
    names.add(name);
    const application = textAt(port, 'appProtocol');
    return [
      ...(name === '' ? [] : problems(`${path}.name`, name, dnsLabel(name))),
      ...(isSecond ? [duplicate(`${path}.name`, name)] : []),
      ...oneOf(port, 'protocol', `${path}.protocol`, protocols),
      ...(application === '' ? [] : problems(`${path}.appProtocol`, application, qualifiedName(application))),
    ];
  });
}

function endpointCauses(endpoint: JsonObject, type: string, path: string): Cause[] {
  const list = `${path}.addresses`;
  const addresses = listAt(endpoint, 'addresses').map(String);
  const hostname = textAt(endpoint, 'hostname');
  const nodeName = textAt(endpoint, 'nodeName');
  return [
    ...(addresses.length === 0 ? [required(list, 'must contain at least 1 address')] : []),
    ...(addresses.length > addressesMax ? [tooMany(list, addresses.length, addressesMax)] : []),
    ...addresses.flatMap((address, index) => addressCauses(list, index, address, type)),
    ...(nodeName === '' ? [] : problems(`${path}.nodeName`, nodeName, dnsSubdomain(nodeName))),
    ...(endpoint.hostname === undefined ? [] : problems(`${path}.hostname`, hostname, dnsLabel(hostname))),
  ];
}

function addressCauses(list: string, index: number, address: string, type: string): Cause[] {
  if (type === 'FQDN') return problems(`${list}[${index}]`, address, dnsSubdomain(address));
  return type === 'IPv4' || type === 'IPv6' ? endpointAddressCauses(list, index, address, type) : [];
}
