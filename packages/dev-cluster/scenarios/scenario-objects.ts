/**
 * The objects of the scenario: a namespace, five Services, and a StatefulSet whose Pods are gated by the
 * routes. Pure.
 */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import type { ServiceObject } from '../objects.ts';

export const conditionType = 'orrery.dev/routes-verified';
export const groupLabel = 'shop.example.com/group';
export const setName = 'web';
export const httpPort = 8080;
const healthPort = 9002;

export interface ShopOptions {
  readonly namespace: string;
  readonly replicas: number;
  readonly services: readonly string[];
  /** Without the gate a Pod is Ready as soon as its containers are. */
  readonly isGated: boolean;
  /** How long the routing takes to learn of a new endpoint: a duration or a range. */
  readonly routingDelay: string;
  readonly routingRemovalDelay: string;
  /** How long a deleted Pod continues to serve; longer than the routing's removal delay. */
  readonly drain: string;
  /** The template puts the set's Pods here; absent: the scheduler does it. */
  readonly nodeName?: string;
}

export function shopNamespace({ namespace }: ShopOptions): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
}

export function shopRouteGate({ namespace }: ShopOptions): KubeObject {
  return {
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'RouteGate',
    metadata: { name: 'shop', namespace },
    spec: {
      conditionType,
      podSelector: { matchLabels: { app: setName } },
      group: { podLabel: groupLabel, serviceLabel: groupLabel },
      serviceSelector: { matchLabels: { 'shop.example.com/entry': 'true' } },
      probe: { portName: 'health', path: '/healthz', address: 'clusterIP' },
    },
  };
}

export function shopService(options: ShopOptions, name: string): ServiceObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: options.namespace,
      labels: { [groupLabel]: setName, 'shop.example.com/entry': 'true' },
      annotations: {
        'dev.orrery.dev/publish': 'containers-ready',
        'dev.orrery.dev/routing-delay': options.routingDelay,
        'dev.orrery.dev/routing-removal-delay': options.routingRemovalDelay,
      },
    },
    spec: {
      selector: { app: setName },
      // Otherwise a cluster would never lead to a Pod that waits for that.
      publishNotReadyAddresses: true,
      ports: [
        { name: 'http', port: httpPort, targetPort: 'http' },
        { name: 'health', port: healthPort, targetPort: 'health' },
      ],
    },
  };
}

export function shopStatefulSet(options: ShopOptions): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: setName, namespace: options.namespace },
    spec: {
      replicas: options.replicas,
      serviceName: setName,
      selector: { matchLabels: { app: setName } },
      template: {
        metadata: {
          labels: { app: setName, [groupLabel]: setName },
          annotations: { 'dev.orrery.dev/drain': options.drain },
        },
        spec: {
          terminationGracePeriodSeconds: 10,
          automountServiceAccountToken: false,
          ...(options.nodeName === undefined ? {} : { nodeName: options.nodeName }),
          ...(options.isGated ? { readinessGates: [{ conditionType }] } : {}),
          containers: [
            {
              name: 'web',
              image: 'dev.orrery.dev/backend',
              ports: [
                { name: 'http', containerPort: httpPort },
                { name: 'health', containerPort: healthPort },
              ],
            },
          ],
        },
      },
    },
  };
}
