/**
 * Objects to digests: pure functions that cut a Kubernetes object to the few fields that some chart needs (I10).
 *
 * Promises: a digest depends on the object and on what RouteGates name, on nothing else; addresses are canonical; of the
 * environment of a Pod nothing is told but which of the NAME=VALUE pairs that RouteGates name it has (I9); fields of a wrong
 * type count as absent, so that one broken object hurts nobody else (I8).
 * Absent: which objects are wanted (interest.ts), and any opinion on what an invalid value means for a chart.
 */

import type { Address } from '../../base/address.ts';
import { parseAddress } from '../../base/address.ts';
import type {
  ConditionStatus,
  Digest,
  EndpointSliceDigest,
  GroupResourceDigest,
  NodeDigest,
  PodDigest,
  ResourceName,
  RouteGateDigest,
  ServiceDigest,
  ServicePortDigest,
} from '../../base/digests.ts';
import { OrreryError } from '../../base/errors.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import {
  domainDigest,
  ingressDigest,
  issuerDigest,
  secretDigest,
  serveDigest,
} from '../../features/certificates/digest-certificates.ts';
import { readElectionSpec } from '../../features/elections/election.ts';
import { managedSlice, selectingService, workloadDigest } from '../../features/endpoints/workload-digest.ts';
import { readRouteGateSpec } from '../../features/routes/route-gate.ts';
import { type Fields, list, record, textMap, texts } from '../api/fields.ts';

/** An environment variable and the value that it must have. */
export interface EnvPair {
  readonly name: string;
  readonly value: string;
}

/** What RouteGates name, as far as digests depend on it. */
export interface DigestInterest {
  /** Pairs that the RouteGates of the Pod's namespace name in `onlyIfEnv`. */
  readonly envPairs: readonly EnvPair[];
  /** Field paths of group resources. */
  readonly fieldPaths: readonly string[];
}

/** @throws OrreryError INVARIANT if the object has no uid or no resourceVersion */
export function digestOf(resource: ResourceName, object: KubeObject, interest: DigestInterest): Digest {
  switch (resource) {
    case 'pods':
      return podDigest(object, interest.envPairs);
    case 'services':
      return serviceDigest(object);
    case 'endpointslices':
      return endpointSliceDigest(object);
    case 'routegates':
      return routeGateDigest(object);
    default:
      return wholeDigests[resource]?.(object) ?? groupResourceDigest(resource, object, interest.fieldPaths);
  }
}

/** Kinds of which the world holds every object, whatever RouteGates say; how each is cut. */
const wholeDigests: Readonly<Record<ResourceName, (object: KubeObject) => Digest>> = {
  'domains.orrery.dev': (object) => domainDigest(object, base(object)),
  'issuers.orrery.dev': (object) => issuerDigest(object, base(object)),
  'ingresses.networking.k8s.io': (object) => ingressDigest(object, base(object)),
  secrets: (object) => secretDigest(object, base(object)),
  nodes: nodeDigest,
  'elections.orrery.dev': electionDigest,
  'externalworkloads.workload.linkerd.io': (object) => ({ ...base(object), ...workloadDigest(object) }),
};

/** Whether the world holds every object of the resource. */
export function isWhole(resource: ResourceName): boolean {
  return resource === 'routegates' || Object.hasOwn(wholeDigests, resource);
}

function electionDigest(object: KubeObject): Digest {
  const { generation = 0 } = object.metadata;
  return { kind: 'elections', ...base(object), generation, spec: readElectionSpec(object) };
}

export function podDigest(object: KubeObject, envPairs: readonly EnvPair[]): PodDigest {
  const spec = record(object.spec);
  const status = record(object.status);
  const gates = texts(list(spec.readinessGates).map((gate) => record(gate).conditionType));
  const variables = containersThatRun(spec).map(environment);
  const matched = envPairs.filter(({ name, value }) => variables.some((held) => held.get(name) === value));
  return {
    kind: 'pods',
    ...base(object),
    address: firstAddress(status),
    readinessGates: gates,
    conditions: gateConditions(status, gates),
    matchedEnv: matched.map(pairText).sort(),
  };
}

export function serviceDigest(object: KubeObject): ServiceDigest {
  const spec = record(object.spec);
  const listed = texts(list(spec.clusterIPs));
  const addresses = listed.length > 0 ? listed : texts([spec.clusterIP]);
  return {
    kind: 'services',
    ...base(object),
    // "None" (headless) and "" are no addresses and fall out here.
    clusterIPs: addresses.flatMap((text) => parseAddress(text) ?? []),
    ports: list(spec.ports).flatMap((port) => servicePort(record(port))),
    ...serveDigest(object),
    ...selectingService(spec),
  };
}

