/**
 * The feature `proxiers`: whether the service proxy of a node keeps up, for load balancers
 * (docs/features/proxiers.md).
 */
import type { Feature, HttpPath } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import { proxierChart } from '../../machines/proxier/proxier.ts';
import { defaultTimeoutMs } from '../../machines/proxier/proxier-context.ts';
import { proxierMessages } from './messages.ts';
import { nodePart } from './node-digest.ts';
import { nodes } from './resources.ts';

/** What a load balancer may ask about the service proxy of a node. */
const proxierPaths: readonly HttpPath[] = [
  {
    path: '/proxiers/:node/livez',
    about: "whether the node's service proxy keeps up; any replica answers",
  },
  { path: '/proxiers/:node/healthz', about: 'the same, and whether the node may get traffic' },
];

export interface ProxiersSettings {
  /** `--proxier-health-timeout`, ms. */
  readonly timeoutMs: number;
}

export function proxiers({ timeoutMs }: ProxiersSettings = { timeoutMs: defaultTimeoutMs }): Feature {
  return {
    name: 'proxiers',
    kinds: [kindOf(proxierChart, proxierMessages)],
    watches: [{ resource: nodes, name: 'nodes', withoutLabels: true, digest: nodePart }],
    needs: [],
    http: proxierPaths,
    metrics: {},
    load: async () => {
      const [{ createProxierJoin }, { answerForProxiers }, { nodeEndpoint }] = await Promise.all([
        import('./proxier-join.ts'),
        import('./node-health-http.ts'),
        import('./node-request.ts'),
      ]);
      return (parts) => ({
        joins: [createProxierJoin({ world: parts.engine.world, timeoutMs })],
        http: answerForProxiers(parts, timeoutMs),
        requests: [nodeEndpoint(parts)],
      });
    },
  };
}
