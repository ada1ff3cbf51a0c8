/**
 * Services: defaults by type, ports, and what may not change once it is allocated. Allocation itself is in
 * `storage/service-addresses.ts`. One address family: IPv4.
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
import { equal, type Json, type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { labelCauses, problems } from '../validation/metadata.ts';
import { dnsLabel, dnsSubdomain, portName, portNumber, qualifiedName } from '../validation/names.ts';
import { fieldsAt, type Kind, plainKind, unsupportedField } from './kind.ts';
import { oneOf, protocols } from './pod-spec.ts';

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

export const serviceKind: Kind = {
  ...plainKind,
  nameRule: dnsLabel,
  createsOnUpdate: true,
  answersDeleted: true,
  fields: fieldsAt('spec.clusterIP', 'spec.type'),
  unknownField: unsupportedField,
  fill,
  create: (service) => {
    service.status = { loadBalancer: {} };
  },
  update: keepAllocated,
  check,
  checkUpdate,
  checkStatus: (service) => {
    const hasIngress = listAt(service, 'status', 'loadBalancer', 'ingress').length > 0;
    if (!hasIngress || textAt(service, 'spec', 'type') === 'LoadBalancer') return [];
    const text = "may only be used when `spec.type` is 'LoadBalancer'";
    return [forbiddenField('status.loadBalancer.ingress', text)];
  },
};

export function isHeadless(spec: JsonObject | undefined): boolean {
  return textAt(spec, 'clusterIP') === 'None';
}

function fill(service: StoredObject): void {
  const spec = objectAt(service, 'spec') ?? {};
  const type = textAt(spec, 'type');
  const isReachable = type === 'NodePort' || type === 'LoadBalancer';
  service.spec = {
    ...spec,
    ...(Array.isArray(spec.ports) ? { ports: objectsAt(spec, 'ports').map(filledPort) } : {}),
    ...syncedClusterIPs(spec),
    ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: spec.internalTrafficPolicy ?? 'Cluster' }),
    ...(isReachable ? { externalTrafficPolicy: spec.externalTrafficPolicy ?? 'Cluster' } : {}),
    ...(type === 'LoadBalancer'
      ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true }
      : {}),
    ...(spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig === undefined
      ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } }
      : {}),
  };
  fillIngress(service);
}

/** Fills in how clients should use a load balancer's address. */
function fillIngress(service: StoredObject): void {
  const ingress = objectsAt(service, 'status', 'loadBalancer', 'ingress');
  if (ingress.length === 0) return;
  const filled = ingress.map((entry) => (textAt(entry, 'ip') === '' ? entry : { ipMode: 'VIP', ...entry }));
  service.status = {
    ...objectAt(service, 'status'),
    loadBalancer: { ...objectAt(service, 'status', 'loadBalancer'), ingress: filled },
  };
}

function filledPort(port: JsonObject): JsonObject {
  const target = port.targetPort;
  return target === undefined || target === 0 || target === ''
    ? { ...port, targetPort: port.port ?? 0 }
    : port;
}

function syncedClusterIPs(spec: JsonObject): JsonObject {
  const ip = textAt(spec, 'clusterIP');
  const list = listAt(spec, 'clusterIPs');
  if (ip !== '' && list.length === 0) return { clusterIPs: [ip] };
  return {};
}

/** What a client left out of a replacement stays as allocated; what the new type does not use is removed. */
function keepAllocated(service: StoredObject, old: StoredObject): void {
  const spec = objectAt(service, 'spec') ?? {};
  const was = objectAt(old, 'spec') ?? {};
  const becameExternal = spec.type === 'ExternalName' && was.type !== 'ExternalName';
  if (becameExternal) service.spec = withoutAddresses(spec, was);
  if (spec.type === 'ExternalName') return;
  const kept = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort'];
  const carried = kept.filter((field) => spec[field] === undefined && was[field] !== undefined);
  const result: JsonObject = { ...spec, ...Object.fromEntries(carried.map((field) => [field, was[field]])) };
  if (listAt(result, 'clusterIPs')[0] !== result.clusterIP && equal(spec.clusterIPs, was.clusterIPs))
    result.clusterIPs = [result.clusterIP ?? ''];
  service.spec = { ...withoutTrafficPolicy(result, was), ...keptNodePorts(result, was) };
}

/** A Service that is no longer reachable from outside needs no policy for that. */
function withoutTrafficPolicy(spec: JsonObject, was: JsonObject): JsonObject {
  const rest = { ...spec };
  if (spec.type !== 'ClusterIP' || was.type === 'ClusterIP') return rest;
  for (const field of ['externalTrafficPolicy', 'healthCheckNodePort', 'allocateLoadBalancerNodePorts'])
    if (equal(rest[field], was[field])) delete rest[field];
  return rest;
}

function withoutAddresses(spec: JsonObject, was: JsonObject): JsonObject {
  const rest = { ...spec };
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'])
    if (equal(rest[field], was[field])) delete rest[field];
  return rest;
}

