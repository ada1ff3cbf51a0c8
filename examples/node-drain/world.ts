/** What the tests of node-drain play with: Nodes, Pods, a budget, and somebody who makes Pods anew. */
import type { KubeObject } from 'orrery';
import type { Manifest, MemoryKubernetes } from 'orrery/testing';

export const id = (node: string) => `drain/_/${node}` as const;
export const annotation = 'examples.orrery.dev/drain';

export const node = (name: string): Manifest => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

/** Asks for a Node to be empty, or takes that back. */
export async function ask(kube: MemoryKubernetes, name: string, reason: string | null): Promise<void> {
  await kube.patch('v1/Node', name, { metadata: { annotations: { [annotation]: reason } } });
}

export async function isCordoned(kube: MemoryKubernetes, name: string): Promise<boolean> {
  const spec = (await kube.get('v1/Node', name))?.spec as { unschedulable?: boolean } | undefined;
  return spec?.unschedulable === true;
}

export interface PodOptions {
  readonly node: string;
  readonly app?: string;
  readonly owner?: string;
}

export const pod = (name: string, { node, app = name, owner }: PodOptions): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'default',
    labels: { app },
    ...(owner ? { ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'x', uid: 'x' }] } : {}),
  },
  spec: {
    nodeName: node,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'example.com/app:1' }],
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});

/** At least so many Pods of an app have to be ready. */
export const budget = (app: string, minAvailable: number): Manifest => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: app, namespace: 'default' },
  spec: { minAvailable, selector: { matchLabels: { app } } },
});

export const nodeOf = ({ spec }: KubeObject) => (spec as { nodeName?: string }).nodeName ?? '';

/** Names of the Pods on a Node, sorted. */
export async function podsOn(kube: MemoryKubernetes, node: string): Promise<string[]> {
  const all = await kube.list('v1/Pod');
  return all
    .filter((one) => nodeOf(one) === node)
    .map(({ metadata }) => metadata.name)
    .sort();
}
