/**
 * What a replica needs of Kubernetes: what its features watch and write, and its own part. `deploy/` is held
 * to it by a test.
 */
import type { Feature, KubernetesRight } from '../actors/feature.ts';

/** Of the replica as a whole, whatever its features are. */
const ownRights: readonly KubernetesRight[] = [
  {
    apiGroup: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'get', 'patch'],
    why: 'what people look up with kubectl describe',
  },
  {
    apiGroup: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    why: 'whose token it is that asks the inspector',
  },
  {
    apiGroup: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    why: 'what the owner of that token may do',
  },
];

export function rightsOf(
  features: readonly Pick<Feature, 'watches' | 'rights'>[],
): readonly KubernetesRight[] {
  return [...features.flatMap(({ watches, rights }) => [...watches.map(watching), ...rights]), ...ownRights];
}

function watching({ resource }: Feature['watches'][number]): KubernetesRight {
  const verbs = ['get', 'list', 'watch'];
  const why = `the picture of every ${resource.kind}`;
  if ('plural' in resource) return { apiGroup: resource.group, resources: [resource.plural], verbs, why };
  const slash = resource.apiVersion.lastIndexOf('/');
  const apiGroup = resource.apiVersion.slice(0, Math.max(slash, 0));
  return { apiGroup, resources: [pluralOf(resource.kind)], verbs, why };
}

/** As the API server makes it of most kinds; the resource itself is looked up by discovery. */
export function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
