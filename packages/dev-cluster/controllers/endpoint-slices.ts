/**
 * From a Service and its Pods to the EndpointSlices that describe them. Pure.
 *
 * The rules of Kubernetes' own EndpointSlice controller: serving = the Pod is Ready; terminating = it is
 * being deleted; ready = serving and not terminating, or always with publishNotReadyAddresses. Pods that have
 * ended or have no address are left out. Pods whose ports resolve differently go to different slices.
 *
 * One rule of our own, by the annotation `dev.orrery.dev/publish: containers-ready`: a Pod is an endpoint
 * from when its containers are ready until it is deleted, whatever its readiness gates say. Controllers that
 * publish Pods themselves do the same (Tailscale's egress proxies, load balancers' target groups). Without
 * it, a gate that waits for a route and a route that waits for the gate would wait for each other.
 */
import { createHash } from 'node:crypto';
import {
  devAnnotation,
  type Endpoint,
  type EndpointPort,
  type EndpointSliceObject,
  hasEnded,
  isDeleting,
  isTrue,
  type PodObject,
  type ServiceObject,
  type ServicePort,
} from '../objects.ts';
import type { Change } from './informer.ts';

export const managedBy = 'endpointslice-controller.dev.orrery.dev';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
export const serviceLabel = 'kubernetes.io/service-name';
const headlessLabel = 'service.kubernetes.io/headless';
/** Kubernetes' default. */
const endpointsPerSlice = 100;

/**
 * Every slice that the Service should have, by name. Endpoints stay in the slice of `held` that they are in,
 * so that a changed Pod changes one slice.
 */
export function slicesOf(
  service: ServiceObject,
  pods: readonly PodObject[],
  held: readonly EndpointSliceObject[] = [],
): Map<string, EndpointSliceObject> {
  const selected = pods.filter(
    (pod) => isSelected(service, pod) && addressOf(pod) !== undefined && !hasEnded(pod),
  );
  const groups = Map.groupBy(selected, (pod) => JSON.stringify(portsOf(service, pod)));
  if (groups.size === 0) groups.set(JSON.stringify(portsOf(service, undefined)), []);
  const heldByName = new Map(held.map((slice) => [slice.metadata.name, slice]));
  const slices = new Map<string, EndpointSliceObject>();
  for (const [ports, members] of groups) {
    const nameOf = (index: number) => sliceName(service, ports, index);
    const endpoints = members.map((pod) => endpointOf(service, pod));
    for (const [index, part] of pack(endpoints, (at) => heldByName.get(nameOf(at))).entries()) {
      if (part.length === 0 && index > 0) continue;
      slices.set(nameOf(index), sliceObject(service, nameOf(index), JSON.parse(ports), part));
    }
  }
  return slices;
}

/**
 * Distributes endpoints: each stays where it was, new ones go where there is room. There is always a first
 * part.
 */
function pack(
  endpoints: readonly Endpoint[],
  heldAt: (index: number) => EndpointSliceObject | undefined,
): Endpoint[][] {
  const unplaced = new Map(endpoints.map((endpoint) => [endpoint.targetRef?.uid ?? '', endpoint]));
  const take = (uid: string) => {
    const endpoint = unplaced.get(uid);
    unplaced.delete(uid);
    return endpoint === undefined ? [] : [endpoint];
  };
  const mostParts = Math.max(1, Math.ceil(endpoints.length / endpointsPerSlice));
  const parts = Array.from({ length: mostParts }, (_, index) =>
    (heldAt(index)?.endpoints ?? []).flatMap((endpoint) => take(endpoint.targetRef?.uid ?? '')),
  );
  const left = [...unplaced.values()].sort((a, b) =>
    (a.targetRef?.name ?? '').localeCompare(b.targetRef?.name ?? ''),
  );
  for (const part of parts) part.push(...left.splice(0, Math.max(0, endpointsPerSlice - part.length)));
  return parts;
}

/** Whether every slice that lists the Pod says the same as before the change. */
export function isSameEndpoint(change: Change<PodObject>): boolean {
  if (change.type === 'gone' || change.previous === undefined) return false;
  return JSON.stringify(podShape(change.previous)) === JSON.stringify(podShape(change.object));
}

