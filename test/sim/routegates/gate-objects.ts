/** The objects of the world of RouteGates, as people write them. */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import type { SimApi } from '../api/sim-api.ts';

export const namespace = 'shop';
export const conditionType = 'example.com/routes';
export const groupLabel = 'group';
export const portName = 'health';

export function makeGate(api: SimApi, name: string, change: object = {}): void {
  const spec = {
    conditionType,
    podSelector: { matchLabels: { app: 'web' } },
    group: { podLabel: groupLabel, serviceLabel: groupLabel },
    serviceSelector: { matchLabels: { routed: 'yes' } },
    probe: { portName, path: '/healthz', podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' } },
    ...change,
  };
  api.create(routeGates, { metadata: { namespace, name }, spec });
}

export function makeService(api: SimApi, name: string, group: string, hasPort = true): void {
  const ports = [{ name: hasPort ? portName : 'other', port: 80, protocol: 'TCP' }];
  api.create(services, {
    metadata: { namespace, name, labels: { routed: 'yes', [groupLabel]: group } },
    spec: { clusterIP: '10.1.0.1', ports },
  });
}

export interface PodOptions {
  readonly group: string;
  /** null: it has none yet. */
  readonly ip: string | null;
  readonly isGated: boolean;
}

export function makePod(api: SimApi, name: string, { group, ip, isGated }: PodOptions): void {
  api.create(pods, {
    metadata: { namespace, name, labels: { app: 'web', [groupLabel]: group } },
    spec: { readinessGates: isGated ? [{ conditionType }] : [] },
  });
  if (ip !== null) setStatus(api, name, { podIPs: [{ ip }] });
}

export function setStatus(api: SimApi, name: string, status: object): void {
  api.patch(pods, { namespace, name, type: 'strategic', body: { status }, subresource: 'status' });
}

interface PodStatus {
  readonly phase?: string;
  readonly podIPs?: ReadonlyArray<{ readonly ip: string }>;
  readonly conditions?: ReadonlyArray<{
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }>;
}

const statusOf = ({ status }: KubeObject) => (status ?? {}) as PodStatus;

export const ipOf = (pod: KubeObject): string | null => statusOf(pod).podIPs?.[0]?.ip ?? null;
export const conditionOf = (pod: KubeObject) =>
  statusOf(pod).conditions?.find(({ type }) => type === conditionType);
export const isOver = (pod: KubeObject) =>
  pod.metadata.deletionTimestamp !== undefined || statusOf(pod).phase === 'Failed';
export const isGated = ({ spec }: KubeObject) =>
  ((spec as { readinessGates?: readonly object[] } | undefined)?.readinessGates ?? []).length > 0;
export const groupOf = ({ metadata }: KubeObject) => metadata.labels?.[groupLabel] ?? '';
export const hasProbedPort = ({ spec }: KubeObject) =>
  (spec as { ports: ReadonlyArray<{ name: string }> }).ports.some(({ name }) => name === portName);
