/**
 * The Kubernetes permissions of a replica: what its features watch and write, and its own. A test compares
 * `deploy/` with them.
 */
import type { Feature } from '../actors/feature.ts';
import type { Need } from '../actors/need.ts';
import { groupOf, pluralOf } from '../api/kind-name.ts';

/** Those of the replica as a whole, whatever its features. */
const ownRights: readonly Need[] = [
  {
    apiGroup: '',
    resources: ['namespaces'],
    verbs: ['get'],
    why: 'kube-system, whose uid tells one Kubernetes cluster from another',
  },
  {
    apiGroup: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'get', 'patch'],
    why: 'Events, as kubectl describe shows them',
  },
  {
    apiGroup: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    why: 'to check tokens of callers of the inspector',
  },
  {
    apiGroup: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    why: 'to check what these callers may do',
  },
];

export function rightsOf(features: readonly Pick<Feature, 'watches' | 'needs'>[]): readonly Need[] {
  return [...features.flatMap(({ watches, needs }) => [...watches.map(watching), ...needs]), ...ownRights];
}

function watching({ resource }: Feature['watches'][number]): Need {
  const verbs = ['get', 'list', 'watch'];
  const why = `the picture of every ${resource.kind}`;
  if ('plural' in resource) return { apiGroup: resource.group, resources: [resource.plural], verbs, why };
  return { apiGroup: groupOf(resource), resources: [pluralOf(resource)], verbs, why };
}