function podShape(pod: PodObject) {
  const { uid, labels } = pod.metadata;
  const states = [hasEnded(pod), isDeleting(pod), isTrue(pod, 'ContainersReady'), isTrue(pod, 'Ready')];
  return [uid, labels, addressOf(pod), pod.spec?.nodeName, ...states];
}

/** Whether the slice is already as wanted. */
export function isSameSlice(held: EndpointSliceObject, wanted: EndpointSliceObject): boolean {
  const labels = wanted.metadata.labels ?? {};
  return (
    Object.entries(labels).every(([name, value]) => held.metadata.labels?.[name] === value) &&
    JSON.stringify((held.ports ?? []).map(portShape)) ===
      JSON.stringify((wanted.ports ?? []).map(portShape)) &&
    JSON.stringify((held.endpoints ?? []).map(endpointShape)) ===
      JSON.stringify((wanted.endpoints ?? []).map(endpointShape))
  );
}

export function isSelected(service: ServiceObject, pod: PodObject): boolean {
  const selector = Object.entries(service.spec?.selector ?? {});
  return (
    selector.length > 0 &&
    service.spec?.type !== 'ExternalName' &&
    service.metadata.namespace === pod.metadata.namespace &&
    selector.every(([name, value]) => pod.metadata.labels?.[name] === value)
  );
}

function addressOf(pod: PodObject): string | undefined {
  const ip = pod.status?.podIP;
  return ip === '' ? undefined : ip;
}

function endpointOf(service: ServiceObject, pod: PodObject): Endpoint {
  const isEarly = devAnnotation(service, 'publish') === 'containers-ready';
  const serving = isTrue(pod, isEarly ? 'ContainersReady' : 'Ready');
  const terminating = isDeleting(pod);
  const isAnyway = service.spec?.publishNotReadyAddresses === true && !isEarly;
  const ready = isAnyway || (serving && !terminating);
  const { name, namespace = '', uid = '' } = pod.metadata;
  return {
    addresses: [addressOf(pod) ?? ''],
    conditions: { ready, serving, terminating },
    ...(pod.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/** A port whose name no container of the Pod has is left out for that Pod. */
function portsOf(service: ServiceObject, pod: PodObject | undefined): EndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const number = targetOf(port, pod);
    if (number === undefined) return [];
    const appProtocol = port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol };
    return [{ name: port.name ?? '', port: number, protocol: port.protocol ?? 'TCP', ...appProtocol }];
  });
}

function targetOf(port: ServicePort, pod: PodObject | undefined): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target === 0 ? port.port : target;
  const ports = (pod?.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const named = ports.find(
    (candidate) => candidate.name === target && (candidate.protocol ?? 'TCP') === (port.protocol ?? 'TCP'),
  );
  return named?.containerPort;
}

/** The same for the same content, so that a controller with an old informer creates no second slice. */
function sliceName(service: ServiceObject, ports: string, index: number): string {
  const text = `${service.metadata.uid} ${ports} ${index}`;
  return `${service.metadata.name}-${createHash('sha256').update(text).digest('hex').slice(0, 6)}`;
}

function sliceObject(
  service: ServiceObject,
  name: string,
  ports: EndpointPort[],
  endpoints: Endpoint[],
): EndpointSliceObject {
  const { namespace = '', uid = '' } = service.metadata;
  const reference = { apiVersion: 'v1', kind: 'Service', name: service.metadata.name, uid };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace,
      labels: {
        [serviceLabel]: service.metadata.name,
        [managedByLabel]: managedBy,
        ...(service.spec?.clusterIP === 'None' ? { [headlessLabel]: '' } : {}),
      },
      ownerReferences: [{ ...reference, controller: true, blockOwnerDeletion: true }],
    },
    addressType: 'IPv4',
    ports,
    endpoints,
  };
}

function portShape(port: EndpointPort) {
  return [port.name ?? '', port.port, port.protocol ?? 'TCP', port.appProtocol ?? ''];
}

function endpointShape(endpoint: Endpoint) {
  const { ready, serving, terminating } = endpoint.conditions ?? {};
  return [endpoint.addresses, ready, serving, terminating, endpoint.nodeName, endpoint.targetRef?.uid];
}
