/**
 * What the chart grants, from the declarations of the features: by feature, and by how far a rule must reach,
 * because a replica that watches only some namespaces needs no more there.
 */
import { stringify } from 'yaml';
import type { Feature } from '../../src/actors/feature.ts';
import type { Need } from '../../src/actors/need.ts';
import { rightsOf } from '../../src/replica/rights.ts';

export interface ChartRule {
  readonly why: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Each list is a role of its own; an empty one is omitted. */
export interface ChartRights {
  /** Resources without a namespace, and Events, which may be about those. */
  readonly cluster?: readonly ChartRule[];
  readonly namespaced?: readonly ChartRule[];
  /**
   * Separate, because Kubernetes cannot narrow them by label: they are granted only where they are needed.
   */
  readonly secrets?: readonly ChartRule[];
  /** In Orrery's own namespace. */
  readonly ownNamespace?: readonly ChartRule[];
}

/** By plural, whatever their group; test/e2e/chart-rights.test.ts compares it with an API server. */
export const clusterScoped: ReadonlySet<string> = new Set([
  'issuers',
  'namespaces',
  'nodes',
  'releases',
  'subjectaccessreviews',
  'tokenreviews',
]);

export function chartRights(features: readonly Feature[]) {
  const ofReplica = rightsOf([]);
  return {
    replica: { cluster: ofReplica.map(ruleOf) },
    features: Object.fromEntries(
      features.map((feature) => [feature.name, byReach(rightsOf([feature]).slice(0, -ofReplica.length))]),
    ),
  };
}

function byReach(rights: readonly Need[]): ChartRights {
  const reaches = new Map<keyof ChartRights, ChartRule[]>();
  for (const right of rights) {
    for (const [reach, rule] of parted(right)) {
      const known = reaches.get(reach) ?? [];
      // A feature may watch a resource for two reasons: one rule is enough.
      if (!known.some((one) => isSame(one, rule))) reaches.set(reach, [...known, rule]);
    }
  }
  return Object.fromEntries(reaches);
}

/** A need may name resources of several reaches: a binding in a namespace grants nothing that has none. */
function parted(need: Need): Map<keyof ChartRights, ChartRule> {
  const reaches = Map.groupBy(need.resources, (resource) => reachOf(need, resource));
  return new Map([...reaches].map(([reach, resources]) => [reach, ruleOf({ ...need, resources })]));
}

function reachOf({ isOwnNamespace, apiGroup }: Need, resource: string): keyof ChartRights {
  if (isOwnNamespace) return 'ownNamespace';
  const [plural = ''] = resource.split('/');
  if (apiGroup === '' && plural === 'secrets') return 'secrets';
  return clusterScoped.has(plural) ? 'cluster' : 'namespaced';
}

const isSame = (a: ChartRule, b: ChartRule) =>
  JSON.stringify({ ...a, why: '' }) === JSON.stringify({ ...b, why: '' });

function ruleOf({ why, apiGroup, resources, verbs }: Need): ChartRule {
  return { why, apiGroups: [apiGroup], resources, verbs };
}

export function rightsFile(features: readonly Feature[]): string {
  const head =
    '# What each feature needs of Kubernetes, as it declares it. Written by `npm run docs`; the chart reads it.\n';
  return head + stringify(chartRights(features), { lineWidth: 0, aliasDuplicateObjects: false });
}
