/**
 * Objects as Tailscale's operator creates them for an egress ProxyGroup: only their names, labels, ports and
 * switches. The definition of ProxyGroup is reduced to the fields that matter here.
 */
import type { KubeObject } from '../../src/base/kube-port.ts';

export const namespace = 'tailscale';
export const conditionType = 'tailscale.com/egress-services';
/** Where a proxy answers its health check: TS_LOCAL_ADDR_PORT. */
export const healthPort = 9002;

export const proxyGroupDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'proxygroups.tailscale.com' },
  spec: {
    group: 'tailscale.com',
    scope: 'Cluster',
    names: {
      kind: 'ProxyGroup',
      listKind: 'ProxyGroupList',
      plural: 'proxygroups',
      singular: 'proxygroup',
      shortNames: ['pg'],
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['type'],
                properties: {
                  type: { type: 'string', enum: ['egress', 'ingress', 'kube-apiserver'] },
                  replicas: { type: 'integer', format: 'int32', minimum: 0 },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

export const proxyGroup = (name: string, type: 'egress' | 'ingress', replicas?: number): KubeObject => ({
  apiVersion: 'tailscale.com/v1alpha1',
  kind: 'ProxyGroup',
  metadata: { name },
  spec: { type, ...(replicas === undefined ? {} : { replicas }) },
});

/**
 * The proxies.
 * @param env switches besides those that every proxy has
 */
export function proxies(
  group: string,
  replicas: number,
  env: Readonly<Record<string, string>>,
): KubeObject & { readonly metadata: { readonly namespace: string } } {
  const labels = {
    'tailscale.com/managed': 'true',
    'tailscale.com/parent-resource': group,
    'tailscale.com/parent-resource-type': 'proxygroup',
  };
  const variables = { TS_USERSPACE: 'false', TS_LOCAL_ADDR_PORT: `$(POD_IP):${healthPort}`, ...env };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: group, namespace, labels },
    spec: {
      replicas,
      serviceName: group,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'dev.orrery.dev/drain': '1500ms' } },
        spec: {
          terminationGracePeriodSeconds: 5,
          automountServiceAccountToken: false,
          readinessGates: [{ conditionType }],
          containers: [
            {
              name: 'tailscale',
              image: 'tailscale/tailscale:stable',
              env: Object.entries(variables).map(([name, value]) => ({ name, value })),
              ports: [{ name: 'local-addr', containerPort: healthPort }],
            },
          ],
        },
      },
    },
  };
}

/** The Service of a target in the tailnet: without a selector, its slices are the operator's. */
export const egressService = (group: string, name: string, routingDelay: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: `ts-${name}-x7k2p`,
    namespace,
    labels: {
      'tailscale.com/managed': 'true',
      'tailscale.com/svc-type': 'egress',
      'tailscale.com/proxy-group': group,
      'tailscale.com/parent-resource': name,
      'tailscale.com/parent-resource-ns': 'default',
      'tailscale.com/parent-resource-type': 'svc',
    },
    annotations: { 'dev.orrery.dev/routing-delay': routingDelay },
  },
  spec: {
    ports: [
      { name: 'web', protocol: 'TCP', port: 80, targetPort: 10_001 },
      { name: 'tailscale-health-check', protocol: 'TCP', port: healthPort, targetPort: healthPort },
    ],
  },
});

/** The slice of a Service, with the proxies that have applied its configuration. */
export function egressSlice(service: KubeObject, proxyPods: readonly KubeObject[]): KubeObject {
  const { name, labels } = service.metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-ipv4`,
      namespace,
      labels: {
        ...labels,
        'kubernetes.io/service-name': name,
        'endpointslice.kubernetes.io/managed-by': 'tailscale.com',
      },
    },
    addressType: 'IPv4',
    ports: [
      { name: 'web', protocol: 'TCP', port: 10_001 },
      { name: 'tailscale-health-check', protocol: 'TCP', port: healthPort },
    ],
    endpoints: proxyPods.map(({ metadata, status }) => ({
      hostname: metadata.uid,
      addresses: [(status as { readonly podIP: string }).podIP],
      conditions: { ready: true, serving: true, terminating: false },
    })),
  };
}