export function endpointSliceDigest(object: KubeObject): EndpointSliceDigest {
  const service = object.metadata.labels?.['kubernetes.io/service-name'];
  const ready = list(object.endpoints)
    .map(record)
    // Unknown counts as ready (discovery.k8s.io/v1).
    .filter((endpoint) => record(endpoint.conditions).ready !== false)
    .flatMap((endpoint) => texts(list(endpoint.addresses)))
    .flatMap((text) => parseAddress(text)?.ip ?? []);
  return {
    kind: 'endpointslices',
    ...base(object),
    service: typeof service === 'string' ? service : '',
    // Sorted: controllers reorder endpoints, and that is no news.
    readyAddresses: [...new Set(ready)].sort(),
    ...managedSlice(object),
  };
}

export function routeGateDigest(object: KubeObject): RouteGateDigest {
  const { generation } = object.metadata;
  return {
    kind: 'routegates',
    ...base(object),
    generation: typeof generation === 'number' ? generation : 0,
    spec: readRouteGateSpec(object.spec),
  };
}

/** The cluster autoscaler's mark on a Node that it is about to delete. */
const deletionTaint = 'ToBeDeletedByClusterAutoscaler';

export function nodeDigest(object: KubeObject): NodeDigest {
  const taints = list(record(object.spec).taints).map(record);
  return {
    kind: 'nodes',
    ...base(object),
    // Nothing asks for them, and they change often.
    labels: {},
    toBeDeleted: taints.some(({ key }) => key === deletionTaint),
  };
}

export function groupResourceDigest(
  resource: ResourceName,
  object: KubeObject,
  fieldPaths: readonly string[],
): GroupResourceDigest {
  const fields: Record<string, string | number | boolean> = {};
  for (const path of fieldPaths) {
    const value = path.split('.').reduce<unknown>(ownField, object);
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      fields[path] = value;
    }
  }
  return { kind: 'groupresource', ...base(object), resource, fields };
}

/** `NAME=VALUE`; a name holds no "=". */
export function pairText({ name, value }: EnvPair): string {
  return `${name}=${value}`;
}

function base(object: KubeObject) {
  const { uid, resourceVersion, creationTimestamp, deletionTimestamp, labels } = object.metadata;
  if (!uid || !resourceVersion) {
    throw new OrreryError('INVARIANT', 'an object of the Kubernetes API has a uid and a resourceVersion', {
      facts: { name: object.metadata.name, namespace: object.metadata.namespace },
    });
  }
  const createdAt = Date.parse(creationTimestamp ?? '');
  return {
    uid,
    resourceVersion,
    createdAt: Number.isNaN(createdAt) ? 0 : createdAt,
    deleting: Boolean(deletionTimestamp),
    labels: textMap(labels),
  };
}

function firstAddress(status: Fields): Address | { readonly invalid: string } | null {
  const ip = record(list(status.podIPs)[0]).ip;
  if (typeof ip !== 'string' || ip === '') return null;
  return parseAddress(ip) ?? { invalid: ip };
}

function gateConditions(status: Fields, gates: readonly string[]): Record<string, ConditionStatus> {
  const found: Record<string, ConditionStatus> = {};
  for (const condition of list(status.conditions).map(record)) {
    const type = condition.type;
    if (typeof type === 'string' && gates.includes(type)) found[type] = conditionStatus(condition.status);
  }
  return found;
}

function conditionStatus(value: unknown): ConditionStatus {
  return value === 'True' || value === 'False' ? value : 'Unknown';
}

/** Containers that serve while the Pod is ready: the ordinary ones and sidecars (init containers that are restarted always). */
function containersThatRun(spec: Fields): readonly Fields[] {
  const sidecars = list(spec.initContainers)
    .map(record)
    .filter((container) => container.restartPolicy === 'Always');
  return [...list(spec.containers).map(record), ...sidecars];
}

/** Literal variables only; of two with one name the last holds, as in the container. */
function environment(container: Fields): ReadonlyMap<string, string | undefined> {
  const variables = new Map<string, string | undefined>();
  for (const { name, value, valueFrom } of list(container.env).map(record)) {
    if (typeof name !== 'string') continue;
    const literal = typeof value === 'string' ? value : '';
    variables.set(name, valueFrom === undefined || valueFrom === null ? literal : undefined);
  }
  return variables;
}

function servicePort(port: Fields): ServicePortDigest[] {
  const number = port.port;
  if (typeof number !== 'number') return [];
  const protocol = port.protocol === 'UDP' || port.protocol === 'SCTP' ? port.protocol : 'TCP';
  return [{ name: typeof port.name === 'string' ? port.name : '', port: number, protocol }];
}

/** Own fields only: a path such as `constructor.name` leads nowhere. */
function ownField(value: unknown, key: string): unknown {
  const fields = record(value);
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}
