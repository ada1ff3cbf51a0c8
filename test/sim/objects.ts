/**
 * The objects of a simulated cluster: one RouteGate, and groups of Pods and Services, in the namespace
 * `shop`.
 */

import { conditionType } from '../../packages/dev-cluster/scenarios/scenario-objects.ts';
import type { Address, IpFamily } from '../../src/base/address.ts';
import { parseAddress } from '../../src/base/address.ts';
import type {
  GroupResourceDigest,
  PodDigest,
  RouteGateDigest,
  ServiceDigest,
} from '../../src/features/routes/digests.ts';
import type { RouteGateSpec } from '../../src/features/routes/route-gate.ts';
import { groupKind } from './sim-mirror.ts';
import { groupLabel } from './sim-world.ts';

export const namespace = 'shop';
export { conditionType };
export const probedPort = { name: 'health', port: 80, protocol: 'TCP' } as const;
const checkVariable = { name: 'CHECK', value: 'true' };

/** The form of objects for the simulated API, which adds version and time. */
export type New<D> = Omit<D, 'resourceVersion' | 'createdAt'>;

export interface GateOptions {
  readonly uid: string;
  readonly generation: number;
  readonly address: 'dns' | 'clusterIP';
  readonly whenRouteIsLost: 'keep' | 'withdraw';
  readonly hasOwner: boolean;
  readonly hasEnv: boolean;
  readonly attemptsPerReplica?: number;
}

export function gate(options: GateOptions): New<RouteGateDigest> {
  const { uid, generation, address, whenRouteIsLost, hasOwner, hasEnv, attemptsPerReplica = 3 } = options;
  const spec: RouteGateSpec = {
    conditionType,
    podSelector: { matchLabels: { app: 'web' } },
    group: { podLabel: groupLabel, serviceLabel: groupLabel },
    serviceSelector: { matchLabels: { routed: 'yes' } },
    groupResource: hasOwner
      ? {
          apiVersion: groupKind.apiVersion,
          kind: groupKind.kind,
          require: { 'spec.type': 'web' },
          replicas: { path: 'spec.replicas', default: 2 },
        }
      : null,
    probe: {
      portName: probedPort.name,
      path: '/healthz',
      podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
      timeoutSeconds: 3,
      attemptsPerReplica,
      address,
      onlyIfEnv: hasEnv ? checkVariable : null,
    },
    whenRouteIsLost,
  };
  return { kind: 'routegates', uid, deleting: false, labels: {}, generation, spec };
}

export function pod(options: {
  readonly uid: string;
  readonly group: string;
  readonly ip: string | null;
  readonly isVerifiable?: boolean;
  readonly isGated?: boolean;
}): New<PodDigest> {
  const { uid, group, ip, isVerifiable = true, isGated = true } = options;
  return {
    kind: 'pods',
    uid,
    deleting: false,
    labels: { app: 'web', [groupLabel]: group },
    address: ip === null ? null : (parseAddress(ip) ?? { invalid: ip }),
    readinessGates: isGated ? [conditionType] : [],
    conditions: {},
    matchedEnv: isVerifiable ? [`${checkVariable.name}=${checkVariable.value}`] : [],
  };
}

export function service(options: {
  readonly uid: string;
  readonly group: string;
  readonly clusterIP: string;
  readonly hasPort?: boolean;
}): New<ServiceDigest> {
  const { uid, group, clusterIP, hasPort = true } = options;
  const address: Address | undefined = parseAddress(clusterIP);
  return {
    kind: 'services',
    uid,
    deleting: false,
    labels: { routed: 'yes', [groupLabel]: group },
    clusterIPs: address ? [address] : [],
    ports: hasPort ? [probedPort] : [],
  };
}

export function owner(uid: string, replicas: number, type = 'web'): New<GroupResourceDigest> {
  return {
    kind: 'groupresource',
    uid,
    deleting: false,
    labels: {},
    resource: groupKind.resource,
    fields: { 'spec.type': type, 'spec.replicas': replicas },
  };
}

export const podIp = (family: IpFamily, n: number) =>
  family === 'IPv4' ? `10.0.${n >> 8}.${n & 255}` : `fd00::${(n + 1).toString(16)}`;
export const serviceIp = (family: IpFamily, n: number) =>
  family === 'IPv4' ? `10.1.${n >> 8}.${n & 255}` : `fd01::${(n + 1).toString(16)}`;