function keptNodePorts(spec: JsonObject, was: JsonObject): JsonObject {
  const ports = objectsAt(spec, 'ports');
  const isOpen = spec.type !== 'ClusterIP';
  const old = objectsAt(was, 'ports');
  const samePort = (port: JsonObject) =>
    old.find((other) => other.port === port.port && other.protocol === port.protocol)?.nodePort;
  if (ports.length === 0) return {};
  return {
    ports: ports.map((port) => {
      const { nodePort, ...rest } = port;
      const known = samePort(port);
      if (isOpen) return nodePort === undefined && known !== undefined ? { ...rest, nodePort: known } : port;
      return nodePort === known ? rest : port;
    }),
  };
}

function check(service: StoredObject): Cause[] {
  const spec = objectAt(service, 'spec') ?? {};
  const type = textAt(spec, 'type');
  if (type === 'ExternalName') return externalNameCauses(spec);
  return [
    ...portListCauses(spec),
    ...oneOf(spec, 'sessionAffinity', 'spec.sessionAffinity', ['ClientIP', 'None']),
    ...(types.includes(type) ? [] : [notSupported('spec.type', type, types)]),
    ...labelCauses('spec.selector', objectAt(spec, 'selector') as Record<string, string> | undefined),
    ...clusterIPCauses(spec),
  ];
}

function externalNameCauses(spec: JsonObject): Cause[] {
  const name = textAt(spec, 'externalName').replace(/\.$/, '');
  if (textAt(spec, 'clusterIP') !== '')
    return [forbiddenField('spec.clusterIPs[0]', 'may not be set for ExternalName services')];
  return name === ''
    ? [required('spec.externalName')]
    : problems('spec.externalName', name, dnsSubdomain(name));
}

function clusterIPCauses(spec: JsonObject): Cause[] {
  const ip = textAt(spec, 'clusterIP');
  const list = listAt(spec, 'clusterIPs');
  if (ip !== '' && list.length > 0 && list[0] !== ip)
    return [invalidValue('spec.clusterIPs', list, 'first value must match `clusterIP`')];
  if (ip === '' && list.length > 0) return [required('spec.clusterIP')];
  if (isHeadless(spec) && spec.type !== 'ClusterIP')
    return [
      invalidValue('spec.clusterIPs[0]', ip, `may not be set to 'None' for ${textAt(spec, 'type')} services`),
    ];
  const families = listAt(spec, 'ipFamilies').filter((family) => family !== 'IPv4');
  return isHeadless(spec)
    ? []
    : families.map((family) => invalidValue('spec.ipFamilies[0]', family, 'not configured on this cluster'));
}

function portListCauses(spec: JsonObject): Cause[] {
  const ports = objectsAt(spec, 'ports');
  if (ports.length === 0 && !isHeadless(spec)) return [required('spec.ports')];
  const names = new Set<string>();
  const causes = ports.flatMap((port, index) =>
    portCauses(port, `spec.ports[${index}]`, ports.length > 1, names),
  );
  const seen = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const key = `${port.protocol}/${port.port}`;
    if (seen.has(key)) causes.push(duplicate(`spec.ports[${index}]`, shownPort(port)));
    seen.add(key);
  }
  return causes;
}

/** The real server shows its internal form of a port, without name and target. */
function shownPort(port: JsonObject): Json {
  return {
    Name: '',
    Protocol: port.protocol ?? '',
    AppProtocol: null,
    Port: port.port ?? 0,
    TargetPort: 0,
    NodePort: 0,
  };
}

function portCauses(port: JsonObject, path: string, needsName: boolean, names: Set<string>): Cause[] {
  const name = textAt(port, 'name');
  const number = numberAt(port, 'port') ?? 0;
  const causes: Cause[] = [];
  if (name === '' && needsName) causes.push(required(`${path}.name`));
  if (name !== '') causes.push(...problems(`${path}.name`, name, dnsLabel(name)));
  if (name !== '' && names.has(name)) causes.push(duplicate(`${path}.name`, name));
  names.add(name);
  causes.push(...problems(`${path}.port`, number, portNumber(number)));
  causes.push(...oneOf(port, 'protocol', `${path}.protocol`, protocols));
  causes.push(...targetCauses(port.targetPort, `${path}.targetPort`));
  const application = textAt(port, 'appProtocol');
  if (application !== '')
    causes.push(...problems(`${path}.appProtocol`, application, qualifiedName(application)));
  return causes;
}

function targetCauses(target: Json | undefined, path: string): Cause[] {
  if (typeof target === 'string') return problems(path, target, portName(target));
  return typeof target === 'number' ? problems(path, target, portNumber(target)) : [];
}

function checkUpdate(service: StoredObject, old: StoredObject): Cause[] {
  const spec = objectAt(service, 'spec') ?? {};
  const was = objectAt(old, 'spec') ?? {};
  if (spec.type === 'ExternalName' || was.type === 'ExternalName' || textAt(was, 'clusterIP') === '')
    return [];
  if (spec.clusterIP !== was.clusterIP)
    return [invalidValue('spec.clusterIPs[0]', listAt(spec, 'clusterIPs'), 'may not change once set')];
  const family = listAt(was, 'ipFamilies')[0];
  const hasOther = listAt(spec, 'ipFamilies')[0] !== family;
  return hasOther ? [immutable('spec.ipFamilies[0]', listAt(spec, 'ipFamilies'))] : [];
}
