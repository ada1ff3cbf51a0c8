/** The objects of the world of RouteGates, as people write them. */
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import type { SimApi } from '../api/sim-api.ts';

export const namespace = 'shop';
export const conditionTypes = ['example.com/routes', 'example.com/other'] as const;
const [usual] = conditionTypes;
export const groupLabel = 'group';
export const portName = 'health';

export function makeGate(api: SimApi, name: string, change: object = {}): void {
  const spec = {
    conditionType: usual,
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
  /** Condition types of its readiness gates. */
  readonly gates: readonly string[];
}

/** Most Pods have one readiness gate, some none or two. */
export function drawnGates(chance: Chance): readonly string[] {
  if (chance.happens(0.1)) return [];
  return chance.happens(0.3) ? conditionTypes : [usual];
}

export function makePod(api: SimApi, name: string, { group, ip, gates }: PodOptions): void {
  api.create(pods, {
    metadata: { namespace, name, labels: { app: 'web', [groupLabel]: group } },
    spec: { readinessGates: gates.map((conditionType) => ({ conditionType })) },
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
    readonly lastTransitionTime?: string;
  }>;
}

const statusOf = ({ status }: KubeObject) => (status ?? {}) as PodStatus;

export const ipOf = (pod: KubeObject): string | null => statusOf(pod).podIPs?.[0]?.ip ?? null;
export const conditionOf = (pod: KubeObject, wanted: string) =>
  statusOf(pod).conditions?.find(({ type }) => type === wanted);
export const isOver = (pod: KubeObject) =>
  pod.metadata.deletionTimestamp !== undefined || statusOf(pod).phase === 'Failed';
/** Condition types of a Pod's readiness gates. */
export const gatesOf = ({ spec }: KubeObject): readonly string[] =>
  (
    (spec as { readinessGates?: ReadonlyArray<{ conditionType: string }> } | undefined)?.readinessGates ?? []
  ).map(({ conditionType }) => conditionType);
/** Whether the RouteGate holds back what cannot be verified. */
export const isHolding = ({ spec }: KubeObject) =>
  (spec as { whenUnverifiable?: string }).whenUnverifiable === 'hold';
export const typeOf = ({ spec }: KubeObject) => (spec as { conditionType: string }).conditionType;
export const groupOf = ({ metadata }: KubeObject) => metadata.labels?.[groupLabel] ?? '';
export const hasProbedPort = ({ spec }: KubeObject) =>
  (spec as { ports: ReadonlyArray<{ name: string }> }).ports.some(({ name }) => name === portName);
