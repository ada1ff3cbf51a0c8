/** What a new cluster holds: its namespaces, and the Service of the API server itself. */
import { invariant } from '../../src/base/errors.ts';
import type { JsonObject } from './json.ts';
import type { Cluster } from './verb-parts.ts';
import { insert } from './writing/insert.ts';
import { readObject } from './writing/read-object.ts';

const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

export function createContent(cluster: Cluster, port: number): void {
  for (const name of namespaces) create(cluster, 'namespaces', '', { metadata: { name } });
  create(cluster, 'services', 'default', {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: cluster.addresses.first,
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
    },
  });
}

function create(cluster: Cluster, plural: string, namespace: string, value: JsonObject): void {
  const resource = cluster.registry.find('', 'v1', plural);
  invariant(resource, 'the first objects are of built-in kinds', { plural });
  const { object } = readObject(resource, value, { fieldValidation: 'Strict' });
  insert(cluster, resource, object, { namespace, isDryRun: false });
}
